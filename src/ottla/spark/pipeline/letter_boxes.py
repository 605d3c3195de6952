"""Which topics' bad records go where: one query brings them there for all pipelines that read the topic alike. Pure."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from ottla.spark.pipeline.declaration import Pipeline
from ottla.spark.pipeline.endpoints import Topic
from ottla.spark.pipeline.formats import Format, Raw

DEAD_LETTERS: Final = "dead-letters"
"""A part of the queries' names."""


class LetterBox(NamedTuple):
    """Where the bad records of a topic go; ``name`` is that of the query that brings them there."""

    name: str
    source: Topic
    dead_letters: str
    every: str


def letter_boxes(pipelines: Sequence[Pipeline]) -> list[LetterBox]:
    """One for each topic that has dead letters: pipelines that read it by the same format share one. Pure."""
    found: dict[tuple[str, str | None, Format, str], LetterBox] = {}
    for each in pipelines:
        for source in each.sources:
            if each.dead_letters is not None and isinstance(source, Topic) and not isinstance(source.value, Raw):
                same = (source.name, source.bootstrap_servers, source.value, each.dead_letters)
                name = f"{each.name}.{DEAD_LETTERS}.{source.name}"
                found.setdefault(same, LetterBox(name, source, each.dead_letters, each.every))
    return list(found.values())
