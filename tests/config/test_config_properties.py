import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.config.properties import format_properties, parse, with_overrides

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.dictionaries(TEXTS, TEXTS), st.lists(st.text("ab#!= ")))
def test_what_is_written_is_read(properties: dict[str, str], comments: list[str]) -> None:
    assert parse(format_properties(properties, comments)) == properties


@given(st.text("ab\\=: \t\f\r\n#!u0"))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert all(isinstance(part, str) for pair in parse(text).items() for part in pair)
    except ValueError as error:
        assert str(error) == r"Malformed \uxxxx encoding."


def test_comments_come_first() -> None:
    assert format_properties({"version": "1"}, ["", "Mon Nov 16 01:47:09 UTC 2026"]) == (
        "#\n#Mon Nov 16 01:47:09 UTC 2026\nversion=1\n"
    )


def test_a_malformed_escape_is_an_error() -> None:
    with pytest.raises(ValueError, match="Malformed"):
        parse("a=\\u12g4")


def test_surrogates_make_one_character() -> None:
    assert parse("a=\\ud83d\\ude00") == {"a": "😀"}


def test_a_blank_line_ends_a_continuation_and_a_hash_does_not() -> None:
    assert parse("a=1\\\n\nb=2\nc=3,\\\n#4") == {"a": "1", "b": "2", "c": "3,#4"}


def test_the_command_line_goes_before_the_file() -> None:
    overrides = ["b=3", "c=x=y", "d=", "e", "b=4"]
    assert with_overrides({"a": "1", "b": "2"}, overrides) == {"a": "1", "b": "4", "c": "x=y", "d": "", "e": ""}
