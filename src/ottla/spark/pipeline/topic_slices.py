"""A topic in slices, each read by one job of Spark's, so that a killed run has lost only one. Pure."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from ottla.spark.pipeline.cluster_topics import Span

DEFAULT_SLICE_RECORDS: Final = 4_000_000


class TopicSlice(NamedTuple):
    """Some offsets of some partitions."""

    spans: tuple[Span, ...]

    @property
    def offsets(self) -> int:
        """How many; there may be fewer records."""
        return sum(span.end - span.start for span in self.spans)

    def options(self) -> dict[str, str]:
        """What ``spark.read.format("ottla")`` is told to read just this."""
        partitions: dict[str, list[int]] = {}
        starts: dict[str, dict[str, int]] = {}
        ends: dict[str, dict[str, int]] = {}
        for topic, partition, start, end in self.spans:
            partitions.setdefault(topic, []).append(partition)
            starts.setdefault(topic, {})[str(partition)] = start
            ends.setdefault(topic, {})[str(partition)] = end
        return {
            "assign": json.dumps(partitions),
            "startingOffsets": json.dumps(starts),
            "endingOffsets": json.dumps(ends),
        }


def slices_of(spans: Iterable[Span], slice_records: int) -> list[TopicSlice]:
    """Slices of at most so many offsets that together are the spans; a partition has one part of each slice at most."""
    slices: list[TopicSlice] = []
    current: list[Span] = []
    room = slice_records
    for span in spans:
        start = span.start
        while start < span.end:
            end = min(span.end, start + room)
            current.append(span._replace(start=start, end=end))
            room -= end - start
            start = end
            if not room:
                slices.append(TopicSlice(tuple(current)))
                current, room = [], slice_records
    if current:
        slices.append(TopicSlice(tuple(current)))
    return slices


def spans_document(spans: Sequence[Span]) -> list[list[Any]]:
    """Spans as JSON has them."""
    return [list(span) for span in spans]


def parse_spans(document: Sequence[Sequence[Any]]) -> list[Span]:
    """What ``spans_document`` made."""
    return [Span(*each) for each in document]
