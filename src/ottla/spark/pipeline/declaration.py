"""``@pipeline``: a function of DataFrame to DataFrame, and where its data comes from and goes."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from ottla.common.errors import KafkaError
from ottla.spark.pipeline.endpoints import Endpoint, Table, Topic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TIME: Final = r"\s*\d+\s+(?:microsecond|millisecond|second|minute|hour|day|week)s?\b"
_INTERVAL: Final = re.compile(rf"\s*(?:interval\b)?(?:{_TIME})+\s*", re.IGNORECASE)
OutputMode = Literal["append", "update", "complete"]
Transform = Callable[..., "DataFrame"]


class DeclarationError(KafkaError):
    """A pipeline that cannot be meant so; the message says why."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A declared pipeline. Called, it is the function itself, so that a test can give it a plain DataFrame."""

    name: str
    function: Transform
    sources: tuple[Endpoint, ...]
    sink: Endpoint
    dead_letters: str | None
    output_mode: OutputMode
    every: str

    def __call__(self, *frames: "DataFrame", **more: Any) -> "DataFrame":
        """Apply the function."""
        return self.function(*frames, **more)


def pipeline(
    *,
    source: Endpoint | Sequence[Endpoint],
    sink: Endpoint,
    dead_letters: str | None = None,
    output_mode: OutputMode = "append",
    every: str = "1 second",
    name: str | None = None,
) -> Callable[[Transform], Pipeline]:
    """Declare a streaming pipeline: ``source`` → the function → ``sink``, exactly once.

    The function gets a streaming DataFrame for each source. Records whose value is not what the source's format says go
    to the topic ``dead_letters`` with the reason; without one they stop the pipeline. ``every`` is how often it looks
    for new data, ``name`` that of the function unless it is given.
    """
    sources = (source,) if isinstance(source, Topic | Table) else tuple(source)

    def declare(function: Transform) -> Pipeline:
        declared = Pipeline(name or function.__name__, function, sources, sink, dead_letters, output_mode, every)
        _check(declared)
        return declared

    return declare


def is_interval(text: str) -> bool:
    """Whether Spark reads it as the time between two looks for new data (``10 seconds``, ``1 minute 30 seconds``)."""
    return bool(_INTERVAL.fullmatch(text))


def _check(declared: Pipeline) -> None:
    if not is_interval(declared.every):
        raise DeclarationError(f"pipeline {declared.name}: every is a time, as '10 seconds', not {declared.every!r}")
    if not declared.sources or not all(isinstance(each, Topic | Table) for each in (*declared.sources, declared.sink)):
        raise DeclarationError(f"pipeline {declared.name}: source and sink are a Topic or a Table")
    names = [each.name for each in declared.sources if isinstance(each, Topic)]
    for target in (declared.sink.name if isinstance(declared.sink, Topic) else None, declared.dead_letters):
        if target is not None and target in names:
            raise DeclarationError(f"pipeline {declared.name} would read what it writes to the topic {target}")
    if declared.dead_letters is not None and not names:
        raise DeclarationError(f"pipeline {declared.name} reads no topic, so it has no dead letters")
