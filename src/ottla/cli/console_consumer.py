"""``ottla console-consumer``: print the records of topics, as kafka-console-consumer.sh.

--formatter-property KEY=VALUE (several times) says what is printed of a record: print.key, print.value (true unless
given), print.timestamp, print.partition, print.offset, print.epoch, print.headers (true or false); key.separator,
line.separator, headers.separator, null.literal; key.deserializer, value.deserializer, headers.deserializer (classes of
Kafka's). It ends at --max-messages, after --timeout-ms without a record, or at Ctrl-C, and tells how many there were.
Unlike Kafka's, the exit code is 1 if it ends because of an error, and notes never mix with records.
With --json: one JSON document a record, on a line; what is no text is {"base64": …}.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from ottla.cli.arguments import command_parser, given, require
from ottla.cli.client_options import add_client, client_settings, either, key_values, known_only, run_client
from ottla.cli.connection import read_properties
from ottla.cli.errors import CommandError, UsageError, tell
from ottla.cli.record_formatter import DEFAULT, Formatter, formatter
from ottla.common.error_words import in_words

if TYPE_CHECKING:
    from ottla.clients import Consumer, ConsumerRecord

FOREVER_MS: Final = (1 << 63) - 1
_POLL_MS_MAX: Final = 1 << 31
_EARLIEST: Final = -2
_LATEST: Final = -1


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("console-consumer", __doc__, json=False)
    made.add_argument("--json", action="store_true", help="print each record as a JSON document on a line")
    made.add_argument("--topic", help="the topic to read")
    made.add_argument("--include", metavar="REGEX", help="read all topics whose names match")
    add_client(made, "consumer")
    made.add_argument("--group", metavar="ID", help="read as a member of the group; else of one of its own")
    made.add_argument("--partition", type=int, metavar="N", help="read this partition only, from the end or --offset")
    made.add_argument("--offset", metavar="WHERE", help="from where: an offset, earliest or latest")
    made.add_argument(
        "--from-beginning", action="store_true", help="begin with the first record where nothing is committed"
    )
    made.add_argument("--max-messages", type=int, metavar="N", help="end after so many records")
    made.add_argument("--timeout-ms", type=int, metavar="MS", help="end after so long without a record")
    made.add_argument("--isolation-level", metavar="LEVEL", help="read_committed or read_uncommitted (the default)")
    made.add_argument("--skip-message-on-error", action="store_true", help="go on after a record that cannot be shown")
    made.add_argument("--formatter", default=DEFAULT, metavar="CLASS", help="how to print: a class of Kafka's")
    made.add_argument("--formatter-property", action="append", metavar="KEY=VALUE", help="what to print; see above")
    made.add_argument("--property", action="append", metavar="KEY=VALUE", help="the old name of --formatter-property")
    made.add_argument("--formatter-config", metavar="FILE", help="a properties file for the formatter")
    made.add_argument("--key-deserializer", metavar="CLASS", help="how keys are read: a class of Kafka's")
    made.add_argument("--value-deserializer", metavar="CLASS", help="how values are read: a class of Kafka's")
    made.add_argument("--enable-systest-events", action="store_true", help="print shutdown_complete at the end")
    return made


def main(arguments: Sequence[str]) -> int:
    """Print records until it is time to end, then how many; a signal to stop ends it, too."""
    from ottla.config.consumer_keys import CONSUMER_CONFIG

    options = parser().parse_args(arguments)
    _check(options)
    settings = known_only(consumer_settings(options), CONSUMER_CONFIG)
    start = start_offset(options)
    printing = _Printing(_formatter(options), options.skip_message_on_error)
    try:
        run_client(_consume(settings, options, start, printing))
    except BrokenPipeError:
        sys.stderr.write("Unable to write to standard out, closing consumer.\n")
    finally:
        sys.stderr.write(f"Processed a total of {printing.count} messages\n")
        sys.stderr.flush()
        if options.enable_systest_events:
            sys.stdout.write("shutdown_complete\n")
    return 0


def _check(options: argparse.Namespace) -> None:
    if given(options, "topic") == given(options, "include"):
        raise UsageError("Exactly one of the following arguments is required: [topic], [include]")
    if options.partition is not None:
        if options.topic is None:
            raise UsageError("The topic is required when partition is specified.")
        if options.from_beginning and options.offset is not None:
            raise UsageError("Options from-beginning and offset cannot be specified together.")
    elif options.offset is not None:
        raise UsageError("The partition is required when offset is specified.")
    require(options, "bootstrap-server")


def consumer_settings(options: argparse.Namespace) -> dict[str, str]:
    """The consumer's properties; without a group it has one of its own, in which it commits nothing."""
    settings = client_settings(options, "consumer")
    groups = {settings["group.id"]} if "group.id" in settings else set()
    if options.group is not None:
        groups.add(options.group)
    if len(groups) > 1:
        raise UsageError(
            "The group ids provided in different places (directly using '--group', via '--consumer-property', or via "
            f"'--consumer.config') do not match. Detected group ids: {', '.join(map(repr, sorted(groups)))}"
        )
    if groups and options.partition is not None:
        raise UsageError("Options group and partition cannot be specified together.")
    reset = settings.setdefault("auto.offset.reset", "earliest" if options.from_beginning else "latest")
    if options.from_beginning and reset != "earliest":
        raise CommandError(
            f"Can't simultaneously specify --from-beginning and 'auto.offset.reset={reset}', please remove one option"
        )
    settings.setdefault("client.id", "console-consumer")
    if options.isolation_level is not None:
        settings["isolation.level"] = options.isolation_level
    if groups:
        settings["group.id"] = groups.pop()
    else:
        from random import randrange

        settings["group.id"] = f"console-consumer-{randrange(100_000)}"
        settings.setdefault("enable.auto.commit", "false")
    return settings


def start_offset(options: argparse.Namespace) -> int:
    """Where a single partition is read from: an offset, -2 for the beginning, -1 for the end."""
    if options.offset is None:
        return _EARLIEST if options.from_beginning else _LATEST
    named = {"earliest": _EARLIEST, "latest": _LATEST}.get(options.offset.lower())
    if named is not None:
        return named
    if not options.offset.isdigit():
        raise UsageError(
            f"The provided offset value '{options.offset}' is incorrect. Valid values are 'earliest', 'latest', or a "
            "non-negative long."
        )
    return int(options.offset)


def _formatter(options: argparse.Namespace) -> Formatter:
    if options.json:
        from ottla.cli.record_json import record_json

        return lambda record: record_json(record).encode() + b"\n"
    properties = read_properties(options.formatter_config) if options.formatter_config is not None else {}
    for key, name in (
        ("key.deserializer", options.key_deserializer),
        ("value.deserializer", options.value_deserializer),
    ):
        if name:
            properties[key] = name
    properties |= key_values(either(options, "formatter-property", "property", "property") or ())
    return formatter(options.formatter, properties)


class _Printing:
    """Prints records, and counts them."""

    def __init__(self, write: Formatter, skip_errors: bool) -> None:
        self._format = write
        self._skip_errors = skip_errors
        self.count = 0

    def print(self, records: "Sequence[ConsumerRecord[bytes, bytes]]") -> None:
        """Print them all, at once."""
        from ottla.common.errors import KafkaError

        shown = []
        for record in records:
            self.count += 1
            try:
                shown.append(self._format(record))
            except (KafkaError, ValueError) as error:
                what = f"The record at {record.topic}-{record.partition}:{record.offset} cannot be shown: "
                if not self._skip_errors:
                    sys.stdout.buffer.write(b"".join(shown))
                    raise CommandError(
                        what + in_words(error), hint="pass over it with --skip-message-on-error"
                    ) from None
                tell("console-consumer", what + in_words(error))
        sys.stdout.buffer.write(b"".join(shown))
        sys.stdout.buffer.flush()


async def _consume(settings: dict[str, str], options: argparse.Namespace, start: int, printing: "_Printing") -> None:
    from ottla.cli.consumer_notices import explained
    from ottla.clients import Consumer

    consumer: Consumer[bytes, bytes] = Consumer(settings)
    async with consumer:
        await _begin(consumer, options, start)
        timeout_ms = FOREVER_MS if options.timeout_ms is None or options.timeout_ms < 0 else options.timeout_ms
        limit = options.max_messages if options.max_messages is not None else -1
        async with explained(consumer) as read:

            def show(records: "Sequence[ConsumerRecord[bytes, bytes]]") -> None:
                printing.print(records)
                read.advance(len(records))

            await poll_until(consumer, limit, timeout_ms, lambda: printing.count, show)


async def _begin(consumer: "Consumer[bytes, bytes]", options: argparse.Namespace, start: int) -> None:
    from ottla.common.topic_partition import TopicPartition

    if options.include is not None:
        consumer.subscribe(pattern=options.include)
    elif options.partition is None:
        consumer.subscribe([options.topic])
    else:
        partition = TopicPartition(options.topic, options.partition)
        consumer.assign([partition])
        if start == _EARLIEST:
            await consumer.seek_to_beginning(partition)
        elif start == _LATEST:
            await consumer.seek_to_end(partition)
        else:
            consumer.seek(partition, start)


async def poll_until(
    consumer: "Consumer[bytes, bytes]",
    limit: int,
    timeout_ms: int,
    count: Callable[[], int],
    use: "Callable[[Sequence[ConsumerRecord[bytes, bytes]]], object]",
) -> None:
    """Use records until there were ``limit`` of them (-1: no limit), or none for ``timeout_ms``.

    What was polled beyond the limit is given back, so that it is not committed.
    """
    while limit == -1 or count() < limit:
        records = await consumer.poll(min(timeout_ms, _POLL_MS_MAX))
        if not records:
            if timeout_ms < _POLL_MS_MAX:
                return
            continue
        if limit == -1:
            use(records)
            continue
        wanted = limit - count()
        for record in reversed(records[wanted:]):
            consumer.seek(record.topic_partition, record.offset)
        use(records[:wanted])
