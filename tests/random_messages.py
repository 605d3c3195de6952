"""Messages of the protocol with random contents, made from their schema."""

from random import Random
from typing import Any

from ottla.common.uuid import Uuid
from ottla.protocol.message import ArrayOf, Field, Message, Type

_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_LENGTHS = (0, 1, 3, 130)
_LENGTHS_NESTED = (0, 1, 2, 5)


def random_message(cls: type[Message], version: int, rng: Random, depth: int = 0) -> Message:
    """A message whose fields in ``version`` have any values, or their defaults. Only the outer arrays are long."""
    return cls(
        **{
            field.name: _value(field, version, rng, depth)
            for field in cls.schema.fields
            if version in field.versions and rng.random() < 0.8
        }
    )


def _value(field: Field, version: int, rng: Random, depth: int) -> Any:
    if version in field.nullable and rng.random() < 0.3:
        return None
    if isinstance(field.type, ArrayOf):
        length = rng.choice(_LENGTHS_NESTED if depth else _LENGTHS)
        return [_element(field.type.element, version, rng, depth + 1) for _ in range(length)]
    return _element(field.type, version, rng, depth)


def _element(kind: Any, version: int, rng: Random, depth: int) -> Any:
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
            return random_message(kind, version, rng, depth + 1)
