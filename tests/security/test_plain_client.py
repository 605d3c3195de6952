"""SASL PLAIN: one message, and what cannot be said in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.security.sasl.mechanism import SaslError
from ottla.security.sasl.plain import PlainClient

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)


@given(TEXT, TEXT)
def test_name_and_password_can_be_read_from_the_message(username: str, password: str) -> None:
    client = PlainClient(username, password)
    assert not client.is_complete
    message = client.respond(b"")
    assert message is not None
    assert message.decode().split("\0") == ["", username, password]
    assert client.is_complete


@pytest.mark.parametrize(("username", "password"), [("", "x"), ("x", ""), ("a\0b", "x"), ("x", "a\0b")])
def test_what_cannot_be_said_is_refused(username: str, password: str) -> None:
    with pytest.raises(SaslError, match=r"empty|NUL"):
        PlainClient(username, password)


def test_a_server_does_not_begin() -> None:
    with pytest.raises(SaslError, match="challenge"):
        PlainClient("alice", "secret").respond(b"hello")
