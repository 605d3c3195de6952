"""SASL PLAIN (RFC 4616): name and password as they are. Only under TLS are they safe from listeners."""

from typing import Final

from ottla.security.sasl.mechanism import SaslError

PLAIN: Final = "PLAIN"
_SEPARATOR: Final = "\0"


def plain_message(username: str, password: str, authorization_id: str = "") -> bytes:
    """The one message of the mechanism; SaslError if a part cannot be said in it."""
    for what, text in (("user name", username), ("password", password)):
        if not text:
            raise SaslError(f"SASL PLAIN needs a {what}, and it is empty")
        if _SEPARATOR in text:
            raise SaslError(f"A {what} for SASL PLAIN must not contain the character NUL")
    return _SEPARATOR.join((authorization_id, username, password)).encode()


class PlainClient:
    """The client's side: says everything at once, and is complete."""

    __slots__ = ("_message", "is_complete")

    mechanism: Final = PLAIN

    def __init__(self, username: str, password: str) -> None:
        """SaslError if name or password are empty or contain NUL."""
        self._message = plain_message(username, password)
        self.is_complete = False

    def respond(self, challenge: bytes) -> bytes | None:
        """See SaslClient."""
        assert not self.is_complete, "a PLAIN client responds once"
        if challenge:
            raise SaslError("The server began SASL PLAIN with a challenge, and it has none")
        self.is_complete = True
        return self._message
