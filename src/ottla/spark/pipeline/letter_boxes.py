"""Which topics' bad records go where: one query brings them there for all pipelines that read the topic alike. Pure.

A query's checkpoint, which is found by the query's name, knows how far it is. So the name says what is read and where
to, and nothing of who reads: pipelines may come and go and change their names and their places in the file, and no
letter is written twice. What is read otherwise may be bad otherwise: it has a query of its own, from its beginning.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Final, NamedTuple

from ottla.spark.pipeline.declaration import Pipeline
from ottla.spark.pipeline.endpoints import STARTING_OFFSETS, Topic
from ottla.spark.pipeline.formats import Avro, Json, Raw

DEAD_LETTERS: Final = "dead-letters"
"""A part of the queries' names."""
WHICH_RECORDS: Final = frozenset(
    {
        "subscribe",
        "subscribePattern",
        "assign",
        STARTING_OFFSETS,
        "startingOffsetsByTimestamp",
        "startingTimestamp",
        "startingOffsetsByTimestampStrategy",
        "kafka.bootstrap.servers",
        "kafka.isolation.level",
    }
)
"""The options of a source that say which records are read; others say how, and may change under way."""
_BY_LOWER: Final = {name.lower(): name for name in WHICH_RECORDS}
_TOPIC_LETTERS: Final = 100
"""Of the topic in a name: a directory's has 255 letters at most, and a topic's may have 249."""
_DIGEST_LETTERS: Final = 10


class LetterBox(NamedTuple):
    """Where the bad records of a topic go; ``name`` is that of the query that brings them there, and its checkpoint's.

    ``source`` and ``every`` are those of one of the pipelines that share it.
    """

    name: str
    source: Topic
    dead_letters: str
    every: str


def letter_boxes(pipelines: Sequence[Pipeline]) -> list[LetterBox]:
    """One for each way in which a topic with dead letters is read: pipelines that read it alike share one. Pure."""
    found: dict[str, LetterBox] = {}
    for each in pipelines:
        for source in each.sources:
            if each.dead_letters is not None and isinstance(source, Topic) and not isinstance(source.value, Raw):
                name = _name(source, source.value, each.dead_letters)
                found.setdefault(name, LetterBox(name, source, each.dead_letters, each.every))
    return list(found.values())


def _name(source: Topic, value: Json | Avro, dead_letters: str) -> str:
    """The topic for people, and a digest of all that decides which letters there are and where they go."""
    which = {_BY_LOWER[name.lower()]: given for name, given in source.options.items() if name.lower() in _BY_LOWER}
    which.setdefault(STARTING_OFFSETS, "earliest")
    told = [source.name, source.bootstrap_servers, value.identity(), sorted(which.items()), dead_letters]
    digest = hashlib.sha256(json.dumps(told).encode()).hexdigest()[:_DIGEST_LETTERS]
    return f"{source.name[:_TOPIC_LETTERS]}.{DEAD_LETTERS}.{digest}"
