"""``ottla transactions``: list, describe, find and abort transactions, as kafka-transactions.sh.

With --json: list prints [{"transactional_id", "coordinator", "producer_id", "state"}]; describe prints {"coordinator",
"transactional_id", "producer_id", "producer_epoch", "state", "timeout_ms", "start_time_ms", "duration_ms",
"partitions"}; describe-producers prints [{"producer_id", "producer_epoch", "coordinator_epoch", "last_sequence",
"last_timestamp", "transaction_start_offset"}]; find-hanging prints [{"topic", "partition", "producer_id",
"producer_epoch", "coordinator_epoch", "start_offset", "last_timestamp", "duration_min"}]; abort and force-terminate
print {"aborted": what}. What is not known is null.
"""

import argparse
from collections.abc import Awaitable, Callable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from ottla.cli.arguments import add_json, command_parser
from ottla.cli.connection import add_connection, client_properties, with_admin
from ottla.cli.errors import CommandError, hint_of
from ottla.cli.output import Output, Table, tabbed_lines
from ottla.common.error_words import in_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ottla.clients.admin import Admin

_FORCE_TERMINATE: Final = "forceTerminateTransaction"


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("transactions", __doc__)
    add_connection(made, required=True)
    commands = made.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("list", help="list the transactional ids")
    listing.add_argument("--duration-filter", type=int, metavar="MS", help="only transactions that run for longer")
    listing.add_argument("--transactional-id-pattern", metavar="PATTERN", help="only ids that match the expression")
    describe = commands.add_parser("describe", help="describe a transactional id")
    describe.add_argument("--transactional-id", required=True, metavar="ID")
    producers = commands.add_parser("describe-producers", help="describe the producers of a partition")
    producers.add_argument("--broker-id", type=int, metavar="ID", help="ask this replica, not the leader")
    _add_partition(producers)
    abort = commands.add_parser("abort", help="abort a hanging transaction")
    _add_partition(abort)
    abort.add_argument("--start-offset", type=int, metavar="OFFSET", help="where the transaction begins")
    abort.add_argument("--producer-id", type=int, metavar="ID", help="or whose it is: for brokers before 3.0")
    abort.add_argument("--producer-epoch", type=int, metavar="N", help="with --producer-id")
    abort.add_argument("--coordinator-epoch", type=int, metavar="N", help="with --producer-id")
    hanging = commands.add_parser("find-hanging", help="find transactions that nobody will end")
    hanging.add_argument("--broker-id", type=int, metavar="ID", help="search the partitions of this broker")
    hanging.add_argument("--topic", help="search this topic")
    hanging.add_argument("--partition", type=int, metavar="N", help="search this partition of the topic")
    hanging.add_argument(
        "--max-transaction-timeout", type=int, default=15, metavar="MINUTES", help="pass over younger ones (15)"
    )
    force = commands.add_parser(_FORCE_TERMINATE, aliases=["force-terminate"], help="abort what an id has under way")
    force.add_argument("--transactionalId", "--transactional-id", dest="transactional_id", required=True, metavar="ID")
    for each in dict.fromkeys(commands.choices.values()):
        add_json(each)
    return made


def _add_partition(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--topic", required=True)
    parser.add_argument("--partition", type=int, required=True, metavar="N")


def main(arguments: Sequence[str]) -> int:
    """Do what the line says, return the exit code."""
    options = parser().parse_args(arguments)
    _check(options)
    output = Output.of(options)
    with_admin(client_properties(options), lambda admin: _work(options.command)(admin, options, output))
    return 0


Work = Callable[["Admin", argparse.Namespace, Output], Awaitable[None]]


def _work(command: str) -> Work:
    if command == "find-hanging":
        from ottla.cli.hanging_transactions import find_hanging

        return find_hanging
    return _WORK[command]


def _check(options: argparse.Namespace) -> None:
    if options.command == "find-hanging":
        if options.topic is None and options.broker_id is None:
            raise CommandError(
                "The `find-hanging` command requires either --topic or --broker-id to limit the scope of the search"
            )
        if options.partition is not None and options.topic is None:
            raise CommandError("The --partition argument requires --topic to be provided")
    elif options.command == "abort" and options.start_offset is None:
        if options.producer_id is None:
            raise CommandError(
                "The transaction to abort must be identified either with --start-offset (for brokers on 3.0 or above) "
                "or with --producer-id, --producer-epoch, and --coordinator-epoch (for older brokers)"
            )
        for option in ("producer-epoch", "coordinator-epoch"):
            if getattr(options, option.replace("-", "_")) is None:
                raise CommandError(f"Missing required argument --{option}")


@contextmanager
def failing(what: str) -> "Iterator[None]":
    """Say what failed before why."""
    from ottla.common.errors import KafkaError

    try:
        yield
    except KafkaError as error:
        raise CommandError(f"{what}: {in_words(error)}", hint=hint_of(error)) from error


async def _list(admin: "Admin", options: argparse.Namespace, output: Output) -> None:
    with failing("Failed to list transactions"):
        found = await admin.list_transactions(
            min_duration_ms=-1 if options.duration_filter is None else options.duration_filter,
            transactional_id_pattern=options.transactional_id_pattern,
        )
    rows = sorted(
        (each.transactional_id, each.coordinator_id, each.producer_id, str(each.state)) for each in found.values()
    )
    columns = ("TransactionalId", "Coordinator", "ProducerId", "TransactionState")
    keys = ("transactional_id", "coordinator", "producer_id", "state")
    show_rows(output, columns, keys, rows)


async def _describe(admin: "Admin", options: argparse.Namespace, output: Output) -> None:
    from time import time

    transactional_id = options.transactional_id
    with failing(f"Failed to describe transaction state of transactional-id `{transactional_id}`"):
        found = (await admin.describe_transactions([transactional_id]))[transactional_id]
    start_ms = found.start_time_ms
    row = (
        found.coordinator_id,
        transactional_id,
        found.producer_id,
        found.producer_epoch,
        str(found.state),
        found.timeout_ms,
        start_ms,
        None if start_ms is None else int(time() * 1000) - start_ms,
        ",".join(map(str, sorted(found.partitions))),
    )
    columns = (
        "CoordinatorId",
        "TransactionalId",
        "ProducerId",
        "ProducerEpoch",
        "TransactionState",
        "TransactionTimeoutMs",
        "CurrentTransactionStartTimeMs",
        "TransactionDurationMs",
        "TopicPartitions",
    )
    keys = ("coordinator", "transactional_id", "producer_id", "producer_epoch", "state", "timeout_ms", "start_time_ms")
    document = dict(zip((*keys, "duration_ms"), row[:8], strict=True))
    document["partitions"] = [each._asdict() for each in sorted(found.partitions)]
    output.show(document, tabbed_lines(columns, [_with_none(row)]), [Table(columns, [row])])


async def _describe_producers(admin: "Admin", options: argparse.Namespace, output: Output) -> None:
    from ottla.common.topic_partition import TopicPartition

    partition = TopicPartition(options.topic, options.partition)
    where = "leader" if options.broker_id is None else f"broker {options.broker_id}"
    with failing(f"Failed to describe producers for partition {partition} on {where}"):
        found = await admin.describe_producers([partition], broker_id=options.broker_id)
    rows = [
        (
            each.producer_id,
            each.producer_epoch,
            -1 if each.coordinator_epoch is None else each.coordinator_epoch,
            each.last_sequence,
            each.last_timestamp_ms,
            each.current_transaction_start_offset,
        )
        for each in sorted(found[partition], key=lambda each: each.producer_id)
    ]
    columns = (
        "ProducerId",
        "ProducerEpoch",
        "LatestCoordinatorEpoch",
        "LastSequence",
        "LastTimestamp",
        "CurrentTransactionStartOffset",
    )
    keys = ("producer_id", "producer_epoch", "coordinator_epoch", "last_sequence", "last_timestamp")
    show_rows(output, columns, (*keys, "transaction_start_offset"), rows)


async def _abort(admin: "Admin", options: argparse.Namespace, output: Output) -> None:
    from ottla.clients.admin import AbortTransactionSpec
    from ottla.common.topic_partition import TopicPartition

    partition = TopicPartition(options.topic, options.partition)
    producer_id, producer_epoch = options.producer_id, options.producer_epoch
    coordinator_epoch = options.coordinator_epoch
    if options.start_offset is not None:
        with failing(f"Failed to validate producer state for partition {partition}"):
            producers = (await admin.describe_producers([partition]))[partition]
        for producer in producers:
            if producer.current_transaction_start_offset == options.start_offset:
                producer_id, producer_epoch = producer.producer_id, producer.producer_epoch
                coordinator_epoch = producer.coordinator_epoch
                break
        else:
            raise CommandError(
                f"Could not find any open transactions starting at offset {options.start_offset} on partition "
                f"{partition}",
                hint="`ottla transactions describe-producers` shows where they start",
            )
    # A producer that has never ended a transaction has no coordinator epoch yet: 0 is lower than any.
    spec = AbortTransactionSpec(partition, producer_id, producer_epoch, max(coordinator_epoch or 0, 0))
    with failing(f"Failed to abort transaction of producer {producer_id} on partition {partition}"):
        await admin.abort_transaction(spec)
    aborted = {**partition._asdict(), "producer_id": producer_id, "producer_epoch": producer_epoch}
    output.show({"aborted": aborted}, ())


async def _force_terminate(admin: "Admin", options: argparse.Namespace, output: Output) -> None:
    with failing(f"Failed to force terminate transactionalId `{options.transactional_id}`"):
        await admin.fence_producers([options.transactional_id])
    output.show({"aborted": options.transactional_id}, ())


_WORK: Final[dict[str, Work]] = {
    "list": _list,
    "describe": _describe,
    "describe-producers": _describe_producers,
    "abort": _abort,
    _FORCE_TERMINATE: _force_terminate,
    "force-terminate": _force_terminate,
}


def show_rows(output: Output, columns: Sequence[str], keys: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    """Rows as documents under ``keys`` and as a table under ``columns``; None is ``None`` in Apache's lines."""
    output.show(
        [dict(zip(keys, row, strict=True)) for row in rows],
        tabbed_lines(columns, [_with_none(row) for row in rows]),
        [Table(columns, rows)],
    )


def _with_none(row: Sequence[Any]) -> list[Any]:
    return ["None" if cell is None else cell for cell in row]
