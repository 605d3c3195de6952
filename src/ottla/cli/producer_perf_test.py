"""``ottla producer-perf-test``: measure how fast a topic takes records, as kafka-producer-perf-test.sh.

Give one of --record-size, --payload-file and --payload-monotonic. --transactional-id or --transaction-duration-ms send
in transactions; --batch-records N sends N at a time with send_batch, a way of Ottla's. Unlike Kafka's, the exit code is
1 if records were not delivered.
With --json: one JSON document a report, on a line; the last one is that of the whole run.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from ottla.cli.arguments import command_parser
from ottla.cli.client_options import key_values, known_only, run_client
from ottla.cli.connection import read_properties
from ottla.cli.errors import CommandError, UsageError, tell
from ottla.cli.perf_stats import LatencyStats, metric_lines, total_line, window_line
from ottla.common.error_words import in_words

if TYPE_CHECKING:
    from ottla.clients import Delivery, Producer
    from ottla.clients.producer.batch_delivery import BatchDelivery

CLIENT_ID: Final = "perf-producer-client"
_TRANSACTION_MS: Final = 3000
_TOLD_MAX: Final = 10
_VARIETY: Final = 1024
"""So many different payloads are made: making each one anew would be measured as well."""


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("producer-perf-test", __doc__, json=False)
    made.add_argument("--json", action="store_true", help="print each report as a JSON document on a line")
    made.add_argument("--bootstrap-server", metavar="HOST:PORT,…", help="brokers to connect to")
    made.add_argument("--topic", required=True, help="where the records go")
    made.add_argument("--num-records", type=int, required=True, metavar="N", help="how many")
    payload = made.add_mutually_exclusive_group(required=True)
    payload.add_argument("--record-size", type=int, metavar="BYTES", help="send random letters, so many")
    payload.add_argument("--payload-file", metavar="FILE", help="send pieces of a text file, chosen at random")
    payload.add_argument("--payload-monotonic", action="store_true", help="send 0, 1, 2, …")
    made.add_argument("--payload-delimiter", default="\\n", metavar="TEXT", help="what parts the file; a new line")
    made.add_argument(
        "--throughput", type=float, required=True, metavar="N", help="at most so many a second; -1: no limit"
    )
    made.add_argument("--command-property", nargs="+", metavar="KEY=VALUE", help="properties of the producer")
    made.add_argument("--producer-props", nargs="+", metavar="KEY=VALUE", help="the old name of --command-property")
    made.add_argument("--command-config", metavar="FILE", help="a properties file for the producer")
    made.add_argument("--producer.config", dest="old_config", metavar="FILE", help="the old name of --command-config")
    made.add_argument("--print-metrics", action="store_true", help="print the producer's metrics at the end")
    made.add_argument("--transactional-id", metavar="ID", help="send in transactions, under this id")
    made.add_argument("--transaction-duration-ms", type=int, metavar="MS", help="how long a transaction is; 3000")
    made.add_argument(
        "--warmup-records", type=int, default=0, metavar="N", help="leave so many out of a second summary"
    )
    made.add_argument("--batch-records", type=int, metavar="N", help="send so many at a time, with send_batch")
    made.add_argument("--reporting-interval", type=int, default=5000, metavar="MS", help="how often to report; 5000")
    return made


def main(arguments: Sequence[str]) -> int:
    """Send and report; the exit code is 1 if records were not delivered."""
    from ottla.config.producer_keys import PRODUCER_CONFIG

    made = parser()
    if not arguments:
        made.print_help()
        return 0
    options = made.parse_args(arguments)
    _check(options)
    settings = producer_settings(options)
    return run_client(_Test(options, payloads(options)).run(known_only(settings, PRODUCER_CONFIG)))


def _check(options: argparse.Namespace) -> None:
    given = (options.command_property, options.producer_props, options.command_config, options.old_config)
    refusals = {
        "--num-records should be greater than zero.": options.num_records <= 0,
        "The value for --warmup-records must be strictly fewer than the number of records in the test, "
        "--num-records.": options.warmup_records >= options.num_records,
        "--record-size should be greater than zero.": options.record_size is not None and options.record_size <= 0,
        "At least one of --bootstrap-server, --command-property, --producer-props, --producer.config or "
        "--command-config must be specified.": options.bootstrap_server is None and not any(given),
        "--command-property and --producer-props cannot be specified together.": all(given[:2]),
        "--command-config and --producer.config cannot be specified together.": all(given[2:]),
        "--transaction-duration-ms should be greater than zero.": options.transaction_duration_ms is not None
        and options.transaction_duration_ms <= 0,
        "--reporting-interval should be greater than zero.": options.reporting_interval <= 0,
        "--batch-records should be greater than zero, and goes without transactions and warm-up.": options.batch_records
        is not None
        and (
            options.batch_records <= 0
            or options.warmup_records > 0
            or options.transactional_id is not None
            or options.transaction_duration_ms is not None
        ),
    }
    for message, is_wrong in refusals.items():
        if is_wrong:
            raise UsageError(message)


def producer_settings(options: argparse.Namespace) -> dict[str, str]:
    """The producer's properties, with a transactional id if the line wants transactions."""
    name = options.command_config or options.old_config
    settings = read_properties(name) if name is not None else {}
    pairs = options.command_property or options.producer_props or ()
    for pair in pairs:
        if pair.count("=") != 1:
            raise UsageError(f"Invalid property: {pair}")
    settings |= key_values(pairs)
    settings.setdefault("client.id", CLIENT_ID)
    if options.bootstrap_server is not None:
        settings["bootstrap.servers"] = options.bootstrap_server
    if options.transactional_id is not None:
        settings["transactional.id"] = options.transactional_id
    elif options.transaction_duration_ms is not None and "transactional.id" not in settings:
        from uuid import uuid4

        settings["transactional.id"] = f"performance-producer-{uuid4()}"
    return settings


def payloads(options: argparse.Namespace) -> Callable[[int], bytes]:
    """The value of the record with a number."""
    if options.payload_monotonic:
        return lambda number: str(number).encode()
    from random import Random

    rng = Random(0)
    if options.payload_file is not None:
        pieces = _pieces(options.payload_file, options.payload_delimiter)
        return lambda _number: rng.choice(pieces)
    made = [bytes(rng.choices(range(65, 91), k=options.record_size)) for _ in range(min(_VARIETY, options.num_records))]
    return lambda number: made[number % len(made)]


def _pieces(name: str, delimiter: str) -> list[bytes]:
    from pathlib import Path

    path = Path(name)
    sys.stdout.write(f"Reading payloads from: {path.absolute()}\n")
    if not path.exists() or not path.stat().st_size:
        raise CommandError("File does not exist or empty file provided.")
    pieces = path.read_bytes().split((delimiter.replace("\\n", "\n")).encode())
    if not pieces[-1]:
        del pieces[-1]
    sys.stdout.write(f"Number of records read: {len(pieces)}\n")
    return pieces


class _Test:
    """One run: sends, and reports now and then."""

    def __init__(self, options: argparse.Namespace, payload: Callable[[int], bytes]) -> None:
        self._options = options
        self._payload = payload
        self._stats = LatencyStats(options.num_records, _now_ms())
        self._steady: LatencyStats | None = None
        self._failed = 0

    async def run(self, settings: dict[str, str]) -> int:
        """Send all, or until a signal to stop comes, and print what was measured."""
        import asyncio

        from ottla.clients import Producer

        options = self._options
        if options.warmup_records > 0 and not options.json:
            sys.stdout.write(
                f"Warmup first {options.warmup_records} records. Steady state results will print after the complete "
                "test summary.\n"
            )
        transactional = "transactional.id" in settings
        stop: asyncio.CancelledError | None = None
        async with Producer(settings) as producer:
            if transactional:
                await producer.init_transactions()
            self._stats = LatencyStats(options.num_records, _now_ms())
            try:
                if options.batch_records is None:
                    await self._send_all(producer, transactional)
                else:
                    await self._send_batches(producer)
            except asyncio.CancelledError as asked:  # what was sent until then is measured, and told
                stop = asked
            await producer.flush()
            metrics = producer.metrics()
        for stats in filter(None, (self._stats, self._steady)):
            figures = stats.total(_now_ms())
            _print(figures if options.json else total_line(figures))
        if options.print_metrics:
            lines = metric_lines(metrics, "producer-metrics", settings["client.id"])
            sys.stdout.writelines(f"{line}\n" for line in lines)
        if self._failed > _TOLD_MAX:
            tell("producer-perf-test", f"{self._failed} records in all were not delivered")
        if stop is not None:
            raise stop
        return 1 if self._failed else 0

    async def _send_all(self, producer: "Producer", transactional: bool) -> None:
        from ottla.cli.throttle import Throttle
        from ottla.common.errors import KafkaError

        options = self._options
        throttle = Throttle(options.throughput)
        duration_ms = options.transaction_duration_ms or _TRANSACTION_MS
        in_transaction, began_ms = False, 0.0
        for number in self._numbers():
            value = self._payload(number)
            sent_ms = _now_ms()
            if transactional and not in_transaction:
                producer.begin_transaction()
                in_transaction, began_ms = True, sent_ms
            try:
                delivery = await producer.send(options.topic, value)
                delivery.add_done_callback(partial(self._delivered, sent_ms, len(value), self._steady))
            except KafkaError as error:
                self._tell(error)
            if in_transaction and sent_ms - began_ms >= duration_ms:
                await producer.commit_transaction()
                in_transaction = False
            await throttle.after(number + 1)
        if in_transaction:
            await producer.commit_transaction()

    async def _send_batches(self, producer: "Producer") -> None:
        import asyncio

        from ottla.cli.throttle import Throttle

        options = self._options
        throttle = Throttle(options.throughput)
        under_way: set[asyncio.Task[None]] = set()  # as many as buffer.memory lets in
        numbers = iter(self._numbers())
        while values := [self._payload(number) for number in islice(numbers, options.batch_records)]:
            sent_ms = _now_ms()
            delivery = await producer.send_batch(options.topic, values)
            task = asyncio.ensure_future(self._settle(delivery, sent_ms, sum(map(len, values)), self._steady))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
            await throttle.after(self._stats.count + len(values))
        await asyncio.gather(*under_way)

    async def _settle(
        self, delivery: "BatchDelivery", sent_ms: float, size_bytes: int, steady: LatencyStats | None
    ) -> None:
        await delivery.settled()
        failures = delivery.failures()
        for error, rows in failures:
            self._tell(error, len(rows))
        if not failures:
            self._record(_now_ms(), sent_ms, size_bytes, steady, delivery.count)

    def _numbers(self) -> Iterator[int]:
        for number in range(self._options.num_records):
            if number and number == self._options.warmup_records:
                self._steady = LatencyStats(self._options.num_records - number, _now_ms(), steady=True)
            yield number

    def _delivered(self, sent_ms: float, size_bytes: int, steady: LatencyStats | None, delivery: "Delivery") -> None:
        """``steady`` is what counts records that were sent after the warm-up."""
        error = delivery.exception()
        if error is not None:
            self._tell(error)
            return
        self._record(_now_ms(), sent_ms, size_bytes, steady)

    def _record(
        self, now_ms: float, sent_ms: float, size_bytes: int, steady: LatencyStats | None, count: int = 1
    ) -> None:
        latency_ms = int(now_ms - sent_ms)
        self._stats.record(latency_ms, size_bytes, count)
        if steady is not None:
            steady.record(latency_ms, size_bytes, count)
        shown = steady or self._stats
        if now_ms - shown.window_start_ms >= self._options.reporting_interval:
            figures = shown.window(now_ms)
            _print(figures if self._options.json else window_line(figures))

    def _tell(self, error: BaseException, count: int = 1) -> None:
        self._failed += count
        if self._failed <= _TOLD_MAX:
            tell("producer-perf-test", f"A record was not delivered: {in_words(error)}")


def _print(report: str | dict[str, Any]) -> None:
    sys.stdout.write((report if isinstance(report, str) else json.dumps(report)) + "\n")
    sys.stdout.flush()


def _now_ms() -> float:
    return time.monotonic() * 1000
