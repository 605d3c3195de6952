"""What lies between the offsets of two batches, and what of it is lost. Pure."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from ottla.common.errors import InvalidConfigError
from ottla.common.topic_partition import TopicPartition
from ottla.spark.scan.offset_range import OffsetRange


class BatchRanges(NamedTuple):
    """What to read, and a sentence for each thing that should be there and is not."""

    ranges: list[OffsetRange]
    losses: list[str]


def ranges_between(
    start: Mapping[TopicPartition, int],
    end: Mapping[TopicPartition, int],
    first_of_new: Mapping[TopicPartition, int],
) -> BatchRanges:
    """The ranges of a batch. ``first_of_new``: the first offset of each partition that only ``end`` has.

    Lost are partitions that were read and are no more, new ones whose beginning is gone, and offsets that went back,
    as those of a topic that was deleted and made again do.
    """
    losses = gone(start, end)
    unknown = sorted(end.keys() - start.keys() - first_of_new.keys())
    if unknown:
        losses.append(f"{_names(unknown)} came and went before it was read")
    ranges: list[OffsetRange] = []
    for partition in sorted(end.keys() - set(unknown)):
        first = start.get(partition)
        if first is None:
            first = first_of_new[partition]
            if first > 0:
                losses.append(f"{partition} is new and begins with offset {first}, not 0")
        last = end[partition]
        if last < first:
            losses.append(f"{partition} ends with offset {last} now, and was read up to {first}")
        elif last > first:
            ranges.append(OffsetRange(*partition, first, last))
    return BatchRanges(ranges, losses)


def gone(start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> list[str]:
    """A sentence about the partitions that were read and are no more, if there are any."""
    names = sorted(start.keys() - end.keys())
    return [f"{_names(names)} {'is' if len(names) == 1 else 'are'} gone"] if names else []


def aged_out(ranges: Iterable[OffsetRange], earliest: Mapping[TopicPartition, int]) -> list[str]:
    """A sentence for each range whose beginning is not there any more."""
    return [
        f"{topic}-{index} begins with offset {earliest[TopicPartition(topic, index)]} now, and was read up to {first}"
        for topic, index, first, _ in ranges
        if first < earliest.get(TopicPartition(topic, index), first)
    ]


def clipped(
    start: Mapping[TopicPartition, int],
    end: Mapping[TopicPartition, int],
    earliest: Mapping[TopicPartition, int],
    latest: Mapping[TopicPartition, int],
) -> BatchRanges:
    """The ranges of a batch query: what is outside of the partitions is cut off, and lost.

    InvalidConfigError for a range that goes backwards, as one does that starts beyond the end of its partition.
    """
    losses: list[str] = []
    ranges: list[OffsetRange] = []
    for partition in sorted(start):
        if not all(partition in offsets for offsets in (end, earliest, latest)):
            losses.append(f"{partition} went while it was looked at")
            continue
        first, last = start[partition], end[partition]
        if first > last:
            raise InvalidConfigError(
                f"The starting offset of {partition} is after its ending offset: {first} > {last}"
                f" (the partition has offsets {earliest[partition]} to {latest[partition]} now)"
            )
        if first < earliest[partition] and first < last:
            losses.append(f"{partition} begins with offset {earliest[partition]}, and {first} is asked for")
        if last > latest[partition]:
            losses.append(f"{partition} ends with offset {latest[partition]}, and {last} is asked for")
        first, last = max(first, earliest[partition]), min(last, latest[partition])
        if first < last:
            ranges.append(OffsetRange(*partition, first, last))
    return BatchRanges(ranges, losses)


def _names(partitions: Collection[TopicPartition]) -> str:
    return ", ".join(map(str, partitions))
