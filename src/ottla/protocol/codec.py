"""Messages to bytes and back, by code compiled once for each message and version.

Reading never trusts a length: a count or size beyond the bytes that are left, a null where none may be, bytes that are
no UTF-8 and bytes left over are all an InvalidRequestError. ``records`` are handed on as they are: a view of the
request when read, and a part of their own (bytes or a :class:`FileSlice`) when written.
"""

import struct
from collections.abc import Callable
from typing import Any, Final, TypeVar

from ottla.common.errors import InvalidRequestError
from ottla.protocol.file_slice import FileSlice
from ottla.protocol.message import Message
from ottla.protocol.reader_source import compile_reader
from ottla.protocol.varint import Buffer
from ottla.protocol.writer_source import compile_writer

M = TypeVar("M", bound=Message)

Part = bytes | bytearray | memoryview | FileSlice

REQUEST_ELEMENTS_MAX: Final = 1 << 17
"""How many elements the arrays of a request may have in all, its tagged fields included.

Every element costs a hundred times the two bytes that it may take, in memory and in time, and nobody else is served
meanwhile. The largest requests of real clients name the partitions of one broker.
"""
SMALL_REQUEST_BYTES: Final = 2 * REQUEST_ELEMENTS_MAX
"""Up to this size the bytes themselves are the bound, or near enough: elements of one byte are plain numbers."""

_readers: dict[type[Message], dict[int, Callable[[memoryview, int], tuple[Any, int]]]] = {}
_counting_readers: dict[type[Message], dict[int, Callable[[memoryview, int], tuple[Any, int]]]] = {}
_writers: dict[type[Message], dict[int, Callable[[Message, list[Part], bytearray], bytearray]]] = {}


def decode(cls: type[M], buffer: Buffer, version: int) -> M:
    """Read a message that fills ``buffer`` from its first byte to its last."""
    view = buffer if isinstance(buffer, memoryview) else memoryview(buffer)
    message, end = decode_from(cls, view, 0, version)
    if end != len(view):
        raise InvalidRequestError(f"{len(view) - end} bytes are left over after {cls.__name__} v{version}")
    return message


def decode_from(cls: type[M], view: memoryview, position: int, version: int) -> tuple[M, int]:
    """Read a message that begins at ``position``; also gives the position after it."""
    try:
        reader = _readers[cls][version]
    except KeyError:
        reader = _readers.setdefault(cls, {})[version] = compile_reader(cls, version)
    return _read(reader, cls, view, position, version)


def decode_request_from(cls: type[M], view: memoryview, position: int, version: int) -> tuple[M, int]:
    """As :func:`decode_from`, for what anybody may have sent: refuses more than ``REQUEST_ELEMENTS_MAX`` elements."""
    if len(view) <= SMALL_REQUEST_BYTES:
        return decode_from(cls, view, position, version)
    try:
        reader = _counting_readers[cls][version]
    except KeyError:
        reader = compile_reader(cls, version, REQUEST_ELEMENTS_MAX)
        _counting_readers.setdefault(cls, {})[version] = reader
    return _read(reader, cls, view, position, version)


def _read(
    reader: Callable[[memoryview, int], tuple[Any, int]], cls: type[M], view: memoryview, position: int, version: int
) -> tuple[M, int]:
    try:
        return reader(view, position)
    except (IndexError, struct.error):
        raise InvalidRequestError(f"{cls.__name__} v{version} ends early") from None
    except UnicodeDecodeError as error:
        raise InvalidRequestError(f"{cls.__name__} v{version} has a string that is no UTF-8: {error.reason}") from None


def encode(message: Message, version: int) -> bytes:
    """Write a message as bytes, reading from files what it only points at."""
    return b"".join(part.read() if isinstance(part, FileSlice) else part for part in encode_parts(message, version))


def encode_parts(message: Message, version: int, prefix: bytes = b"") -> list[Part]:
    """Write a message, after ``prefix``, as parts to be sent one after the other."""
    cls = type(message)
    try:
        writer = _writers[cls][version]
    except KeyError:
        writer = _writers.setdefault(cls, {})[version] = compile_writer(cls, version)
    parts: list[Part] = []
    tail = writer(message, parts, bytearray(prefix))
    parts.append(tail)
    return parts
