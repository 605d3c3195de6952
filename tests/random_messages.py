"""Messages of the protocol with random contents, made from their schema."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from ottla.common.uuid import Uuid
from ottla.protocol.message import ArrayOf, Field, Message, Type

_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_LENGTHS = (0, 1, 3, 130)
_LENGTHS_NESTED = (0, 1, 2, 5)


Known = Mapping[str, Sequence[Any]]
"""Values that mean something to whoever reads a message, by ``Struct.field`` or by ``field``."""

_NOTHING_KNOWN: Known = {}
_KNOWN_SHARE = 0.9


def random_message(
    cls: type[Message], version: int, rng: Random, depth: int = 0, known: Known = _NOTHING_KNOWN
) -> Message:
    """A message whose fields in ``version`` have any values, or their defaults. Only the outer arrays are long.

    Fields in ``known`` have a value from there most of the time, and elements of arrays of primitives likewise.
    """
    return cls(
        **{
            field.name: _value(field, version, rng, depth, known, known.get(f"{cls.__name__}.{field.name}"))
            for field in cls.schema.fields
            if version in field.versions and rng.random() < 0.8
        }
    )


def _value(field: Field, version: int, rng: Random, depth: int, known: Known, own: Sequence[Any] | None) -> Any:
    if version in field.nullable and rng.random() < 0.3:
        return None
    likely = own if own is not None else known.get(field.name)
    if isinstance(field.type, ArrayOf):
        length = rng.choice(_LENGTHS_NESTED if depth else _LENGTHS)
        return [_element(field.type.element, version, rng, depth + 1, known, likely) for _ in range(length)]
    return _element(field.type, version, rng, depth, known, likely)


def _element(kind: Any, version: int, rng: Random, depth: int, known: Known, likely: Sequence[Any] | None) -> Any:
    if likely is not None and isinstance(kind, Type) and rng.random() < _KNOWN_SHARE:
        return rng.choice(likely)
    if kind in _BITS:
        limit = 1 << (_BITS[kind] - 1)
        return rng.choice((0, -1, 1, limit - 1, -limit, rng.randrange(-limit, limit)))
    match kind:
        case Type.BOOL:
            return rng.random() < 0.5
        case Type.UINT16:
            return rng.randrange(1 << 16)
        case Type.UINT32:
            return rng.randrange(1 << 32)
        case Type.FLOAT64:
            return rng.choice((0.0, 1.5, -1e300, rng.random()))
        case Type.UUID:
            return Uuid(rng.randbytes(16))
        case Type.STRING:
            return "".join(rng.choices("aä€𝄞-._ ", k=rng.choice((0, 1, 20, 150))))
        case Type.BYTES | Type.RECORDS:
            return rng.randbytes(rng.choice((0, 1, 32, 200)))
        case _:
            return random_message(kind, version, rng, depth + 1, known)
