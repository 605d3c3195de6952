"""``ottla log-dirs``: say how much the log directories of brokers hold, as kafka-log-dirs.sh.

With --json: only the document that the tool prints last: {"version": 1, "brokers": [{"broker", "logDirs": [{"logDir",
"error", "partitions": [{"partition", "size", "offsetLag", "isFuture"}]}]}]}.
"""

import argparse
import json
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ottla.cli.arguments import command_parser, require
from ottla.cli.connection import add_connection, client_properties, with_admin
from ottla.cli.errors import CommandError
from ottla.cli.output import Output, Table

if TYPE_CHECKING:
    from ottla.clients.admin import Admin, LogDirDescription


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("log-dirs", __doc__)
    add_connection(made)
    made.add_argument("--describe", action="store_true", help="describe the log directories")
    made.add_argument("--topic-list", default="", metavar="TOPIC,…", help="only the partitions of these topics")
    made.add_argument("--broker-list", default="", metavar="ID,…", help="only these brokers")
    return made


def main(arguments: Sequence[str]) -> int:
    """Describe the directories, return the exit code."""
    options = parser().parse_args(arguments)
    require(options, "bootstrap-server", "describe")
    topics = {topic for topic in options.topic_list.split(",") if topic}
    try:
        brokers = {int(broker) for broker in options.broker_list.split(",") if broker}
    except ValueError:
        raise CommandError(f"--broker-list takes ids with commas between them, not {options.broker_list!r}") from None
    output = Output.of(options)
    properties = client_properties(options, {"client.id": "log-dirs-tool"})
    with_admin(properties, lambda admin: _describe(admin, topics, brokers, output))
    return 0


async def _describe(admin: "Admin", topics: Collection[str], brokers: Collection[int], output: Output) -> None:
    existing = {node.id for node in (await admin.describe_cluster()).nodes}
    missing = set(brokers) - existing
    if missing:
        raise CommandError(
            f"ERROR: The given brokers do not exist from --broker-list: {_joined(missing)}. "
            f"Current existent brokers: {_joined(existing)}"
        )
    asked = sorted(brokers or existing)
    if not output.terminal:
        output.note("Querying brokers for log directories information")
    described = await admin.describe_log_dirs(asked)
    if not output.terminal:
        output.note(f"Received log directory information from brokers {_joined(asked)}")
    document = log_dirs_document(described, topics)
    output.show(document, [json.dumps(document, separators=(",", ":"))], _tables(document))


def log_dirs_document(described: "Mapping[int, Mapping[str, LogDirDescription]]", topics: Collection[str]) -> Any:
    """The document of Apache's tool, its keys in Apache's order; only partitions of ``topics`` if there are any."""
    return {
        "brokers": [
            {
                "broker": broker,
                "logDirs": [
                    {
                        "partitions": [
                            {
                                "partition": str(partition),
                                "size": replica.size_bytes,
                                "offsetLag": replica.offset_lag,
                                "isFuture": replica.is_future,
                            }
                            for partition, replica in sorted(directory.replicas.items())
                            if not topics or partition.topic in topics
                        ],
                        "error": None if directory.error is None else java_class(directory.error),
                        "logDir": path,
                    }
                    for path, directory in sorted(described[broker].items())
                ],
            }
            for broker in sorted(described)
        ],
        "version": 1,
    }


def java_class(error: Exception) -> str:
    """The error as scripts know it: by the name of Apache's class."""
    return f"org.apache.kafka.common.errors.{type(error).__name__.removesuffix('Error')}Exception"


def _tables(document: Any) -> list[Table]:
    return [
        Table(
            ("Partition", "Size", "Lag", "Future"),
            [
                (each["partition"], each["size"], each["offsetLag"], "yes" if each["isFuture"] else None)
                for each in directory["partitions"]
            ],
            f"Broker {broker['broker']}, {directory['logDir']}"
            + (f": {directory['error']}" if directory["error"] else ""),
        )
        for broker in document["brokers"]
        for directory in broker["logDirs"]
    ]


def _joined(ids: Collection[int]) -> str:
    return ",".join(map(str, sorted(ids)))
