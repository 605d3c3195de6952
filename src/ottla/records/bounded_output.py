"""An output buffer that a decompressor can fill but never outgrow.

A few compressed bytes can stand for gigabytes. So the room for the output is fixed before decompression starts: the
most that the compressed blocks can yield, or ``max_bytes`` if that is less. The finished ``bytes`` are the buffer
itself, not a copy: ``BytesIO`` hands over its storage when nobody else views it.
"""

from collections.abc import Callable
from io import BytesIO
from typing import Final

from cramjam import DecompressionError

from ottla.common.errors import CorruptRecordError, MessageTooLargeError

_OUTPUT_FULL: Final = "failed to write whole buffer"
"""How the native decoders say that a fixed output is too small for what follows."""


def decompress_bounded(
    name: str,
    decompress_into: Callable[[memoryview, memoryview], int],
    data: memoryview,
    bound: int,
    max_bytes: int,
) -> bytes:
    """Run ``decompress_into(data, output)``, which returns the bytes written, with ``min(bound, max_bytes)`` of room.

    Raises MessageTooLargeError when more would come out and CorruptRecordError for anything else the codec dislikes.
    """
    output = allocate(min(bound, max_bytes))
    try:
        with output.getbuffer() as view:
            written = decompress_into(data, view)
    except DecompressionError as error:
        if bound > max_bytes and _OUTPUT_FULL in str(error):
            raise too_large(max_bytes) from error
        raise corrupt(name, error) from error
    output.truncate(written)
    return output.getvalue()


def allocate(size: int) -> BytesIO:
    """A zeroed buffer of ``size`` bytes."""
    output = BytesIO()
    if size:
        output.seek(size - 1)
        output.write(b"\0")
    return output


def too_large(max_bytes: int) -> MessageTooLargeError:
    """What to raise when the output would exceed its limit."""
    return MessageTooLargeError(f"Decompressed records exceed the limit of {max_bytes} bytes")


def corrupt(name: str, reason: object) -> CorruptRecordError:
    """What to raise when the input is not what its codec writes."""
    return CorruptRecordError(f"Failed to decompress record stream ({name}): {reason}")
