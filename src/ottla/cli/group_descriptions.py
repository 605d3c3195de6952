"""``ottla consumer-groups --describe``: the offsets, the members or the state of groups."""

import argparse
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ottla.cli.consumer_groups import wanted_groups
from ottla.cli.errors import CommandError, tell
from ottla.cli.output import MISSING, Output, Table
from ottla.clients.admin import ConsumerGroupDescription, GroupState, MemberDescription, OffsetSpec
from ottla.common.topic_partition import TopicPartition

if TYPE_CHECKING:
    from ottla.clients.admin import Admin
    from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata

_REBALANCING: Final = (
    GroupState.PREPARING_REBALANCE,
    GroupState.COMPLETING_REBALANCE,
    GroupState.ASSIGNING,
    GroupState.RECONCILING,
)
_OFFSET_COLUMNS: Final = (
    "GROUP",
    "TOPIC",
    "PARTITION",
    "LEADER-EPOCH",
    "CURRENT-OFFSET",
    "LOG-END-OFFSET",
    "LAG",
    "CONSUMER-ID",
    "HOST",
    "CLIENT-ID",
)
_LEADER_EPOCH: Final = _OFFSET_COLUMNS.index("LEADER-EPOCH")


class OffsetRow(NamedTuple):
    """Where a group stands in a partition, and which member reads it."""

    group: str
    topic: str
    partition: int
    leader_epoch: int | None
    current_offset: int | None
    log_end_offset: int | None
    lag: int | None
    consumer_id: str | None
    host: str | None
    client_id: str | None


async def describe(admin: "Admin", options: argparse.Namespace, output: Output) -> bool:
    """Ask, and print what is asked for; says whether all groups exist."""
    described = await admin.describe_consumer_groups(await wanted_groups(admin, options), timeout_ms=options.timeout)
    groups = [described[group_id] for group_id in sorted(described)]
    if options.members:
        return _show(groups, [member_report(group, options.verbose) for group in groups], output)
    if options.state is not None:
        return _show(groups, [state_report(group, options.verbose) for group in groups], output)
    reports = []
    for group in groups:
        committed = await admin.list_group_offsets(group.group_id, timeout_ms=options.timeout)
        offsets = {partition: offset for partition, offset in committed.items() if offset is not None}
        ends = await _log_end_offsets(admin, [*offsets, *_assigned(group)], options.timeout)
        reports.append(offset_report(group, offset_rows(group, offsets, ends), options.verbose))
    return _show(groups, reports, output)


class GroupReport(NamedTuple):
    """One group, ready to be printed; ``lines`` are Apache's, none if there is nothing to tell."""

    document: dict[str, Any]
    lines: list[str]
    table: Table | None


def _show(groups: Sequence[ConsumerGroupDescription], reports: Sequence[GroupReport], output: Output) -> bool:
    exist = True
    for group in groups:
        exist = _tell_state(group, output) and exist
    output.show(
        [report.document for report in reports],
        [line for report in reports for line in report.lines],
        [report.table for report in reports if report.table is not None],
    )
    return exist


def _tell_state(group: ConsumerGroupDescription, output: Output) -> bool:
    """Say on standard error what is unusual about a group; says whether it exists."""
    if group.state is GroupState.DEAD:
        tell("consumer-groups", f"Consumer group '{group.group_id}' does not exist.")
        return False
    if output.as_json:  # the document has the state
        return True
    if group.state is GroupState.EMPTY:
        output.warn(f"\nConsumer group '{group.group_id}' has no active members.")
    elif group.state in _REBALANCING:
        output.warn(f"\nWarning: Consumer group '{group.group_id}' is rebalancing.")
    elif group.state is not GroupState.STABLE:
        raise CommandError(f"Expected a valid consumer group state, but found '{group.state}'.")
    return True


def _assigned(group: ConsumerGroupDescription) -> list[TopicPartition]:
    return [partition for member in group.members for partition in member.assignment]


async def _log_end_offsets(
    admin: "Admin", partitions: Collection[TopicPartition], timeout_ms: int
) -> dict[TopicPartition, int]:
    """The ends of the partitions that have a leader."""
    wanted = set(partitions)
    topics = await admin.describe_topics({topic for topic, _ in wanted}, timeout_ms=timeout_ms) if wanted else {}
    leaderless = {
        TopicPartition(name, partition.partition)
        for name, topic in topics.items()
        for partition in topic.partitions
        if partition.leader_id is None
    }
    specs = dict.fromkeys(sorted(wanted - leaderless), OffsetSpec.latest())
    found = await admin.list_offsets(specs, timeout_ms=timeout_ms) if specs else {}
    return {partition: result.offset for partition, result in found.items()}


def offset_rows(
    group: ConsumerGroupDescription,
    committed: "Mapping[TopicPartition, OffsetAndMetadata]",
    ends: Mapping[TopicPartition, int],
) -> list[OffsetRow]:
    """Members with most partitions first, each with its partitions in order; then what nobody reads."""

    def row(partition: TopicPartition, member: MemberDescription | None) -> OffsetRow:
        offset, end = committed.get(partition), ends.get(partition)
        current = None if offset is None else offset.offset
        epoch = None if offset is None or offset.leader_epoch < 0 else offset.leader_epoch
        lag = end - current if end is not None and current not in (None, -1) and current is not None else None
        who = (None, None, None) if member is None else (member.member_id, member.host, member.client_id)
        return OffsetRow(group.group_id, *partition, epoch, current, end, lag, *who)

    readers = sorted(group.members, key=lambda member: (-len(member.assignment), member.member_id))
    rows = [row(partition, member) for member in readers for partition in sorted(member.assignment)]
    unread = sorted(set(committed).difference(_assigned(group)))
    return rows + [row(partition, None) for partition in unread]


def offset_report(group: ConsumerGroupDescription, rows: Sequence[OffsetRow], verbose: bool) -> GroupReport:
    """The offsets of a group."""
    shown = list(range(len(_OFFSET_COLUMNS)))
    if not verbose:
        shown.remove(_LEADER_EPOCH)
    columns = [_OFFSET_COLUMNS[index] for index in shown]
    document = {
        "group": group.group_id,
        "state": str(group.state),
        "partitions": [dict(list(row._asdict().items())[1:]) for row in rows],
    }
    if not rows or group.state is GroupState.DEAD:
        return GroupReport(document, [], None)
    cells = [[row[index] for index in shown] for row in rows]
    wide = ("GROUP", "TOPIC", "CONSUMER-ID", "HOST")
    widths = [15 if column in wide else 10 if column == "PARTITION" else 15 for column in columns]
    for index, column in enumerate(columns):
        if column in wide:
            widths[index] = max([15, *(len(_text(row[index])) for row in cells)])
    line = " ".join([f"%-{width}s" for width in widths[:-1]] + ["%s"])
    lines = ["", line % tuple(columns), *(line % tuple(map(_text, row)) for row in cells)]
    return GroupReport(document, lines, Table(columns, cells))


def member_report(group: ConsumerGroupDescription, verbose: bool) -> GroupReport:
    """The members of a group; Apache prints the headings of a group without members, too."""
    members = sorted(group.members, key=lambda member: member.member_id)
    static = any(member.group_instance_id for member in members)
    kinds = {member.is_upgraded for member in members}
    fields: list[tuple[str, int, Callable[[MemberDescription], Any]]] = [
        ("GROUP", 15, lambda _: group.group_id),
        ("CONSUMER-ID", 15, lambda member: member.member_id),
        *([("GROUP-INSTANCE-ID", 17, lambda member: member.group_instance_id or "")] if static else []),
        ("HOST", 15, lambda member: member.host),
        ("CLIENT-ID", 15, lambda member: member.client_id),
        ("#PARTITIONS", 0, lambda member: len(member.assignment)),
    ]
    more: list[tuple[str, int, Callable[[MemberDescription], Any]]] = [
        ("CURRENT-EPOCH", 0, lambda member: member.member_epoch),
        ("CURRENT-ASSIGNMENT", 20, lambda member: assignment_text(member.assignment)),
        ("TARGET-EPOCH", 0, lambda _: group.target_assignment_epoch),
        ("TARGET-ASSIGNMENT", 20, lambda member: assignment_text(member.target_assignment or ())),
    ]
    if {True, False} <= kinds:
        more.append(
            ("UPGRADED", -1, lambda member: None if member.is_upgraded is None else str(member.is_upgraded).lower())
        )
    if not verbose:
        more = []
    rows = [[value(member) for _, _, value in (*fields, *more)] for member in members]
    headings = [heading for heading, _, _ in (*fields, *more)]
    formats = [_format(width, [row[index] for row in rows]) for index, (_, width, _) in enumerate((*fields, *more))]
    line = "".join(f"{each} " for each in formats[: len(fields)]) + " ".join(formats[len(fields) :])
    lines = ["", line % tuple(headings), *(line % tuple(map(_text, row)) for row in rows)]
    document = {
        "group": group.group_id,
        "state": str(group.state),
        "members": [_member_document(group, member) for member in members],
    }
    return GroupReport(document, lines, Table(headings, rows))


def _format(width: int, cells: Iterable[Any]) -> str:
    """A column as wide as its widest cell but at least ``width``; 0 for one of 15, -1 for the last of a line."""
    if width == -1:
        return "%s"
    return f"%-{max([width, *(len(_text(cell)) for cell in cells)]) if width else 15}s"


def _member_document(group: ConsumerGroupDescription, member: MemberDescription) -> dict[str, Any]:
    target = member.target_assignment
    return {
        "consumer_id": member.member_id,
        "instance_id": member.group_instance_id,
        "host": member.host,
        "client_id": member.client_id,
        "partition_count": len(member.assignment),
        "current_epoch": member.member_epoch,
        "current_assignment": [each._asdict() for each in sorted(member.assignment)],
        "target_epoch": group.target_assignment_epoch,
        "target_assignment": None if target is None else [each._asdict() for each in sorted(target)],
        "upgraded": member.is_upgraded,
    }


def assignment_text(partitions: Iterable[TopicPartition]) -> str | None:
    """``orders:0,1;payments:2``, or None for nothing."""
    topics: dict[str, list[str]] = {}
    for topic, partition in sorted(partitions):
        topics.setdefault(topic, []).append(str(partition))
    return ";".join(sorted(f"{topic}:{','.join(numbers)}" for topic, numbers in topics.items())) or None


def state_report(group: ConsumerGroupDescription, verbose: bool) -> GroupReport:
    """The state of a group."""
    node = group.coordinator
    coordinator = f"{node.host}:{node.port}  ({node.id})"
    columns = ["GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE"]
    cells: list[Any] = [group.group_id, coordinator, group.partition_assignor or None, str(group.state)]
    line = f"%-{max(15, len(group.group_id))}s %-{max(25, len(coordinator))}s %-20s %-20s"
    if verbose:
        columns += ["GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"]
        cells += [group.group_epoch, group.target_assignment_epoch]
        line += " %-15s %-25s"
    columns.append("#MEMBERS")
    cells.append(len(group.members))
    line += " %s"
    lines = ["", line % tuple(columns), line % tuple(map(_text, cells))]
    document = {
        "group": group.group_id,
        "state": str(group.state),
        "coordinator": {"id": node.id, "host": node.host, "port": node.port},
        "assignment_strategy": group.partition_assignor or None,
        "member_count": len(group.members),
        "group_epoch": group.group_epoch,
        "target_assignment_epoch": group.target_assignment_epoch,
    }
    if group.state is GroupState.DEAD:
        return GroupReport(document, [], None)
    return GroupReport(document, lines, Table(columns, [cells]))


def _text(cell: Any) -> str:
    return MISSING if cell is None else str(cell)
