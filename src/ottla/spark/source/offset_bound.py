"""Where reading begins or ends, as the options say it: a word, offsets, or times. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from ottla.common.errors import InvalidConfigError
from ottla.common.topic_partition import TopicPartition
from ottla.spark.options import Options
from ottla.spark.source.offset_json import Offsets, parse_offsets

LATEST: Final = -1
EARLIEST: Final = -2
"""In place of an offset; as a time they mean the same to a broker."""


class Side(IntEnum):
    """Which end of what is read."""

    STARTING = 0
    ENDING = 1

    @property
    def word(self) -> str:
        """How the options' names begin."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class OffsetBound:
    """Of all partitions ``everywhere`` (earliest or latest), or ``timestamp_ms``; or of each ``offsets`` or ``times``.

    ``offsets`` may say earliest or latest of a partition. Where no record is as late as a time asks, an ending bound is
    the end, and a starting one an error, unless ``or_latest``.
    """

    everywhere: int | None = None
    timestamp_ms: int | None = None
    offsets: Mapping[TopicPartition, int] | None = None
    times: Mapping[TopicPartition, int] | None = None
    or_latest: bool = False

    def queries(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """The time to look up of each partition whose offset is not known as it stands."""
        if self.everywhere is not None:
            return dict.fromkeys(partitions, self.everywhere)
        if self.timestamp_ms is not None:
            return dict.fromkeys(partitions, self.timestamp_ms)
        if self.times is not None:
            return {partition: self.times[partition] for partition in partitions}
        assert self.offsets is not None, "a bound is one of four"
        return {each: self.offsets[each] for each in partitions if self.offsets[each] in (LATEST, EARLIEST)}

    def named(self) -> Collection[TopicPartition] | None:
        """The partitions that the user named one by one; None if the bound is for whatever there is."""
        return self.offsets if self.times is None else self.times

    def floating(self, found: Mapping[TopicPartition, int | None]) -> set[TopicPartition]:
        """Of what was looked up, the partitions that begin at the end, wherever that is by then."""
        if self.offsets is not None:
            return {partition for partition, offset in self.offsets.items() if offset == LATEST}
        if self.everywhere is not None:
            return set(found) if self.everywhere == LATEST else set()
        return {partition for partition, offset in found.items() if offset is None}


def parse_bound(options: Options, side: Side, default: int) -> OffsetBound:
    """The bound that the options ask for: a time for all goes before times by partition, and these before offsets."""
    word = side.word
    or_latest = side is Side.ENDING or (
        options.one_of("startingOffsetsByTimestampStrategy", ("error", "latest"), "error") == "latest"
    )
    timestamp_ms = options.integer(f"{word}Timestamp", minimum=0)
    if timestamp_ms is not None:
        return OffsetBound(timestamp_ms=timestamp_ms, or_latest=or_latest)
    name = f"{word}OffsetsByTimestamp"
    text = options.text(name)
    if text is not None:
        times = parse_offsets(name, text)
        for partition, time_ms in times.items():
            if time_ms < 0:
                raise InvalidConfigError(f"Option '{name}' has a time before 1970 for {partition}: {time_ms}")
        return OffsetBound(times=times, or_latest=or_latest)
    name = f"{word}Offsets"
    text = options.text(name)
    if text is None:
        return OffsetBound(everywhere=default)
    if text.lower() in ("earliest", "latest"):
        return OffsetBound(everywhere=EARLIEST if text.lower() == "earliest" else LATEST)
    if not text.startswith("{"):
        raise InvalidConfigError(f"Option '{name}' is earliest, latest, or JSON with offsets, not {text!r}")
    offsets = parse_offsets(name, text)
    for partition, offset in offsets.items():
        if offset < EARLIEST:
            raise InvalidConfigError(
                f"Option '{name}' has no offset for {partition}: {offset} (-1 latest, -2 earliest)"
            )
    return OffsetBound(offsets=offsets)


def check_batch_bounds(start: OffsetBound, end: OffsetBound) -> None:
    """InvalidConfigError for bounds between which a batch cannot read."""
    if start.everywhere == LATEST or LATEST in (start.offsets or {}).values():
        raise InvalidConfigError("A batch cannot start at latest: option 'startingOffsets' has nothing to read then")
    if end.everywhere == EARLIEST or EARLIEST in (end.offsets or {}).values():
        raise InvalidConfigError("A batch cannot end at earliest: option 'endingOffsets' has nothing to read then")
    for what, of_start, of_end in (("offset", start.offsets, end.offsets), ("time", start.times, end.times)):
        if of_start is None or of_end is None:
            continue
        if of_start.keys() != of_end.keys():
            differ = ", ".join(str(each) for each in sorted(of_start.keys() ^ of_end.keys()))
            raise InvalidConfigError(f"Starting and ending {what}s are not of the same partitions: {differ}")
        for partition, first in of_start.items():
            if first > of_end[partition] >= 0:
                raise InvalidConfigError(
                    f"The starting {what} of {partition} is after its ending {what}: {first} > {of_end[partition]}"
                )


def check_named(bound: OffsetBound, side: Side, partitions: Collection[TopicPartition]) -> None:
    """InvalidConfigError unless a bound by partition names exactly those that are read."""
    named = bound.named()
    if named is None or set(named) == set(partitions):
        return
    lacking = ", ".join(str(each) for each in sorted(set(partitions) - set(named)))
    extra = ", ".join(str(each) for each in sorted(set(named) - set(partitions)))
    said = [f"{lacking} not named" if lacking else "", f"{extra} not read" if extra else ""]
    raise InvalidConfigError(
        f"The {side.word} offsets must name every partition that is read, and no other (-1 is latest, -2 earliest): "
        f"{', '.join(filter(None, said))}"
    )


def seen_with(
    latest: Mapping[TopicPartition, int],
    queries: Mapping[TopicPartition, int],
    found: Mapping[TopicPartition, int | None],
) -> dict[TopicPartition, int | None]:
    """What the answers to ``queries`` would have been when the partitions ended at ``latest``; these are not asked for.

    A topic that is written to has grown since.
    """
    seen: dict[TopicPartition, int | None] = {}
    for partition, time in queries.items():
        end = latest.get(partition)
        if end is None or (time != LATEST and partition not in found):
            continue  # it went meanwhile
        offset = end if time == LATEST else found[partition]
        is_since = time >= 0 and offset is not None and offset >= end
        seen[partition] = None if is_since else offset
    return seen


def resolved(
    bound: OffsetBound,
    partitions: Collection[TopicPartition],
    found: Mapping[TopicPartition, int | None],
    latest: Mapping[TopicPartition, int],
) -> Offsets:
    """Offsets of the partitions, from the answers to ``queries``: None where no record is so late.

    One of which nothing is known went meanwhile, and is left out.

    Raises InvalidConfigError for a time that is later than all records, unless the bound says what to do then.
    """
    offsets: Offsets = {}
    for partition in partitions:
        if partition not in found:
            given = LATEST if bound.offsets is None else bound.offsets[partition]
            if given >= 0:
                offsets[partition] = given
            continue
        offset = found[partition]
        if offset is None:
            if not bound.or_latest:
                time_ms = bound.timestamp_ms if bound.times is None else bound.times[partition]
                raise InvalidConfigError(
                    f"{partition} has no record at or after {time_ms} to start from"
                    " (option 'startingOffsetsByTimestampStrategy' = latest starts at its end)"
                )
            offset = latest.get(partition)
        if offset is not None:
            offsets[partition] = offset
    return offsets
