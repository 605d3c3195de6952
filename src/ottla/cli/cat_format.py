"""kcat's format strings: what is printed of a record."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ottla.cli.errors import UsageError

if TYPE_CHECKING:
    from ottla.cli.cat_unpack import Unpack
    from ottla.clients import ConsumerRecord

Print = Callable[["ConsumerRecord[bytes, bytes]"], bytes]

_NULL: Final = b"NULL"
_TOKEN: Final = re.compile(r"%(.)|\\(x[0-9a-fA-F]{1,2}|.)", re.DOTALL)
_ESCAPES: Final = {"n": b"\n", "r": b"\r", "t": b"\t"}


def unescape(text: str) -> bytes:
    r"""The bytes of a delimiter: \n, \r, \t and \xNN are understood."""
    return b"".join(part if isinstance(part, bytes) else b"%" + part.encode() for part in _parts(text))


def compile_format(
    text: str, *, show_null: bool, read_key: "Unpack | None" = None, read_value: "Unpack | None" = None
) -> Print:
    """What prints a record by a format: %t %p %o %k %K %s %S %R %T %h %%, and escapes.

    ``read_key`` and ``read_value`` make text of what is not null.
    """
    pieces: list[bytes | Print] = []
    for part in _parts(text):
        if isinstance(part, bytes):
            pieces.append(part)
        elif part == "%":
            pieces.append(b"%")
        else:
            pieces.append(_field(part, show_null, read_key or bytes, read_value or bytes))

    def write(record: "ConsumerRecord[bytes, bytes]") -> bytes:
        return b"".join([piece if isinstance(piece, bytes) else piece(record) for piece in pieces])

    return write


def _parts(text: str) -> list[bytes | str]:
    """Bytes as they stand, and the letters that follow a percent sign."""
    parts: list[bytes | str] = []
    end = 0
    for found in _TOKEN.finditer(text):
        parts.append(text[end : found.start()].encode())
        end = found.end()
        field, escape = found.groups()
        if field is not None:
            parts.append(field)
        elif escape[0] == "x" and len(escape) > 1:
            parts.append(bytes([int(escape[1:], 16)]))
        else:
            parts.append(_ESCAPES.get(escape, escape.encode()))
    return [*parts, text[end:].encode()]


def _field(letter: str, show_null: bool, read_key: "Unpack", read_value: "Unpack") -> Print:
    null = _NULL if show_null else b""
    fields: dict[str, Print] = {
        "t": lambda record: record.topic.encode(),
        "p": lambda record: b"%d" % record.partition,
        "o": lambda record: b"%d" % record.offset,
        "T": lambda record: b"%d" % record.timestamp_ms,
        "k": lambda record: null if record.key is None else read_key(record.key),
        "s": lambda record: null if record.value is None else read_value(record.value),
        "K": lambda record: b"%d" % (-1 if record.key is None else len(record.key)),
        "S": lambda record: b"%d" % (-1 if record.value is None else len(record.value)),
        "R": lambda record: (-1 if record.value is None else len(record.value)).to_bytes(4, "big", signed=True),
        "h": lambda record: b",".join(
            b"%s=%s" % (name.encode(), _NULL if value is None else value) for name, value in record.headers
        ),
    }
    if letter not in fields:
        raise UsageError(f"Unsupported formatter: %{letter}")
    return fields[letter]


def kcat_json(
    record: "ConsumerRecord[bytes, bytes]", read_key: "Unpack | None" = None, read_value: "Unpack | None" = None
) -> bytes:
    """The line of ``-J``, with kcat's names."""
    import json

    from ottla.cli.record_json import bytes_json

    document: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "tstype": "logappend" if record.timestamp_type else "create",
        "ts": record.timestamp_ms,
    }
    if record.headers:
        document["headers"] = [part for name, value in record.headers for part in (name, bytes_json(value))]
    key, value = record.key, record.value
    document["key"] = bytes_json(read_key(key) if read_key is not None and key is not None else key)
    document["payload"] = bytes_json(read_value(value) if read_value is not None and value is not None else value)
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
