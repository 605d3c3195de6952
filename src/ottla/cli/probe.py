"""What is at the other end of an address: a Kafka, something that wants TLS, or something else."""

import asyncio
import ssl
import struct
from enum import Enum
from typing import Final

_API_VERSIONS: Final = struct.pack(">ihhih", 10, 18, 0, 1, -1)
"""A whole ApiVersions request of version 0, with a null client id, which every Kafka since 0.10 answers."""
_SASL_HANDSHAKE: Final = struct.pack(">ihhihh", 12, 17, 1, 2, -1, 0)
"""A whole SaslHandshake request of version 1 for a mechanism without a name, which no Kafka has."""
_UNSUPPORTED_MECHANISM: Final = 33
_ILLEGAL_STATE: Final = 34
_ANSWER_BYTES_MAX: Final = 1 << 20
_ANSWER_HEAD_BYTES: Final = 8
_TLS_ALERT: Final = b"\x15\x03"
TIMEOUT_S: Final = 5.0


class Speaks(Enum):
    """What answered."""

    KAFKA = "Kafka's protocol"
    TLS = "TLS"
    HTTP = "HTTP"
    NOTHING = "nothing"
    OTHER = "something else"


async def resolve(host: str, port: int) -> list[str]:
    """The addresses of a name; OSError if it has none."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=1)
    return sorted({str(each[4][0]) for each in found})


async def connects(host: str, port: int) -> None:
    """Connect and disconnect; OSError (TimeoutError among them) if that does not work."""
    _, writer = await asyncio.wait_for(asyncio.open_connection(host, port), TIMEOUT_S)
    writer.close()


async def speaks(host: str, port: int) -> Speaks:
    """Ask in plain text which requests it understands, and look at what comes back."""
    reader, writer = await asyncio.wait_for(asyncio.open_connection(host, port), TIMEOUT_S)
    try:
        writer.write(_API_VERSIONS)
        head = await asyncio.wait_for(reader.read(_ANSWER_HEAD_BYTES), TIMEOUT_S)
    except (ConnectionError, TimeoutError):
        return Speaks.NOTHING
    finally:
        writer.close()
    return classify(head)


async def sasl_mechanisms(host: str, port: int, tls_context: ssl.SSLContext | None) -> list[str] | None:
    """By which mechanisms a client can log in; none where no login is wanted, None if it does not say.

    OSError (ssl.SSLError among them) if the connection does not come about.
    """
    name = host if tls_context is not None else None
    opening = asyncio.open_connection(host, port, ssl=tls_context, server_hostname=name)
    reader, writer = await asyncio.wait_for(opening, TIMEOUT_S)
    try:
        for request in (_API_VERSIONS, _SASL_HANDSHAKE):  # in this order: a listener with SASL takes no other
            writer.write(request)
            answer = await asyncio.wait_for(_answer(reader), TIMEOUT_S)
    except (ConnectionError, asyncio.IncompleteReadError, TimeoutError):
        return None
    finally:
        writer.close()
    return mechanisms_in(answer)


async def _answer(reader: asyncio.StreamReader) -> bytes:
    length = struct.unpack(">i", await reader.readexactly(4))[0]
    if not 0 < length < _ANSWER_BYTES_MAX:
        raise ConnectionError("no answer of a Kafka")
    return await reader.readexactly(length)


def mechanisms_in(answer: bytes) -> list[str] | None:
    """What the answer to the handshake says: its correlation id, an error code, and names."""
    from ottla.common.errors import KafkaError
    from ottla.protocol.codec import decode
    from ottla.protocol.messages.sasl_handshake import SaslHandshakeResponse

    try:
        response = decode(SaslHandshakeResponse, memoryview(answer)[4:], 1)
    except KafkaError:
        return None
    if response.error_code == _ILLEGAL_STATE:
        return []
    return list(response.mechanisms) if response.error_code == _UNSUPPORTED_MECHANISM else None


def classify(head: bytes) -> Speaks:
    """What the first bytes of an answer say."""
    if not head:
        return Speaks.NOTHING
    if head.startswith(_TLS_ALERT):
        return Speaks.TLS
    if head.startswith(b"HTTP"):
        return Speaks.HTTP
    if len(head) == _ANSWER_HEAD_BYTES and struct.unpack(">ii", head)[1] == 1:
        return Speaks.KAFKA
    return Speaks.OTHER
