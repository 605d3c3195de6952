"""Which clients a test takes: a few always, all of them where Apache's half is run, too (`make interop`)."""

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from tests.interop.groups.member_spec import MemberSpec

ALL = os.environ.get("OTTLA_APACHE_HALF") == "1"


class Kind(NamedTuple):
    """A library, and how it uses groups."""

    library: str
    protocol: str
    assignor: str | None = None

    def __str__(self) -> str:
        return "-".join(part for part in self if part is not None)


CONFLUENT_RANGE = Kind("confluent", "classic", "range")
CONFLUENT_COOPERATIVE = Kind("confluent", "classic", "cooperative-sticky")
CONFLUENT_CONSUMER = Kind("confluent", "consumer")
AIOKAFKA = Kind("aiokafka", "classic", "roundrobin")
KAFKA_PYTHON = Kind("kafka-python", "classic", "sticky")
KAFKA_PYTHON_COOPERATIVE = Kind("kafka-python", "classic", "cooperative-sticky")
"""After a loss its assignor gives a member at once what another one still owns, so it is not among KINDS."""
JAVA_RANGE = Kind("java", "classic", "range")
JAVA_COOPERATIVE = Kind("java", "classic", "cooperative-sticky")
JAVA_UNIFORM = Kind("java", "consumer", "uniform")
JAVA_SERVER_RANGE = Kind("java", "consumer", "range")

KINDS = [
    CONFLUENT_RANGE,
    CONFLUENT_COOPERATIVE,
    CONFLUENT_CONSUMER,
    AIOKAFKA,
    KAFKA_PYTHON,
    JAVA_RANGE,
    JAVA_COOPERATIVE,
    JAVA_UNIFORM,
    JAVA_SERVER_RANGE,
]


def in_the_long_run(*cases: Any) -> Sequence[Any]:
    """Cases that only `make interop` takes, which asks for what is marked with `oracle`."""
    return cases if ALL else ()


def kinds(few: Sequence[Kind], others: Sequence[Kind] = ()) -> pytest.MarkDecorator:
    """Parametrize `kind` with `few`, and in the long run with `others`."""
    chosen: list[Any] = [pytest.param(kind, id=str(kind), marks=marks(kind)) for kind in few]
    chosen += in_the_long_run(
        *(pytest.param(kind, id=str(kind), marks=pytest.mark.oracle) for kind in others if kind not in few)
    )
    return pytest.mark.parametrize("kind", chosen)


def marks(kind: Kind) -> list[pytest.MarkDecorator]:
    """What a test with this kind is marked with: Java's comes with Apache Kafka."""
    return [pytest.mark.oracle] if kind.library == "java" else []


def member(kind: Kind, topic: str, group: str | None = None, **details: Any) -> MemberSpec:
    """A member of this kind that reads `topic`, in a group that is called the same unless told otherwise."""
    assignors = () if kind.assignor is None else (kind.assignor,)
    return MemberSpec(kind.library, group or topic, (topic,), protocol=kind.protocol, assignors=assignors, **details)
