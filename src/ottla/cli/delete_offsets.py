"""``ottla consumer-groups --delete-offsets``: forget what a group has committed."""

import argparse
from typing import TYPE_CHECKING, Any

from ottla.cli.consumer_groups import NAME
from ottla.cli.errors import hint_of, tell
from ottla.cli.output import MISSING, Output, Table
from ottla.cli.reset_offsets import parse_partitions
from ottla.clients.errors import (
    GroupSubscribedToTopicError,
    TopicAuthorizationError,
    UnknownTopicOrPartitionError,
)
from ottla.common.error_words import in_words
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition

if TYPE_CHECKING:
    from ottla.clients.admin import Admin

_OF_A_PARTITION = (GroupSubscribedToTopicError, TopicAuthorizationError, UnknownTopicOrPartitionError)
_UNKNOWN = -1


async def delete_offsets(admin: "Admin", options: argparse.Namespace, output: Output) -> bool:
    """Delete, and print what became of each partition; says whether all went well."""
    group = options.group[0]
    results: dict[TopicPartition, KafkaError | None] = {}
    named = {partition for text in options.topic if ":" in text for partition in parse_partitions(text)}
    topics = {text for text in options.topic if ":" not in text}
    if topics:
        described = await admin.describe_topics(topics, raise_errors=False, timeout_ms=options.timeout)
        for name, topic in described.items():
            if isinstance(topic, KafkaError):
                results[TopicPartition(name, _UNKNOWN)] = topic
            else:
                named |= {TopicPartition(name, partition.partition) for partition in topic.partitions}
    failure: KafkaError | None = None
    if named:
        deleted = await admin.delete_group_offsets(group, named, raise_errors=False, timeout_ms=options.timeout)
        results |= deleted
        failure = next((error for error in deleted.values() if error is not None), None)
    if isinstance(failure, _OF_A_PARTITION):
        tell(NAME, "Encountered some partition-level error, see the follow-up details.")
    elif failure is not None:
        tell(NAME, in_words(failure), hint_of(failure))
    _show(group, results, failure, output)
    return not any(results.values())


def _show(
    group: str, results: dict[TopicPartition, KafkaError | None], failure: KafkaError | None, output: Output
) -> None:
    rows: list[tuple[Any, ...]] = []
    for partition in sorted(results, key=lambda each: f"{each.topic}{each.partition}"):
        error = results[partition]
        number = MISSING if partition.partition == _UNKNOWN else partition.partition
        rows.append((partition.topic, number, "Successful" if error is None else f"Error: {in_words(error)}"))
    columns = ("TOPIC", "PARTITION", "STATUS")
    line = f"%-{max([15, *(len(row[0]) for row in rows)])}s %-10s %-15s"
    lines = [f"Request succeeded for deleting offsets from group {group}."] if failure is None else []
    document = {
        "group": group,
        "error": None if failure is None else in_words(failure),
        "partitions": [
            {
                "topic": partition.topic,
                "partition": None if partition.partition == _UNKNOWN else partition.partition,
                "error": None if error is None else in_words(error),
            }
            for partition, error in sorted(results.items())
        ],
    }
    output.show(document, [*lines, "", line % columns, *(line % row for row in rows)], [Table(columns, rows)])
