"""``ottla consumer-groups --reset-offsets``: plan new offsets for groups without members, and set them."""

import argparse
import csv
import io
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ottla.cli.consumer_groups import NAME, wanted_groups
from ottla.cli.errors import CommandError, UsageError, hint_of, tell
from ottla.cli.output import Output, Table
from ottla.cli.times import parse_datetime_ms, parse_duration_ms
from ottla.clients.admin import GroupState, OffsetSpec
from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
from ottla.clients.errors import GroupIdNotFoundError, LeaderNotAvailableError, UnknownTopicOrPartitionError
from ottla.common.error_words import in_words
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition

if TYPE_CHECKING:
    from ottla.clients.admin import Admin

Offsets = dict[TopicPartition, int]

_ALWAYS_QUOTED = 25  # Apache's writer does not look into longer texts, and quotes them
_UNKNOWN_OFFSET = -1


async def reset_offsets(admin: "Admin", options: argparse.Namespace, output: Output) -> bool:
    """Plan, do it with --execute, and print the new offsets; says whether all groups could be reset."""
    plan_file = None if options.from_file is None else read_plan(_read(options.from_file), options.group)
    groups = await wanted_groups(admin, options)
    described = await admin.describe_consumer_groups(groups, raise_errors=False, timeout_ms=options.timeout)
    planned: dict[str, Offsets] = {}
    errors: dict[str, str] = {}
    for group in sorted(groups):
        found = described[group]
        if isinstance(found, KafkaError) and not isinstance(found, GroupIdNotFoundError):
            raise found
        if not isinstance(found, KafkaError) and found.state not in (GroupState.EMPTY, GroupState.DEAD):
            errors[group] = (
                f"Assignments can only be reset if the group '{group}' is inactive, but the current state is "
                f"{found.state}."
            )
            planned[group] = {}
            continue
        planner = _Planner(admin, options, output)
        if plan_file is None:
            planned[group] = await planner.plan(group)
        elif group in plan_file:
            planned[group] = await planner.within_range(plan_file[group])
        else:
            planned[group] = {}
            errors[group] = f"No reset plan for group {group} found"
        if options.execute and planned[group]:
            offsets = {partition: OffsetAndMetadata(offset) for partition, offset in planned[group].items()}
            await admin.alter_group_offsets(group, offsets, timeout_ms=options.timeout)
    for group, error in errors.items():
        tell(NAME, error, "stop its members first" if group in described else "")
    _show(
        planned, errors, output, csv_wanted=options.export, with_group=options.group is None or len(options.group) != 1
    )
    return not errors


class _Planner:
    """Finds new offsets for partitions, each scenario in its own way."""

    def __init__(self, admin: "Admin", options: argparse.Namespace, output: Output) -> None:
        self._admin = admin
        self._options = options
        self._timeout_ms: int = options.timeout
        self._output = output

    async def plan(self, group: str) -> Offsets:
        """New offsets for a group, as the line says."""
        options = self._options
        listed = await self._admin.list_group_offsets(group, timeout_ms=self._timeout_ms)
        committed = {partition: found.offset for partition, found in listed.items() if found is not None}
        partitions = list(committed) if options.all_topics else await _partitions(self._admin, options)
        await _require_leaders(self._admin, partitions, self._timeout_ms)
        if options.to_offset is not None:
            return await self.within_range(dict.fromkeys(partitions, options.to_offset))
        if options.to_earliest:
            return await self._offsets(partitions, OffsetSpec.earliest())
        if options.to_latest:
            return await self._offsets(partitions, OffsetSpec.latest())
        if options.shift_by is not None:
            return await self.within_range(shifted(partitions, committed, options.shift_by))
        if options.to_datetime is not None:
            return await self._at_time(partitions, parse_datetime_ms(options.to_datetime))
        if options.by_duration is not None:
            from time import time

            return await self._at_time(partitions, int(time() * 1000) - parse_duration_ms(options.by_duration))
        assert options.to_current, "the scenarios have been checked"
        known = {partition: committed[partition] for partition in partitions if partition in committed}
        unknown = [partition for partition in partitions if partition not in committed]
        return known | await self._offsets(unknown, OffsetSpec.latest())

    async def within_range(self, wanted: Mapping[TopicPartition, int]) -> Offsets:
        """The offsets wanted, or the nearest that the partitions have."""
        first = await self._offsets(wanted, OffsetSpec.earliest())
        last = await self._offsets(wanted, OffsetSpec.latest())
        new = {}
        for partition, offset in wanted.items():
            new[partition] = nearest = max(min(offset, last[partition]), first[partition])
            if nearest != offset:
                side = "higher than latest" if offset > nearest else "lower than earliest"
                self._output.warn(
                    f"WARN New offset ({offset}) is {side} offset for topic partition {partition}. "
                    f"Value will be set to {nearest}"
                )
        return new

    async def _offsets(self, partitions: Collection[TopicPartition], spec: OffsetSpec) -> Offsets:
        if not partitions:
            return {}
        specs = dict.fromkeys(sorted(partitions), spec)
        found = await self._admin.list_offsets(specs, timeout_ms=self._timeout_ms)
        return {partition: result.offset for partition, result in found.items()}

    async def _at_time(self, partitions: Collection[TopicPartition], timestamp_ms: int) -> Offsets:
        """The first offset at or after the time; the end where there is none."""
        found = await self._offsets(partitions, OffsetSpec.for_timestamp(timestamp_ms))
        later = [partition for partition, offset in found.items() if offset == _UNKNOWN_OFFSET]
        for topic, partition in later:
            self._output.note(
                f"\nWarn: Partition {partition} from topic {topic} is empty. Falling back to latest known offset."
            )
        return found | await self._offsets(later, OffsetSpec.latest())


def shifted(partitions: Iterable[TopicPartition], committed: Mapping[TopicPartition, int], by: int) -> Offsets:
    """The committed offsets moved; UsageError, as Apache's tool has it, for a partition without one."""
    new = {}
    for partition in partitions:
        if partition not in committed:
            raise UsageError(
                f"Cannot shift offset for partition {partition} since there is no current committed offset",
                hint="--to-earliest or --to-latest gives it one",
            )
        new[partition] = committed[partition] + by
    return new


async def _partitions(admin: "Admin", options: argparse.Namespace) -> list[TopicPartition]:
    """The partitions that --topic names: ``orders`` means all of them, ``orders:0,2`` two."""
    named = [partition for text in options.topic if ":" in text for partition in parse_partitions(text)]
    topics = [text for text in options.topic if ":" not in text]
    described = await admin.describe_topics(topics, timeout_ms=options.timeout) if topics else {}
    return named + [
        TopicPartition(name, partition.partition) for name, topic in described.items() for partition in topic.partitions
    ]


def parse_partitions(text: str) -> list[TopicPartition]:
    """``orders:0,2`` as partitions."""
    topic, _, numbers = text.partition(":")
    if not numbers or ":" in numbers:
        raise UsageError(f"Invalid topic arg '{text}', expected topic name and partitions", hint="TOPIC:0,1")
    partitions = []
    for number in numbers.split(","):
        try:
            partitions.append(TopicPartition(topic, int(number)))
        except ValueError:
            raise UsageError(
                f"Invalid partition '{number}' specified in topic arg '{text}''", hint="TOPIC:0,1"
            ) from None
    return partitions


async def _require_leaders(admin: "Admin", partitions: Collection[TopicPartition], timeout_ms: int) -> None:
    """Every partition has to exist and to have a leader."""
    topics = {topic for topic, _ in partitions}
    described = await admin.describe_topics(topics, timeout_ms=timeout_ms) if topics else {}
    leaders = {
        TopicPartition(name, each.partition): each.leader_id
        for name, topic in described.items()
        for each in topic.partitions
    }
    missing = [partition for partition in partitions if partition not in leaders]
    if missing:
        raise UnknownTopicOrPartitionError(f'The partitions "{",".join(map(str, missing))}" do not exist')
    leaderless = [partition for partition in partitions if leaders[partition] is None]
    if leaderless:
        raise LeaderNotAvailableError(f'The partitions "{",".join(map(str, leaderless))}" have no leader')


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except OSError as error:
        raise CommandError(in_words(error), hint=hint_of(error)) from None


def read_plan(text: str, groups: Sequence[str] | None) -> dict[str, Offsets]:
    """The plan of a CSV file: topic,partition,offset for the one group of the line, or group,topic,partition,offset."""
    plan: dict[str, Offsets] = {}
    for number, row in enumerate(csv.reader(io.StringIO(text)), start=1):
        if len(row) == 3 and groups is not None and len(groups) == 1:
            row = [groups[0], *row]  # noqa: PLW2901
        try:
            group, topic, partition, offset = row
            plan.setdefault(group, {})[TopicPartition(topic, int(partition))] = int(offset)
        except ValueError:
            raise CommandError(
                f"Line {number} of the file is no reset plan: {','.join(row)}",
                hint="a line is topic,partition,offset, for several groups group,topic,partition,offset",
            ) from None
    return plan


def csv_text(planned: Mapping[str, Offsets], *, with_group: bool) -> str:
    """The plan as CSV, quoted as Apache's writer does."""
    rows = [
        [*([_quoted(group)] if with_group else []), _quoted(topic), str(partition), str(offset)]
        for group, offsets in sorted(planned.items())
        for (topic, partition), offset in sorted(offsets.items())
    ]
    return "".join(f"{','.join(row)}\n" for row in rows)


def _quoted(text: str) -> str:
    if len(text) < _ALWAYS_QUOTED and not any(character in text for character in ' ",\r\n#'):
        return text
    return '"' + text.replace('"', '""') + '"'


def _show(
    planned: Mapping[str, Offsets], errors: Mapping[str, str], output: Output, *, csv_wanted: bool, with_group: bool
) -> None:
    rows: list[tuple[Any, ...]] = [
        (group, topic, partition, offset)
        for group, offsets in sorted(planned.items())
        for (topic, partition), offset in sorted(offsets.items())
    ]
    document = [
        {
            "group": group,
            "offsets": [{**partition._asdict(), "new_offset": offset} for partition, offset in sorted(offsets.items())],
            "error": errors.get(group),
        }
        for group, offsets in sorted(planned.items())
    ]
    if csv_wanted:
        output.show(document, [csv_text(planned, with_group=with_group)])
        return
    columns = ("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET")
    group_width = max([15, *map(len, planned)])
    topic_width = max([15, *(len(row[1]) for row in rows)])
    line = f"%-{group_width}s %-{topic_width}s %-10s %s"
    lines = ["", *([line % columns] if planned else []), *(line % row for row in rows)]
    output.show(document, lines, [Table(columns, rows)])
