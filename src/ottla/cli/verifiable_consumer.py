"""``ottla verifiable-consumer``: consume as a member of a group and print all that happens, for Kafka's system tests.

Events on standard output, one JSON document a line: startup_complete, partitions_assigned, partitions_revoked,
records_consumed, record_data (--verbose), offsets_committed, shutdown_requested, shutdown_complete.
"""

import argparse
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final

from ottla.cli.arguments import command_parser
from ottla.cli.client_options import known_only, run_client
from ottla.cli.events import emit
from ottla.cli.verifiable_producer import file_settings
from ottla.common.error_words import in_words

if TYPE_CHECKING:
    from ottla.cli.progress import Progress
    from ottla.clients import Consumer, ConsumerRecord, TopicPartition

RANGE: Final = "org.apache.kafka.clients.consumer.RangeAssignor"
_POLL_MS: Final = 1000


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("verifiable-consumer", __doc__)
    made.add_argument("--bootstrap-server", required=True, metavar="HOST:PORT,…", help="brokers to connect to")
    made.add_argument("--topic", required=True, help="the topic to read")
    made.add_argument("--group-id", required=True, metavar="ID", help="the group to be a member of")
    made.add_argument("--group-protocol", default="classic", metavar="NAME", help="classic or consumer")
    made.add_argument("--group-remote-assignor", metavar="NAME", help="with the consumer protocol: the assignor")
    made.add_argument("--group-instance-id", metavar="ID", help="be a static member")
    made.add_argument("--max-messages", type=int, default=-1, metavar="N", help="end after so many; -1 for no end")
    made.add_argument("--session-timeout", type=int, metavar="MS", help="with the classic protocol: session.timeout.ms")
    made.add_argument("--verbose", action="store_true", help="print each record")
    made.add_argument("--enable-autocommit", action="store_true", help="commit now and then instead of after each poll")
    made.add_argument("--reset-policy", default="earliest", metavar="POLICY", help="earliest, latest or none")
    made.add_argument("--assignment-strategy", default=RANGE, metavar="CLASS", help="with the classic protocol")
    made.add_argument("--command-config", metavar="FILE", help="a properties file for the consumer")
    made.add_argument("--consumer.config", dest="old_config", metavar="FILE", help="the old name of --command-config")
    return made


def main(arguments: Sequence[str]) -> int:
    """Consume, and print events."""
    from ottla.config.consumer_keys import CONSUMER_CONFIG

    made = parser()
    if not arguments:
        made.print_help()
        return 0
    options = made.parse_args(arguments)
    return run_client(_consume(known_only(consumer_settings(options), CONSUMER_CONFIG), options))


def consumer_settings(options: argparse.Namespace) -> dict[str, str]:
    """The consumer's properties; the line goes before the file."""
    settings = file_settings(options, "consumer")
    settings["group.protocol"] = options.group_protocol
    if options.group_protocol.lower() == "consumer":
        if options.group_remote_assignor is not None:
            settings["group.remote.assignor"] = options.group_remote_assignor
    else:
        settings["partition.assignment.strategy"] = options.assignment_strategy
    if options.session_timeout is not None:
        settings["session.timeout.ms"] = str(options.session_timeout)
    if options.group_instance_id is not None:
        settings["group.instance.id"] = options.group_instance_id
    return settings | {
        "group.id": options.group_id,
        "bootstrap.servers": options.bootstrap_server,
        "enable.auto.commit": str(options.enable_autocommit).lower(),
        "auto.offset.reset": options.reset_policy,
    }


async def _consume(settings: dict[str, str], options: argparse.Namespace) -> int:
    import asyncio

    from ottla.cli.consumer_notices import explained
    from ottla.clients import Consumer

    consumer: Consumer[bytes, bytes] = Consumer(settings)
    try:
        async with consumer:
            emit("startup_complete")
            consumer.subscribe([options.topic], listener=_Rebalances())
            try:
                async with explained(consumer) as read:
                    await _Reading(consumer, options, read).run()
            except asyncio.CancelledError:
                emit("shutdown_requested")
                raise
    finally:
        emit("shutdown_complete")
    return 0


class _Reading:
    """Reads, tells and commits."""

    def __init__(self, consumer: "Consumer[bytes, bytes]", options: argparse.Namespace, read: "Progress") -> None:
        self._consumer = consumer
        self._read = read
        self._options = options
        self._left = options.max_messages
        """Negative: no limit."""

    async def run(self) -> None:
        """Read until there were enough."""
        while self._left != 0:
            records = await self._consumer.poll(_POLL_MS)
            if not records:
                continue
            offsets = self._tell(records)
            self._read.advance(len(records))
            if not self._options.enable_autocommit:
                await self._commit(offsets)

    def _tell(self, records: "Sequence[ConsumerRecord[bytes, bytes]]") -> "dict[TopicPartition, int]":
        by_partition: dict[TopicPartition, list[ConsumerRecord[bytes, bytes]]] = {}
        for record in records:
            by_partition.setdefault(record.topic_partition, []).append(record)
        summaries, offsets = [], {}
        for partition, own in by_partition.items():
            taken = own[: self._left] if self._left >= 0 else own
            if not taken:
                continue
            if self._left >= 0:
                self._left -= len(taken)
            offsets[partition] = taken[-1].offset + 1
            first, last = taken[0].offset, taken[-1].offset
            summaries.append({**partition._asdict(), "count": len(taken), "minOffset": first, "maxOffset": last})
            if self._options.verbose:
                for record in taken:
                    emit("record_data", key=_text(record.key), value=_text(record.value), **_place(record))
        emit("records_consumed", count=len(records), partitions=summaries)
        return offsets

    async def _commit(self, offsets: "dict[TopicPartition, int]") -> None:
        from ottla.common.errors import KafkaError

        shown = [{**partition._asdict(), "offset": offset} for partition, offset in offsets.items()]
        try:
            await self._consumer.commit(offsets)
        except KafkaError as error:
            emit("offsets_committed", offsets=shown, error=in_words(error), success=False)
        else:
            emit("offsets_committed", offsets=shown, success=True)


class _Rebalances:
    """Tells what the group gives and takes."""

    def on_partitions_assigned(self, partitions: "Collection[TopicPartition]") -> None:
        """Partitions have come."""
        emit("partitions_assigned", partitions=[partition._asdict() for partition in sorted(partitions)])

    def on_partitions_revoked(self, partitions: "Collection[TopicPartition]") -> None:
        """Partitions go."""
        emit("partitions_revoked", partitions=[partition._asdict() for partition in sorted(partitions)])


def _place(record: "ConsumerRecord[bytes, bytes]") -> dict[str, Any]:
    return {"topic": record.topic, "partition": record.partition, "offset": record.offset}


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="replace")
