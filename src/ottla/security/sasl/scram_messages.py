"""The four messages of SCRAM, written and read as Apache does.

Apache skips an extension that must be understood (``m=``); we refuse it, as the RFC says.
"""

import base64
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from ottla.security.sasl.mechanism import SaslError

GS2_HEADER: Final = "n,,"
"""No channel binding, no other identity to act as."""

_BASE64: Final = r"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_PRINTABLE: Final = r"[\x21-\x2b\x2d-\x7e]+"
_VALUE: Final = r"[\x01-\x2b\x2d-\x7f]+"
_VALUE_SAFE: Final = r"[\x01-\x2b\x2d-\x3c\x3e-\x7f]+"
_EXTENSIONS: Final = f"(?:,[A-Za-z]+={_VALUE})*"
_SERVER_FIRST: Final = re.compile(rf"r=({_PRINTABLE}),s=({_BASE64}),i=([0-9]{{1,10}}){_EXTENSIONS}")
_SERVER_FINAL: Final = re.compile(rf"e=({_VALUE_SAFE})|v=({_BASE64}){_EXTENSIONS}")
_EXTENSION_NAME: Final = re.compile("[A-Za-z]+")
_EXTENSION_VALUE: Final = re.compile(_VALUE)


class ServerFirst(NamedTuple):
    """The server's first message: how the password is to be salted."""

    text: str
    """As it came; it is part of what is signed."""
    nonce: str
    salt: bytes
    iterations: int


class ServerFinal(NamedTuple):
    """The server's last message: its signature, or why it refuses."""

    signature: bytes
    error: str | None


def sasl_name(username: str) -> str:
    """A user name as it stands in a message."""
    return username.replace("=", "=3D").replace(",", "=2C")


def client_first_bare(username: str, nonce: str, extensions: Mapping[str, str]) -> str:
    """The client's first message without its header; SaslError if an extension cannot be said in it."""
    for name, value in extensions.items():
        if not _EXTENSION_NAME.fullmatch(name) or not _EXTENSION_VALUE.fullmatch(value):
            raise SaslError(f"The SCRAM extension {name!r} has a name or a value that cannot be sent")
    parts = [f"n={sasl_name(username)}", f"r={nonce}", *(f"{name}={value}" for name, value in extensions.items())]
    return ",".join(parts)


def client_final_without_proof(nonce: str) -> str:
    """The part of the client's last message that is signed."""
    return f"c={_to_base64(GS2_HEADER.encode())},r={nonce}"


def client_final(without_proof: str, proof: bytes) -> bytes:
    """The client's last message."""
    return f"{without_proof},p={_to_base64(proof)}".encode()


def parse_server_first(message: bytes) -> ServerFirst:
    """Read the server's first message; SaslError if it is none."""
    text = _text(message)
    match = _SERVER_FIRST.fullmatch(text)
    if match is None:
        raise SaslError(f"The server's first SCRAM message makes no sense: {_shown(text)}")
    return ServerFirst(text, match[1], base64.b64decode(match[2]), int(match[3]))


def parse_server_final(message: bytes) -> ServerFinal:
    """Read the server's last message; SaslError if it is none."""
    text = _text(message)
    match = _SERVER_FINAL.fullmatch(text)
    if match is None:
        raise SaslError(f"The server's last SCRAM message makes no sense: {_shown(text)}")
    return ServerFinal(b"" if match[2] is None else base64.b64decode(match[2]), match[1])


def _text(message: bytes) -> str:
    return message.decode(errors="replace")


def _shown(text: str) -> str:
    return repr(text[:200])


def _to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
