"""``ottla get-offsets``: print the offsets of partitions, as kafka-get-offsets.sh: TOPIC:PARTITION:OFFSET.

With --json: [{"topic", "partition", "offset", "timestamp", "leader_epoch"}]; what is not known is null.
"""

import argparse
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from ottla.cli.arguments import command_parser, require
from ottla.cli.connection import add_connection, client_properties, with_admin
from ottla.cli.errors import CommandError, UsageError
from ottla.cli.output import Output, Table

if TYPE_CHECKING:
    from ottla.clients.admin import Admin
    from ottla.common.topic_partition import TopicPartition

TIMES: Final = {
    "latest": -1,
    "earliest": -2,
    "max-timestamp": -3,
    "earliest-local": -4,
    "latest-tiered": -5,
    "earliest-pending-upload": -6,
}
_RULE: Final = re.compile(r"([^:,]*)(?::(?:([0-9]*)|(?:([0-9]*)-([0-9]*))))?")
_UNKNOWN_OFFSET: Final = -1

Rule = Callable[[str, int], bool]
"""Whether a partition of a topic is meant."""


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("get-offsets", __doc__)
    add_connection(made)
    made.add_argument(
        "--topic-partitions",
        metavar="TOPIC:PARTITION,…",
        help="which partitions: an expression for topics, then :N, :FROM-TO (without TO), :FROM- or :-TO",
    )
    made.add_argument("--topic", help="which topics; a regular expression")
    made.add_argument("--partitions", metavar="N,…", help="which partitions of them")
    made.add_argument(
        "--time", default="latest", metavar="WHEN", help=f"a time in ms, or {', '.join(TIMES)} (or -1 to -6)"
    )
    made.add_argument("--exclude-internal-topics", action="store_true", help="pass over Kafka's own topics")
    return made


def main(arguments: Sequence[str]) -> int:
    """Print the offsets, return the exit code."""
    options = parser().parse_args(arguments)
    require(options, "bootstrap-server")
    if options.topic_partitions is not None and (options.topic is not None or options.partitions is not None):
        raise UsageError("--topic-partitions cannot be used with --topic or --partitions")
    rules = partition_rules(options.topic_partitions, options.topic, options.partitions)
    when = parse_time(options.time)
    output = Output.of(options)
    properties = client_properties(options)
    properties["client.id"] = "GetOffsetShell"  # quotas and logs know the tool by this name
    with_admin(properties, lambda admin: _print(admin, rules, when, options.exclude_internal_topics, output))
    return 0


async def _print(admin: "Admin", rules: Sequence[Rule], when: int, exclude_internal: bool, output: Output) -> None:
    from ottla.clients.admin import OffsetSpec
    from ottla.common.errors import KafkaError

    partitions = await _partitions(admin, rules, exclude_internal)
    if not partitions:
        raise CommandError(
            "Could not match any topic-partitions with the specified filters",
            hint="`ottla topics --describe` shows which there are",
        )
    spec = OffsetSpec.for_timestamp(when)
    found = await admin.list_offsets(dict.fromkeys(partitions, spec), raise_errors=False)
    rows = []
    for partition in sorted(partitions, key=str):
        result = found[partition]
        if isinstance(result, KafkaError):
            output.warn(f"Skip getting offsets for topic-partition {partition} due to error: {result}")
        elif result.offset != _UNKNOWN_OFFSET:
            rows.append((partition.topic, partition.partition, result.offset, result.timestamp_ms, result.leader_epoch))
    names = ("topic", "partition", "offset", "timestamp", "leader_epoch")
    output.show(
        [dict(zip(names, (*row[:3], _known(row[3]), _known(row[4])), strict=True)) for row in rows],
        [f"{topic}:{partition}:{offset}" for topic, partition, offset, *_ in rows],
        [Table(("Topic", "Partition", "Offset"), [row[:3] for row in rows])],
    )


async def _partitions(admin: "Admin", rules: Sequence[Rule], exclude_internal: bool) -> "list[TopicPartition]":
    from ottla.common.topic_partition import TopicPartition

    topics = await admin.list_topics(include_internal=not exclude_internal)
    described = await admin.describe_topics(topics)
    return [
        TopicPartition(name, partition.partition)
        for name, topic in described.items()
        for partition in topic.partitions
        if any(rule(name, partition.partition) for rule in rules)
    ]


def _known(value: int | None) -> int | None:
    return None if value is None or value < 0 else value


def parse_time(text: str) -> int:
    """The timestamp, or the negative number that stands for a place, of ``--time``."""
    if text in TIMES:
        return TIMES[text]
    try:
        return int(text)
    except ValueError:
        names = " / ".join(f"{number} or {name}" for name, number in TIMES.items())
        raise CommandError(f"Malformed time argument {text}", hint=f"use {names}, or a time in ms") from None


def partition_rules(topic_partitions: str | None, topic: str | None, partitions: str | None) -> list[Rule]:
    """The rules of a line, of which a partition has to meet one."""
    if topic_partitions is not None:
        return [_rule(text) for text in topic_partitions.split(",")]
    try:
        numbers = {int(number) for number in partitions.split(",")} if partitions else set()
    except ValueError:
        raise CommandError(
            f"--partitions expects a comma separated list of numeric partition ids, but received: {partitions}"
        ) from None
    return [_all_of(topic if topic is not None else ".*", lambda partition: not numbers or partition in numbers)]


def _rule(text: str) -> Rule:
    match = _RULE.fullmatch(text)
    if match is None:
        raise CommandError(f"Invalid rule specification: {text}", hint="it is TOPIC:N, TOPIC:FROM-TO or TOPIC")
    topic, one, low, high = match.groups()
    if one:
        return _all_of(topic or ".*", lambda partition: partition == int(one))
    return _all_of(topic or ".*", lambda partition: int(low or 0) <= partition and (not high or partition < int(high)))


def _all_of(topics: str, partitions: Callable[[int], bool]) -> Rule:
    from ottla.cli.topic_filter import TopicFilter

    wanted = TopicFilter(topics)
    return lambda topic, partition: wanted.allows(topic) and partitions(partition)
