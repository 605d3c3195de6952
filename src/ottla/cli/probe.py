"""What is at the other end of an address: a Kafka, something that wants TLS, or something else."""

import asyncio
import struct
from enum import Enum
from typing import Final

_API_VERSIONS: Final = struct.pack(">ihhih", 10, 18, 0, 1, -1)
"""A whole ApiVersions request of version 0, with a null client id, which every Kafka since 0.10 answers."""
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
