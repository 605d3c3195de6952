"""``ottla explain group|topic|transaction NAME``: what state it is in, what it waits for, and what to do, in sentences.

With --json: {"facts": [...], "todo": [...]}.
"""

import argparse
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ottla.cli.arguments import add_json, command_parser, require
from ottla.cli.connection import add_connection, client_properties, with_admin
from ottla.cli.errors import CommandError
from ottla.cli.output import Output

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from ottla.cli.explanations import Explanation, HeldPartition, Progress
    from ottla.clients.admin import Admin
    from ottla.common.topic_partition import TopicPartition

_CONFIGS: Final = ("min.insync.replicas", "retention.ms", "retention.bytes", "cleanup.policy")


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("explain", __doc__)
    kinds = made.add_subparsers(dest="kind", required=True, metavar="KIND")
    for kind, what in (("group", "a consumer group"), ("topic", "a topic"), ("transaction", "a transactional id")):
        one = kinds.add_parser(kind, help=what)
        one.add_argument("name", metavar="NAME")
        add_connection(one)
        add_json(one)
    return made


def main(arguments: Sequence[str]) -> int:
    """Ask the cluster, and explain."""
    options = parser().parse_args(arguments)
    require(options, "bootstrap-server")
    work: Callable[[Admin, str], Awaitable[Explanation]] = _KINDS[options.kind]
    told = with_admin(client_properties(options), lambda admin: work(admin, options.name))
    lines = [*told.facts, *(["", "What to do:", *(f"- {each}" for each in told.todo)] if told.todo else [])]
    Output.of(options).show({"facts": told.facts, "todo": told.todo}, lines)
    return 0


async def _explain_group(admin: "Admin", name: str) -> "Explanation":
    from ottla.cli.explanations import explain_group

    listed = await admin.list_groups()
    if name not in listed:
        raise CommandError(f"There is no group {name}", hint="`ottla groups --list` shows which there are")
    if listed[name].type.name not in ("CONSUMER", "CLASSIC") or listed[name].protocol_type not in ("consumer", ""):
        raise CommandError(
            f"Group {name} is of type {listed[name].type} and protocol {listed[name].protocol_type}; only groups of "
            "consumers can be explained"
        )
    described = (await admin.describe_consumer_groups([name]))[name]
    owned = {partition for member in described.members for partition in member.assignment}
    read, unreadable = await _progress(admin, name, owned)
    return explain_group(described, read, unreadable)


async def _progress(
    admin: "Admin", group: str, owned: "Collection[TopicPartition]"
) -> "tuple[dict[TopicPartition, Progress], dict[TopicPartition, str]]":
    """How far a group has read the topics that it has committed offsets for, and those of its members.

    Beside it, why some of those partitions cannot be read.
    """
    from ottla.cli.explanations import NO_LEADER, NO_TOPIC, Progress
    from ottla.clients.errors import UnknownTopicOrPartitionError
    from ottla.common.errors import KafkaError
    from ottla.common.topic_partition import TopicPartition

    committed = await admin.list_group_offsets(group)
    places = {partition: place for partition, place in committed.items() if place is not None}
    topics = {partition.topic for partition in (*places, *owned)}
    described = await admin.describe_topics(sorted(topics), raise_errors=False)
    led = {
        TopicPartition(name, each.partition)
        for name, topic in described.items()
        if not isinstance(topic, KafkaError)
        for each in topic.partitions
        if each.leader_id is not None
    }
    ends = await _ends(admin, led)
    gone = {name for name, topic in described.items() if isinstance(topic, UnknownTopicOrPartitionError)}
    unreadable = {
        partition: NO_TOPIC if partition.topic in gone else NO_LEADER
        for partition in (*places, *owned)
        if partition not in led and (partition.topic in gone or not isinstance(described[partition.topic], KafkaError))
    }
    read = {
        partition: Progress(place.offset if (place := places.get(partition)) is not None else None, start, end)
        for partition, (start, end) in ends.items()
    }
    return read, unreadable


async def _ends(admin: "Admin", partitions: "Collection[TopicPartition]") -> "dict[TopicPartition, tuple[int, int]]":
    """The first and the next offset of the partitions that answer."""
    from ottla.clients.admin import OffsetSpec
    from ottla.common.errors import KafkaError

    starts = await admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.earliest()), raise_errors=False)
    ends = await admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.latest()), raise_errors=False)
    found = {}
    for partition in sorted(partitions):
        start, end = starts[partition], ends[partition]
        if not isinstance(start, KafkaError) and not isinstance(end, KafkaError):
            found[partition] = (start.offset, end.offset)
    return found


async def _explain_topic(admin: "Admin", name: str) -> "Explanation":
    from ottla.cli.explanations import Progress
    from ottla.cli.topic_explanation import explain_topic
    from ottla.clients.admin import ConfigResource, ConfigResourceType
    from ottla.clients.errors import UnknownTopicOrPartitionError
    from ottla.common.topic_partition import TopicPartition

    try:
        topic = (await admin.describe_topics([name]))[name]
    except UnknownTopicOrPartitionError:
        raise CommandError(f"There is no topic {name}", hint="`ottla topics --list` shows which there are") from None
    resource = ConfigResource(ConfigResourceType.TOPIC, name)
    entries = (await admin.describe_configs([resource]))[resource]
    configs: dict[str, str | None] = {key: entries[key].value for key in _CONFIGS if key in entries}
    led = [TopicPartition(name, each.partition) for each in topic.partitions if each.leader_id is not None]
    ends = await _ends(admin, led)
    groups: dict[str, dict[TopicPartition, Progress]] = {}
    for group in (await admin.list_groups()).values():
        if group.type.name not in ("CONSUMER", "CLASSIC"):
            continue
        committed = await admin.list_group_offsets(group.group_id)
        read = {
            partition: Progress(place.offset, *ends[partition])
            for partition, place in committed.items()
            if place is not None and partition in ends
        }
        if read:
            groups[group.group_id] = read
    return explain_topic(topic, configs, ends, groups, await _open_transactions(admin, ends))


async def _open_transactions(
    admin: "Admin", ends: "Mapping[TopicPartition, tuple[int, int]]"
) -> "dict[TopicPartition, HeldPartition]":
    """Where readers of committed records do not get to the end, and which producer's transaction begins first there."""
    from ottla.cli.explanations import HeldPartition
    from ottla.clients.admin import IsolationLevel, OffsetSpec
    from ottla.common.errors import KafkaError

    latest = dict.fromkeys(ends, OffsetSpec.latest())
    stable = await admin.list_offsets(latest, isolation_level=IsolationLevel.READ_COMMITTED, raise_errors=False)
    held = {
        partition: place.offset
        for partition, place in stable.items()
        if not isinstance(place, KafkaError) and place.offset < ends[partition][1]
    }
    producers = await admin.describe_producers(held, raise_errors=False) if held else {}
    found = {}
    for partition, offset in held.items():
        states = producers[partition]
        starts = [
            (each.current_transaction_start_offset, each.producer_id)
            for each in (states if not isinstance(states, KafkaError) else ())
            if each.current_transaction_start_offset is not None
        ]
        start, producer_id = min(starts, default=(None, None))
        found[partition] = HeldPartition(start, offset, ends[partition][1], producer_id)
    return found


async def _explain_transaction(admin: "Admin", name: str) -> "Explanation":
    from ottla.cli.transaction_explanation import explain_transaction
    from ottla.clients.errors import TransactionalIdNotFoundError

    try:
        described = (await admin.describe_transactions([name]))[name]
    except TransactionalIdNotFoundError:
        raise CommandError(
            f"There is no transactional id {name}", hint="`ottla transactions list` shows which there are"
        ) from None
    held = await _held(admin, described.producer_id, described.partitions)
    return explain_transaction(described, held, time.time_ns() // 1_000_000)


async def _held(
    admin: "Admin", producer_id: int, partitions: "Collection[TopicPartition]"
) -> "dict[TopicPartition, HeldPartition]":
    from ottla.cli.explanations import HeldPartition
    from ottla.clients.admin import IsolationLevel, OffsetSpec
    from ottla.common.errors import KafkaError

    if not partitions:
        return {}
    latest = dict.fromkeys(partitions, OffsetSpec.latest())
    high = await admin.list_offsets(latest, raise_errors=False)
    stable = await admin.list_offsets(latest, isolation_level=IsolationLevel.READ_COMMITTED, raise_errors=False)
    producers = await admin.describe_producers(partitions, raise_errors=False)
    held = {}
    for partition in sorted(partitions):
        end, last_stable, states = high[partition], stable[partition], producers[partition]
        if isinstance(end, KafkaError) or isinstance(last_stable, KafkaError):
            continue
        starts = (
            [each.current_transaction_start_offset for each in states if each.producer_id == producer_id]
            if not isinstance(states, KafkaError)
            else []
        )
        held[partition] = HeldPartition(starts[0] if starts else None, last_stable.offset, end.offset)
    return held


_KINDS: Final = {"group": _explain_group, "topic": _explain_topic, "transaction": _explain_transaction}
