"""kcat's ``-s``: keys and values that are numbers, read by a pack string as ``i$`` or ``hB s``."""

from collections.abc import Callable, Sequence
from struct import Struct
from typing import Final

from ottla.cli.errors import UsageError

Unpack = Callable[[bytes], bytes]
"""Bytes as text; ValueError if they are not what the pack string says."""

_NUMBERS: Final = "bBhHiIqQ"
_OTHERS: Final = " <>cs$"


def unpackers(texts: Sequence[str]) -> tuple[Unpack | None, Unpack | None]:
    """Those for keys and for values that ``-s key=…``, ``-s value=…`` and ``-s …`` (both) give."""
    key = value = None
    for text in texts:
        field, equals, pack = text.partition("=")
        if field == "key" and equals:
            key = compile_pack(pack)
        elif field == "value" and equals:
            value = compile_pack(pack)
        else:
            key = value = compile_pack(text)
    return key, value


def compile_pack(pack: str) -> Unpack:
    """``<`` and ``>`` give the byte order (big unless given), letters numbers, c a character, s the rest, $ the end."""
    if pack == "avro":
        raise UsageError("There is no Avro here", hint="-s takes pack strings as 'i$' or 'hB s'")
    steps: list[str | Struct] = []
    order = ">"
    for letter in pack:
        if letter in _NUMBERS:
            steps.append(Struct(order + letter))
        elif letter not in _OTHERS:
            raise UsageError(f"Invalid pack-format token '{letter}'", hint=f"there are {_OTHERS.strip()}{_NUMBERS}")
        elif letter in "<>":
            order = letter
        else:
            steps.append(letter)

    def unpack(data: bytes) -> bytes:
        return _unpack(steps, data)

    return unpack


def _unpack(steps: Sequence[str | Struct], data: bytes) -> bytes:
    written = []
    position = 0
    for step in steps:
        left = len(data) - position
        if isinstance(step, Struct) or step == "c":
            size, name = (step.size, step.format[1:]) if isinstance(step, Struct) else (1, "c")
            if left < size:
                raise ValueError(f"truncated, expected {size} bytes to unpack {name} but only {left} bytes remaining")
            piece = data[position : position + size]
            written.append(b"%d" % step.unpack(piece)[0] if isinstance(step, Struct) else piece)
            position += size
        elif step == "s":
            written.append(data[position:])
            position = len(data)
        elif step == "$":
            if left:
                raise ValueError(f"expected end-of-input, but {left} bytes remaining")
        else:
            written.append(b" ")
    return b"".join(written)
