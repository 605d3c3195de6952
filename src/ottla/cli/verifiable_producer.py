"""``ottla verifiable-producer``: send increasing numbers and print what became of each, as Kafka's system tests want.

Events on standard output, one JSON document a line: startup_complete, producer_send_success, producer_send_error,
shutdown_complete, tool_data. SIGTERM or Ctrl-C end it cleanly.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from ottla.cli.arguments import command_parser
from ottla.cli.client_options import known_only, run_client
from ottla.cli.connection import read_properties
from ottla.cli.errors import UsageError
from ottla.cli.events import emit, java_class
from ottla.common.error_words import in_words

if TYPE_CHECKING:
    from ottla.cli.progress import Progress
    from ottla.cli.throttle import Throttle
    from ottla.clients import Delivery, Producer


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("verifiable-producer", __doc__)
    made.add_argument("--topic", required=True, help="where the numbers go")
    made.add_argument("--bootstrap-server", required=True, metavar="HOST:PORT,…", help="brokers to connect to")
    made.add_argument("--max-messages", type=int, default=-1, metavar="N", help="send so many; -1 for no end")
    made.add_argument(
        "--throughput", type=int, default=-1, metavar="N", help="at most so many a second; -1 for no limit"
    )
    made.add_argument("--acks", type=int, choices=(0, 1, -1), default=-1, help="the producer's acks")
    made.add_argument("--command-config", metavar="FILE", help="a properties file for the producer")
    made.add_argument("--producer.config", dest="old_config", metavar="FILE", help="the old name of --command-config")
    made.add_argument("--message-create-time", type=int, default=-1, metavar="MS", help="the first record's timestamp")
    made.add_argument("--value-prefix", type=int, metavar="N", help="values are N.0, N.1, …")
    made.add_argument("--repeating-keys", type=int, metavar="N", help="keys are 0 to N - 1, over and over")
    return made


def main(arguments: Sequence[str]) -> int:
    """Send, and print events; the exit code is 0 whatever became of the records, as with Kafka's tool."""
    from ottla.config.producer_keys import PRODUCER_CONFIG

    made = parser()
    if not arguments:
        made.print_help()
        return 0
    options = made.parse_args(arguments)
    settings = {"bootstrap.servers": options.bootstrap_server, "acks": str(options.acks), "retries": "0"}
    settings |= file_settings(options, "producer")
    return run_client(_produce(known_only(settings, PRODUCER_CONFIG), options))


def file_settings(options: argparse.Namespace, kind: str) -> dict[str, str]:
    """The properties of the file that the line names, by its new or its old option."""
    if options.command_config is not None and options.old_config is not None:
        raise UsageError(f"Options --{kind}.config and --command-config are mutually exclusive.")
    name = options.command_config if options.command_config is not None else options.old_config
    return read_properties(name) if name is not None else {}


async def _produce(settings: dict[str, str], options: argparse.Namespace) -> int:
    from ottla.cli.progress import counting
    from ottla.clients import Producer

    start = time.monotonic()
    sending = _Sending(options)
    try:
        async with Producer(settings) as producer:
            emit("startup_complete")
            with counting("sent", wanted=not sys.stdout.isatty()) as sent:
                await sending.run(producer, sent)
    finally:
        emit("shutdown_complete")
        rate = sending.acked / (time.monotonic() - start)
        emit(
            "tool_data",
            sent=sending.sent,
            acked=sending.acked,
            target_throughput=options.throughput,
            avg_throughput=rate,
        )
    return 0


class _Sending:
    """Sends numbers, counts what is sent and acknowledged."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._timestamp_ms = None if options.message_create_time == -1 else options.message_create_time
        self._start_ms = time.time_ns() // 1_000_000
        self.sent = 0
        self.acked = 0

    async def run(self, producer: "Producer", sent: "Progress") -> None:
        """Send until there were enough."""
        from ottla.cli.throttle import Throttle

        throttle = Throttle(self._options.throughput)
        numbers = count() if self._options.max_messages < 0 else range(self._options.max_messages)
        for number in numbers:
            await self._send(producer, number, throttle)
            sent.advance()

    async def _send(self, producer: "Producer", number: int, throttle: "Throttle") -> None:
        from ottla.common.errors import KafkaError

        options = self._options
        key = None if options.repeating_keys is None else str(number % options.repeating_keys)
        value = str(number) if options.value_prefix is None else f"{options.value_prefix}.{number}"
        self.sent += 1
        try:
            delivery = await producer.send(
                options.topic,
                value.encode(),
                key=None if key is None else key.encode(),
                timestamp_ms=self._next_timestamp(),
            )
            delivery.add_done_callback(partial(self._delivered, key, value))
        except KafkaError as error:
            self._failed(key, value, error)
        await throttle.after(number + 1)

    def _next_timestamp(self) -> int | None:
        timestamp_ms = self._timestamp_ms
        if timestamp_ms is not None:
            self._timestamp_ms = timestamp_ms + time.time_ns() // 1_000_000 - self._start_ms
        return timestamp_ms

    def _delivered(self, key: str | None, value: str, delivery: "Delivery") -> None:
        error = delivery.exception()
        if error is not None:
            self._failed(key, value, error)
            return
        self.acked += 1
        topic, partition, offset, *_ = delivery.result()
        emit("producer_send_success", key=key, value=value, offset=offset, topic=topic, partition=partition)

    def _failed(self, key: str | None, value: str, error: BaseException) -> None:
        emit(
            "producer_send_error",
            topic=self._options.topic,
            key=key,
            value=value,
            exception=java_class(error),
            message=in_words(error),
        )
