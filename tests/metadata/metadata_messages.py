"""Metadata records with random contents, and the questions to Apache's metadata classes (MetadataFacts.java)."""

from pathlib import Path
from random import Random
from typing import Any

from ottla.common.uuid import Uuid
from ottla.protocol.message import ArrayOf, Field, Message, Type
from tests.oracle import Oracle

FACTS = Path(__file__).parents[1] / "java" / "MetadataFacts.java"

_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}


def ask(oracle: Oracle, directory: Path, *questions: str) -> list[str]:
    """Apache's answers, by line."""
    file = directory / "questions"
    file.write_text("\n".join(questions) + "\n")
    done = oracle.run_source(FACTS, file)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def random_message(cls: type[Message], version: int, rng: Random) -> Message:
    """A message whose fields in ``version`` have any values, or their defaults."""
    return cls(
        **{
            field.name: _value(field, version, rng)
            for field in cls.schema.fields
            if version in field.versions and rng.random() < 0.8
        }
    )


def _value(field: Field, version: int, rng: Random) -> Any:
    if version in field.nullable and rng.random() < 0.3:
        return None
    if isinstance(field.type, ArrayOf):
        return [_element(field.type.element, version, rng) for _ in range(rng.choice((0, 1, 3, 130)))]
    return _element(field.type, version, rng)


def _element(kind: Any, version: int, rng: Random) -> Any:
    if kind in _BITS:
        limit = 1 << (_BITS[kind] - 1)
        return rng.choice((0, -1, 1, limit - 1, -limit, rng.randrange(-limit, limit)))
    match kind:
        case Type.BOOL:
            return rng.random() < 0.5
        case Type.UINT16:
            return rng.randrange(1 << 16)
        case Type.FLOAT64:
            return rng.choice((0.0, 1.5, -1e300, rng.random()))
        case Type.UUID:
            return Uuid(rng.randbytes(16))
        case Type.STRING:
            return "".join(rng.choices("aä€𝄞-._ ", k=rng.choice((0, 1, 20, 150))))
        case Type.BYTES:
            return rng.randbytes(rng.choice((0, 1, 32, 200)))
        case _:
            return random_message(kind, version, rng)
