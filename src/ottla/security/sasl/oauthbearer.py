"""SASL OAUTHBEARER (RFC 7628): a bearer token, and key-value extensions of Kafka's."""

import json
import re
from collections.abc import Mapping
from enum import Enum, auto
from typing import Final

from ottla.security.sasl.mechanism import SaslError

OAUTHBEARER: Final = "OAUTHBEARER"
_SEPARATOR: Final = "\x01"
_AUTH: Final = "auth"
_TOKEN: Final = re.compile(r"[-_~+/.a-zA-Z0-9]+=*")
_NAME: Final = re.compile("[A-Za-z]+")
_VALUE: Final = re.compile(r"[\x21-\x7e \t\r\n]+")


def initial_response(token: str, extensions: Mapping[str, str]) -> bytes:
    """The client's message; SaslError if the token or an extension cannot be said in it."""
    if not _TOKEN.fullmatch(token):
        raise SaslError("The bearer token is empty or contains characters that no bearer token has")
    for name, value in extensions.items():
        if name == _AUTH or not _NAME.fullmatch(name):
            raise SaslError(f"A SASL extension must not be named {name!r}: letters only, and not {_AUTH!r}")
        if not _VALUE.fullmatch(value):
            raise SaslError(f"The value of the SASL extension {name} contains characters that cannot be sent")
    pairs = [f"{_AUTH}=Bearer {token}", *(f"{name}={value}" for name, value in extensions.items())]
    return f"n,,{_SEPARATOR}{_SEPARATOR.join(pairs)}{_SEPARATOR}{_SEPARATOR}".encode()


class _State(Enum):
    START = auto()
    TOKEN_SENT = auto()
    REFUSED = auto()
    COMPLETE = auto()


class OAuthBearerClient:
    """START → TOKEN_SENT → COMPLETE, or REFUSED.

    A server that refuses says why in JSON and waits for one more byte before it ends the matter; ``refusal`` is what
    it said, for a server that then says nothing better.
    """

    __slots__ = ("_message", "_state", "refusal")

    mechanism: Final = OAUTHBEARER

    def __init__(self, token: str, extensions: Mapping[str, str] | None = None) -> None:
        """SaslError if the token or an extension cannot be sent."""
        self._message = initial_response(token, extensions or {})
        self._state = _State.START
        self.refusal: str | None = None

    @property
    def is_complete(self) -> bool:
        """See SaslClient."""
        return self._state is _State.COMPLETE

    def respond(self, challenge: bytes) -> bytes | None:
        """See SaslClient."""
        assert self._state is not _State.COMPLETE, "an OAUTHBEARER client that is complete was asked"
        if self._state is _State.START:
            if challenge:
                raise SaslError("The server began SASL OAUTHBEARER with a challenge, and the client begins")
            self._state = _State.TOKEN_SENT
            return self._message
        if self._state is _State.REFUSED:
            raise SaslError(f"The server refused the bearer token: {self.refusal}")
        if not challenge:
            self._state = _State.COMPLETE
            return None
        self._state = _State.REFUSED
        self.refusal = _reason(challenge)
        return _SEPARATOR.encode()


def _reason(challenge: bytes) -> str:
    """The status in the server's JSON, or the text if it is none."""
    text = challenge.decode(errors="replace")
    try:
        status = json.loads(text).get("status")
    except (ValueError, AttributeError):
        status = None
    return status if isinstance(status, str) else text[:200]
