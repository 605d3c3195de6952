"""``ottla cat -C``, ``-G`` and ``-Q``: read partitions, read as a member of a group, look offsets up by time."""

import argparse
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from ottla.cli.cat_format import Print, compile_format, kcat_json
from ottla.cli.errors import CommandError, UsageError

if TYPE_CHECKING:
    from ottla.cli.progress import Progress
    from ottla.clients import Consumer, ConsumerRecord, TopicPartition

_POLL_MS: Final = 100
_RARELY_MS: Final = 1000
_TOPIC_MS: Final = 2500
"""How long a topic may be missing: it may just have been made."""


def printer(options: argparse.Namespace) -> Print:
    """What prints a record: -J, -f, or key and value with the delimiters of -K and -D."""
    from ottla.cli.cat_unpack import unpackers

    read_key, read_value = unpackers(options.packs)
    if options.json:
        return partial(kcat_json, read_key=read_key, read_value=read_value)
    text = options.format
    if text is None:
        key = f"%k{options.key_delimiter}" if options.key_delimiter is not None else ""
        text = f"{key}%s{options.delimiter}"
    return compile_format(text, show_null=options.null, read_key=read_key, read_value=read_value)


class _Printed:
    """Records on standard output, at most ``limit`` of them."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._write = printer(options)
        self._left = options.count if options.count is not None else -1
        self._goes_on = options.go_on
        self.read: Progress | None = None

    @property
    def is_full(self) -> bool:
        return self._left == 0

    def print(self, records: "Sequence[ConsumerRecord[bytes, bytes]]") -> "Sequence[ConsumerRecord[bytes, bytes]]":
        """Print them, and return those that are too many."""
        rest: Sequence[ConsumerRecord[bytes, bytes]] = ()
        if self._left >= 0:
            records, rest = records[: self._left], records[self._left :]
            self._left -= len(records)
        for record in records:
            try:
                sys.stdout.buffer.write(self._write(record))
            except ValueError as error:
                self._cannot_show(record, error)
        sys.stdout.buffer.flush()  # whoever reads a pipe sees them as they come
        if self.read is not None:
            self.read.advance(len(records))
        return rest

    def _cannot_show(self, record: "ConsumerRecord[bytes, bytes]", error: ValueError) -> None:
        sys.stdout.flush()
        message = (
            f"The message in {record.topic} [{record.partition}] at offset {record.offset} is not what -s says: {error}"
        )
        if not self._goes_on:
            raise CommandError(message, hint="-E goes on after such messages")
        sys.stderr.write(f"% {message}\n")


async def consume(settings: dict[str, str], options: argparse.Namespace) -> int:
    """-C: print partitions from ``-o`` on, to their ends with ``-e``, or for ever."""
    from ottla.cli.consumer_notices import explained
    from ottla.clients import Consumer, TopicPartition

    if options.topic is None:
        raise UsageError("-t topic missing")
    settings.setdefault("enable.auto.commit", "false")
    settings.setdefault("auto.offset.reset", "earliest")
    settings.setdefault("allow.auto.create.topics", "false")
    printed = _Printed(options)
    consumer: Consumer[bytes, bytes] = Consumer(settings)
    async with consumer:
        numbers = await _partitions(consumer, options.topic)
        if options.partition is not None:
            require_partition(options.topic, options.partition, numbers)
            numbers = [options.partition]
        partitions = [TopicPartition(options.topic, number) for number in sorted(numbers)]
        consumer.assign(partitions)
        place = Place.parse(options.offset or ["beginning"])
        starts = await place.starts(consumer, partitions)
        for partition, offset in starts.items():
            consumer.seek(partition, offset)
        stops = await place.stops(consumer, partitions) if options.exit_at_end or place.until_ms is not None else {}
        async with explained(consumer, counts=not options.quiet) as printed.read:
            await _read(consumer, printed, starts, stops, quiet=options.quiet)
    return 0


async def _partitions(consumer: "Consumer[bytes, bytes]", topic: str) -> list[int]:
    """The partitions of a topic; CommandError if there is no such topic."""
    from ottla.clients.errors import KafkaTimeoutError

    try:
        return [each.partition for each in await consumer.partitions_for(topic, timeout_ms=_TOPIC_MS)]
    except KafkaTimeoutError:
        raise CommandError(f"There is no topic {topic}", hint="`ottla cat -L` shows which there are") from None


def require_partition(topic: str, partition: int, numbers: Collection[int]) -> None:
    """CommandError if the topic does not have the partition."""
    if partition not in numbers:
        raise CommandError(f"Topic {topic} has no partition {partition}", hint="`ottla cat -L` shows them")


async def _read(
    consumer: "Consumer[bytes, bytes]",
    printed: "_Printed",
    starts: "Mapping[TopicPartition, int]",
    stops: "Mapping[TopicPartition, int]",
    *,
    quiet: bool,
) -> None:
    """Print until every partition that has a stop is there, or enough is printed; without stops, for ever."""
    open_ones = {partition: stop for partition, stop in stops.items() if starts[partition] < stop}
    for partition in stops.keys() - open_ones.keys():
        _say_end(partition, stops[partition], quiet=quiet, is_last=not open_ones)
    while not printed.is_full and (open_ones or not stops):
        records = await consumer.poll(_POLL_MS if stops else _RARELY_MS)
        printed.print(
            [record for record in records if record.offset < stops.get(record.topic_partition, record.offset + 1)]
        )
        for partition in list(open_ones):
            if await consumer.position(partition) >= open_ones[partition]:
                del open_ones[partition]
                consumer.pause(partition)
                _say_end(partition, stops[partition], quiet=quiet, is_last=not open_ones)
    sys.stdout.flush()


def _say_end(partition: "TopicPartition", offset: int, *, quiet: bool, is_last: bool) -> None:
    if not quiet:
        sys.stdout.flush()
        end = ": exiting" if is_last else ""
        sys.stderr.write(f"% Reached end of topic {partition.topic} [{partition.partition}] at offset {offset}{end}\n")


@dataclass(frozen=True, slots=True)
class Place:
    """From where partitions are read, and until when: the ``-o`` of the line."""

    name: str = "beginning"
    offset: int = 0
    """With ``at`` an offset, with ``tail`` how many records before the end."""
    since_ms: int | None = None
    until_ms: int | None = None

    @classmethod
    def parse(cls, texts: Sequence[str]) -> "Place":
        """beginning, end, stored, N, -N (before the end), s@MS (since) and e@MS (until)."""
        name, offset, since_ms, until_ms = "beginning", 0, None, None
        for text in texts:
            if text in ("beginning", "end", "stored"):
                name = text
            elif text.startswith("s@") and text[2:].isdigit():
                name, since_ms = "since", int(text[2:])
            elif text.startswith("e@") and text[2:].isdigit():
                until_ms = int(text[2:])
            elif text.removeprefix("-").isdigit():
                name, offset = ("tail" if text.startswith("-") else "at"), abs(int(text))
            else:
                raise UsageError(f"Invalid offset {text}: it is beginning, end, stored, N, -N, s@MS or e@MS")
        return cls(name, offset, since_ms, until_ms)

    async def starts(
        self, consumer: "Consumer[bytes, bytes]", partitions: "Sequence[TopicPartition]"
    ) -> "dict[TopicPartition, int]":
        """The offset to begin with, of each."""
        first = await consumer.beginning_offsets(partitions)
        if self.name == "beginning":
            return first
        if self.name == "at":
            return dict.fromkeys(partitions, self.offset)
        end = await consumer.end_offsets(partitions)
        if self.name == "stored":
            committed = await consumer.committed(*partitions)
            return {
                partition: first[partition] if (place := committed.get(partition)) is None else place.offset
                for partition in partitions
            }
        if self.since_ms is not None:
            return await _at_time(consumer, partitions, self.since_ms, end)
        return {partition: max(first[partition], end[partition] - self.offset) for partition in partitions}

    async def stops(
        self, consumer: "Consumer[bytes, bytes]", partitions: "Sequence[TopicPartition]"
    ) -> "dict[TopicPartition, int]":
        """The offset to end before, of each."""
        end = await consumer.end_offsets(partitions)
        return end if self.until_ms is None else await _at_time(consumer, partitions, self.until_ms, end)


async def _at_time(
    consumer: "Consumer[bytes, bytes]",
    partitions: "Sequence[TopicPartition]",
    time_ms: int,
    end: "Mapping[TopicPartition, int]",
) -> "dict[TopicPartition, int]":
    found = await consumer.offsets_for_times(dict.fromkeys(partitions, time_ms))
    return {
        partition: end[partition] if (place := found[partition]) is None else place.offset for partition in partitions
    }


async def join_group(settings: dict[str, str], options: argparse.Namespace) -> int:
    """-G: print topics as a member of a group; those that begin with ^ are patterns."""
    from ottla.cli.consumer_notices import explained
    from ottla.clients import Consumer

    if not options.files:
        raise UsageError("-G GROUP needs topics to read")
    settings["group.id"] = options.group
    settings.setdefault("auto.offset.reset", "earliest")
    printed = _Printed(options)
    patterns = [name for name in options.files if name.startswith("^")]
    if patterns and len(options.files) > 1:
        raise UsageError("A pattern is read by itself", hint="join the patterns with |")
    consumer: Consumer[bytes, bytes] = Consumer(settings)
    async with consumer:
        listener = None if options.quiet else _Rebalances(options.group)
        if patterns:
            consumer.subscribe(pattern=f"{patterns[0]}.*", listener=listener)
        else:
            consumer.subscribe(options.files, listener=listener)
        async with explained(consumer, counts=not options.quiet) as printed.read:
            while not printed.is_full:
                records = await consumer.poll(_RARELY_MS)
                for record in reversed(printed.print(records)):
                    consumer.seek(record.topic_partition, record.offset)  # it is not to be committed
                if options.exit_at_end and consumer.assignment() and not records:
                    lags = [await consumer.lag(partition) for partition in consumer.assignment()]
                    if not any(lags):
                        break
    return 0


class _Rebalances:
    """Tells what the group gives and takes."""

    def __init__(self, group: str) -> None:
        self._group = group

    def on_partitions_assigned(self, partitions: "Sequence[TopicPartition]") -> None:
        """Partitions have come."""
        self._say("assigned", partitions)

    def on_partitions_revoked(self, partitions: "Sequence[TopicPartition]") -> None:
        """Partitions have gone."""
        self._say("revoked", partitions)

    def _say(self, what: str, partitions: "Sequence[TopicPartition]") -> None:
        shown = ", ".join(f"{topic} [{partition}]" for topic, partition in sorted(partitions))
        sys.stderr.write(f"% Group {self._group} rebalanced: {what}: {shown}\n")


async def query(settings: dict[str, str], options: argparse.Namespace) -> int:
    """-Q: the first offset at or after a time, for each ``-t TOPIC:PARTITION:MS``."""
    from ottla.clients import Consumer, TopicPartition

    wanted: dict[TopicPartition, int] = {}
    for text in options.queries:
        topic, _, rest = text.partition(":")
        partition, _, time_ms = rest.partition(":")
        if not (partition.isdigit() and time_ms.removeprefix("-").isdigit()):
            raise UsageError(f"-Q wants -t TOPIC:PARTITION:TIMESTAMP, not {text}")
        wanted[TopicPartition(topic, int(partition))] = int(time_ms)
    if not wanted:
        raise UsageError("-Q needs -t TOPIC:PARTITION:TIMESTAMP")
    settings.setdefault("allow.auto.create.topics", "false")
    consumer: Consumer[bytes, bytes] = Consumer(settings)
    async with consumer:
        for topic in dict.fromkeys(partition.topic for partition in wanted):
            numbers = await _partitions(consumer, topic)
            for partition in wanted:
                if partition.topic == topic:
                    require_partition(topic, partition.partition, numbers)
        found = await consumer.offsets_for_times(wanted)
    for partition in wanted:
        place = found[partition]
        offset = -1 if place is None else place.offset
        if options.json:
            sys.stdout.write(f'{{"topic":"{partition.topic}","partition":{partition.partition},"offset":{offset}}}\n')
        else:
            sys.stdout.write(f"{partition.topic} [{partition.partition}] offset {offset}\n")
    return 0
