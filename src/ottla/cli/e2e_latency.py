"""``ottla e2e-latency``: measure how long a record takes from a producer to a consumer, as kafka-e2e-latency.sh.

Records are sent and read one after the other; the topic is made if it is missing, and nobody else should write to it.
With --json: one JSON document with the average, the percentiles and the maximum.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ottla.cli.arguments import command_parser, require
from ottla.cli.client_options import known_only, run_client
from ottla.cli.connection import read_properties
from ottla.cli.errors import CommandError, UsageError
from ottla.cli.output import Output

if TYPE_CHECKING:
    from random import Random

    from ottla.clients import Consumer, ConsumerRecord, Producer

_POLL_MS: Final = 60_000
_REQUIRED: Final = ("bootstrap-server", "topic", "num-records", "producer-acks", "record-size")
_AT_LEAST: Final = {
    "num-records": (1, "a positive integer."),
    "record-size": (0, "a non-negative integer."),
    "record-key-size": (0, "a non-negative integer."),
    "record-header-key-size": (0, "a non-negative integer."),
    "record-header-size": (-1, "a non-negative integer or -1 for null header value."),
    "num-headers": (0, "a non-negative integer."),
}

Message = tuple[bytes, bytes, list[tuple[str, bytes | None]]]
"""Key, value and headers."""


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("e2e-latency", __doc__)
    made.add_argument("--bootstrap-server", metavar="HOST:PORT,…", help="brokers to connect to")
    made.add_argument("--topic", help="the topic to write to and read from")
    made.add_argument("--num-records", type=int, metavar="N", help="how many records to send")
    made.add_argument("--producer-acks", metavar="ACKS", help="1 or all")
    made.add_argument("--record-size", type=int, metavar="BYTES", help="the size of a value")
    made.add_argument("--record-key-size", type=int, default=0, metavar="BYTES", help="the size of a key; 0")
    made.add_argument("--num-headers", type=int, default=0, metavar="N", help="how many headers a record has; 0")
    made.add_argument("--record-header-key-size", type=int, default=0, metavar="BYTES", help="the size of their keys")
    made.add_argument("--record-header-size", type=int, default=0, metavar="BYTES", help="of their values; -1 for null")
    made.add_argument("--command-config", metavar="FILE", help="a properties file for the clients")
    return made


def main(arguments: Sequence[str]) -> int:
    """Measure, and print the average and the percentiles."""
    options = parser().parse_args(named_arguments(arguments))
    require(options, *_REQUIRED)
    if options.producer_acks not in ("1", "all"):
        raise UsageError(
            "Invalid value for --producer-acks. Latency testing requires synchronous acknowledgement. Please use '1' "
            "or 'all'."
        )
    for name, (least, what) in _AT_LEAST.items():
        if getattr(options, name.replace("-", "_")) < least:
            raise UsageError(f"Value for --{name} must be {what}")
    settings = read_properties(options.command_config) if options.command_config is not None else {}
    settings["bootstrap.servers"] = options.bootstrap_server
    return run_client(_measure(settings, options))


def named_arguments(arguments: Sequence[str]) -> list[str]:
    """The line with names before its values; five or six values without names are the old form."""
    if not arguments or any(argument.startswith("-") for argument in arguments):
        return list(arguments)
    if len(arguments) not in (len(_REQUIRED), len(_REQUIRED) + 1):
        raise UsageError(
            f"Invalid number of arguments. Expected 5 or 6 positional arguments, but got {len(arguments)}. Usage: "
            "bootstrap-server topic num-records producer-acks record-size [optional] command-config"
        )
    sys.stderr.write(
        "WARNING: Positional argument usage is deprecated and will be removed in Apache Kafka 5.0. Please use named "
        "arguments instead: --bootstrap-server, --topic, --num-records, --producer-acks, --record-size, "
        "--command-config\n"
    )
    return [
        each
        for name, value in zip((*_REQUIRED, "command-config"), arguments, strict=False)
        for each in (f"--{name}", value)
    ]


async def _measure(settings: dict[str, str], options: argparse.Namespace) -> int:
    from random import Random

    from ottla.clients import Consumer, Producer, TopicPartition
    from ottla.config.consumer_keys import CONSUMER_CONFIG
    from ottla.config.producer_keys import PRODUCER_CONFIG

    output = Output.of(options)
    await _ensure_topic(settings, options.topic, output)
    reading = {"enable.auto.commit": "false", "auto.offset.reset": "latest", "fetch.max.wait.ms": "0"}
    reading["group.id"] = f"test-group-{time.time_ns() // 1_000_000}"
    sending = {"linger.ms": "0", "acks": options.producer_acks}
    consumer: Consumer[bytes, bytes] = Consumer(known_only(settings | reading, CONSUMER_CONFIG))
    rng = Random(0)
    elapsed: list[int] = []
    async with consumer, Producer(known_only(settings | sending, PRODUCER_CONFIG)) as producer:
        partitions = [
            TopicPartition(options.topic, each.partition) for each in await consumer.partitions_for(options.topic)
        ]
        consumer.assign(partitions)
        await consumer.seek_to_end(*partitions)
        for partition in partitions:
            await consumer.position(partition)
        for number in range(options.num_records):
            took_ns = await _one(producer, consumer, options.topic, _message(rng, options))
            if number % 1000 == 0:
                output.note(f"{number}\t{took_ns / 1_000_000}")
            elapsed.append(took_ns)
        await consumer.commit()
    average_ms = sum(elapsed) / len(elapsed) / 1_000_000
    ordered = sorted(took // 1_000_000 for took in elapsed)
    shares = {
        name: ordered[int(len(ordered) * share)] for name, share in (("50th", 0.5), ("99th", 0.99), ("99.9th", 0.999))
    }
    output.show(
        {"avg_ms": average_ms, "percentiles_ms": shares, "max_ms": max(elapsed) / 1_000_000},
        [
            f"Avg latency: {average_ms:.4f} ms",
            "Percentiles: " + ", ".join(f"{name} = {latency}" for name, latency in shares.items()),
        ],
    )
    return 0


async def _ensure_topic(settings: dict[str, str], topic: str, output: Output) -> None:
    from ottla.clients import Admin
    from ottla.clients.admin import NewTopic
    from ottla.config.admin_keys import ADMIN_CONFIG

    async with Admin({key: value for key, value in settings.items() if key in ADMIN_CONFIG}) as admin:
        if topic not in await admin.list_topics():
            output.note(
                f'Topic "{topic}" does not exist. Will create topic with 1 partition(s) and replication factor = 1'
            )
            await admin.create_topics([NewTopic(topic, num_partitions=1, replication_factor=1)])


async def _one(producer: "Producer", consumer: "Consumer[bytes, bytes]", topic: str, message: Message) -> int:
    key, value, headers = message
    begin = time.perf_counter_ns()
    await producer.send_and_wait(topic, value, key=key, headers=headers)
    records = await consumer.poll(_POLL_MS)
    took_ns = time.perf_counter_ns() - begin
    _check(message, records)
    return took_ns


def _check(message: Message, records: "Sequence[ConsumerRecord[bytes, bytes]]") -> None:
    key, value, headers = message
    if not records:
        raise CommandError(f"poll() timed out before finding a result (timeout:[{_POLL_MS}ms])")
    if len(records) != 1:
        raise CommandError(
            f"Only one result was expected during this test. We found [{len(records)}]",
            hint="nobody else may write to it",
        )
    record = records[0]
    if (record.key, record.value, [tuple(header) for header in record.headers]) != (key, value, headers):
        raise CommandError("The message read did not match the message sent", hint="nobody else may write to it")


def _message(rng: "Random", options: argparse.Namespace) -> Message:
    def letters(size: int) -> bytes:
        return bytes([rng.randrange(65, 91)]) * size

    headers = [
        (
            letters(options.record_header_key_size).decode(),
            None if options.record_header_size < 0 else letters(options.record_header_size),
        )
        for _ in range(options.num_headers)
    ]
    return letters(options.record_key_size), letters(options.record_size), headers
