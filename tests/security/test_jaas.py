"""``sasl.jaas.config`` as it is pasted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.common.errors import InvalidConfigError
from ottla.security.jaas import parse_jaas, parse_login_module

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def test_what_documentation_shows() -> None:
    module = parse_login_module(f'{PLAIN} required username="alice" password="alice-secret";')
    assert module.class_name == PLAIN
    assert module.simple_name == "PlainLoginModule"
    assert module.control_flag == "required"
    assert module.options == {"username": "alice", "password": "alice-secret"}


@pytest.mark.parametrize(
    "text",
    [
        f'{PLAIN} required \\\n  username="alice" \\\r\n  password="s3";',
        f'// mine\n{PLAIN} /* of course */ REQUIRED\n\tusername = "alice"\n\tpassword="s3" ;\n',
        f"{PLAIN} required username='alice' password='s3';",
        f"{PLAIN} required username=alice password=s3;",
        f'{PLAIN} required "username"="alice" password="\\163\\63";',
    ],
)
def test_ways_to_write_the_same(text: str) -> None:
    assert parse_login_module(text).options == {"username": "alice", "password": "s3"}


def test_no_options_and_several_modules() -> None:
    first, second = parse_jaas('a.A required; b.B optional x="y";')
    assert (first.options, second.options) == ({}, {"x": "y"})
    with pytest.raises(InvalidConfigError, match="2 entries"):
        parse_login_module("a.A required; b.B optional;")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "names no login module"),
        (f"{PLAIN}", "one of required"),
        (f"{PLAIN} username=a;", "one of required"),
        (f'{PLAIN} required username="alice"', "must end with a semicolon"),
        (f"{PLAIN} required username;", "option username has no value"),
        (f"{PLAIN} required username=;", "option username has no value"),
        (f'{PLAIN} required password="s3cret;', "cannot be read from character"),
        (f"{PLAIN} required password=s3cret!;", "double quotes"),
        ('"s3cret" required;', "login module was expected"),
    ],
)
def test_what_is_wrong_is_said_without_the_secret(text: str, complaint: str) -> None:
    with pytest.raises(InvalidConfigError, match=complaint) as caught:
        parse_jaas(text)
    assert "s3cret" not in str(caught.value)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\n")))
def test_any_value_survives_quotes(value: str) -> None:
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    assert parse_login_module(f'{PLAIN} required password="{quoted}";').options == {"password": value}
