"""``ottla consumer-perf-test``: measure how fast topics are read, as kafka-consumer-perf-test.sh.

--arrow reads Arrow batches (a way of Ottla's that makes no Python object a record).
With --json: one JSON document a report, on a line.
"""

import argparse
import json
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ottla.cli.arguments import command_parser, given, require
from ottla.cli.client_options import either, key_values, known_only, run_client
from ottla.cli.connection import read_properties
from ottla.cli.errors import UsageError
from ottla.cli.perf_stats import java_date, metric_lines

if TYPE_CHECKING:
    from ottla.cli.progress import Progress
    from ottla.clients import Consumer, TopicPartition

CLIENT_ID: Final = "perf-consumer-client"
HEADER: Final = (
    "data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, fetch.MB.sec, "
    "fetch.nMsg.sec"
)
_POLL_MS: Final = 100
_MB: Final = 1024 * 1024


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("consumer-perf-test", __doc__, json=False)
    made.add_argument("--json", action="store_true", help="print each report as a JSON document on a line")
    made.add_argument("--bootstrap-server", metavar="HOST:PORT,…", help="brokers to connect to")
    made.add_argument("--topic", help="the topic to read")
    made.add_argument("--include", metavar="REGEX", help="read all topics whose names match")
    made.add_argument("--num-records", type=int, metavar="N", help="how many records to read")
    made.add_argument("--messages", type=int, metavar="N", help="the old name of --num-records")
    made.add_argument("--group", metavar="ID", help="the group to read as; else one of its own")
    made.add_argument("--fetch-size", type=int, default=_MB, metavar="BYTES", help="max.partition.fetch.bytes; 1 MiB")
    made.add_argument("--from-latest", action="store_true", help="begin at the end where nothing is committed")
    made.add_argument("--socket-buffer-size", type=int, default=2 * _MB, metavar="BYTES", help="receive.buffer.bytes")
    made.add_argument("--command-property", action="append", metavar="KEY=VALUE", help="a property of the consumer")
    made.add_argument("--command-config", metavar="FILE", help="a properties file for the consumer")
    made.add_argument("--consumer.config", dest="old_config", metavar="FILE", help="the old name of --command-config")
    made.add_argument("--print-metrics", action="store_true", help="print the consumer's metrics at the end")
    made.add_argument("--show-detailed-stats", action="store_true", help="report now and then instead of at the end")
    made.add_argument("--timeout", type=int, nargs="?", const=10_000, default=10_000, metavar="MS", help="10000")
    made.add_argument("--reporting-interval", type=int, default=5000, metavar="MS", help="how often to report; 5000")
    made.add_argument("--date-format", default="yyyy-MM-dd HH:mm:ss:SSS", metavar="PATTERN", help="of SimpleDateFormat")
    made.add_argument("--hide-header", action="store_true", help="print no heading")
    made.add_argument("--arrow", action="store_true", help="read Arrow batches")
    return made


def main(arguments: Sequence[str]) -> int:
    """Read and report; the exit code is 0 even if there were fewer records, as with Kafka's tool."""
    from ottla.config.consumer_keys import CONSUMER_CONFIG

    options = parser().parse_args(arguments)
    require(options, "bootstrap-server")
    for one, other in (("topic", "include"), ("messages", "num-records")):
        if given(options, one) == given(options, other):
            raise UsageError(f"Exactly one of the following arguments is required: [{one}], [{other}]")
    if options.reporting_interval <= 0:
        raise UsageError("Reporting interval must be greater than 0.")
    settings = consumer_settings(options)
    return run_client(_Test(options).run(known_only(settings, CONSUMER_CONFIG)))


def consumer_settings(options: argparse.Namespace) -> dict[str, str]:
    """The consumer's properties."""
    from random import randrange

    name = either(options, "command-config", "consumer.config", "old_config")
    settings = read_properties(name) if name is not None else {}
    settings |= key_values(options.command_property or ())
    settings.setdefault("client.id", CLIENT_ID)
    group = options.group if options.group is not None else f"perf-consumer-{randrange(100_000)}"
    return settings | {
        "bootstrap.servers": options.bootstrap_server,
        "group.id": group,
        "receive.buffer.bytes": str(options.socket_buffer_size),
        "max.partition.fetch.bytes": str(options.fetch_size),
        "auto.offset.reset": "latest" if options.from_latest else "earliest",
        "check.crcs": "false",
    }


class _Test:
    """One run: reads, and reports."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._wanted = options.num_records if options.num_records is not None else options.messages
        self._records = 0
        self._bytes = 0
        self._joining = _JoinTimes(_now_ms())
        self._reported = (0, 0, _now_ms())
        """Records, bytes and the time of the last report."""

    async def run(self, settings: dict[str, str]) -> int:
        """Read all, or until a signal to stop comes, and print what was measured."""
        import asyncio

        from ottla.cli.consumer_notices import explained
        from ottla.clients import Consumer

        options = self._options
        if not options.hide_header and not options.json:
            first = "time, threadId, " if options.show_detailed_stats else "start.time, end.time, "
            _print(first + HEADER)
        consumer: Consumer[bytes, bytes] = Consumer(settings)
        stop: asyncio.CancelledError | None = None
        start_ms = _now_ms()
        self._joining = _JoinTimes(start_ms)
        async with consumer:
            if options.include is not None:
                consumer.subscribe(pattern=options.include, listener=self._joining)
            else:
                consumer.subscribe([options.topic], listener=self._joining)
            try:
                async with explained(consumer, counts=not options.show_detailed_stats) as shown:
                    await (self._read_arrow(consumer, shown) if options.arrow else self._read(consumer, shown))
            except asyncio.CancelledError as asked:  # what was read until then is measured, and told
                stop = asked
            end_ms = _now_ms()
            metrics: Mapping[str, float] = consumer.metrics()
        if self._records < self._wanted and stop is None:
            _note(
                f"WARNING: Exiting before consuming the expected number of records: timeout ({options.timeout} ms) "
                "exceeded. You can use the --timeout option to increase the timeout.",
                as_json=options.json,
            )
        if not options.show_detailed_stats:
            self._print_total(start_ms, end_ms)
        if options.print_metrics:
            for line in metric_lines(metrics, "consumer-metrics", settings["client.id"]):
                _print(line)
        if stop is not None:
            raise stop
        return 0

    async def _read(self, consumer: "Consumer[bytes, bytes]", shown: "Progress") -> None:
        last_ms = _now_ms()
        self._reported = (0, 0, last_ms)
        while self._records < self._wanted and _now_ms() - last_ms <= self._options.timeout:
            records = await consumer.poll(_POLL_MS)
            if not records:
                continue
            last_ms = _now_ms()
            self._records += len(records)
            shown.advance(len(records))
            self._bytes += sum(
                (0 if record.key is None else len(record.key)) + (0 if record.value is None else len(record.value))
                for record in records
            )
            self._maybe_report(last_ms)

    async def _read_arrow(self, consumer: "Consumer[bytes, bytes]", shown: "Progress") -> None:
        import asyncio

        from ottla.common.extras import needs

        with needs("fast", "--arrow"):
            from pyarrow import compute

        self._reported = (0, 0, _now_ms())
        batches = consumer.arrow().__aiter__()
        while self._records < self._wanted:
            try:
                batch = await asyncio.wait_for(batches.__anext__(), self._options.timeout / 1000)
            except TimeoutError:
                return
            self._records += batch.num_rows
            shown.advance(batch.num_rows)
            for name in ("key", "value"):
                self._bytes += compute.sum(compute.binary_length(batch.column(name))).as_py() or 0
            self._maybe_report(_now_ms())

    def _maybe_report(self, now_ms: int) -> None:
        records, size, then_ms = self._reported
        if now_ms - then_ms < self._options.reporting_interval:
            return
        if self._options.show_detailed_stats:
            join_ms = self._joining.take_round()
            rates = _rates(self._records - records, self._bytes - size, now_ms - then_ms, join_ms)
            if self._options.json:
                _print(json.dumps({"time": now_ms, "records": self._records, "mb": self._bytes / _MB, **rates}))
            else:
                when = java_date(self._options.date_format, now_ms)
                _print(f"{when}, 0, {_figures(self._bytes, self._records, rates)}")
        self._reported = (self._records, self._bytes, now_ms)

    def _print_total(self, start_ms: int, end_ms: int) -> None:
        rates = _rates(self._records, self._bytes, end_ms - start_ms, self._joining.total_ms)
        if self._options.json:
            document = {"start": start_ms, "end": end_ms, "records": self._records, "mb": self._bytes / _MB, **rates}
            _print(json.dumps(document))
            return
        start, end = (java_date(self._options.date_format, time_ms) for time_ms in (start_ms, end_ms))
        _print(f"{start}, {end}, {_figures(self._bytes, self._records, rates)}")


def _rates(records: int, size_bytes: int, elapsed_ms: int, join_ms: int) -> dict[str, Any]:
    elapsed_s = max(elapsed_ms, 1) / 1000
    fetch_ms = elapsed_ms - join_ms
    fetch_s = max(fetch_ms, 1) / 1000
    return {
        "mb_per_sec": size_bytes / _MB / elapsed_s,
        "records_per_sec": records / elapsed_s,
        "rebalance_ms": join_ms,
        "fetch_ms": fetch_ms,
        "fetch_mb_per_sec": size_bytes / _MB / fetch_s,
        "fetch_records_per_sec": records / fetch_s,
    }


def _figures(size_bytes: int, records: int, rates: Mapping[str, Any]) -> str:
    return (
        f"{size_bytes / _MB:.4f}, {rates['mb_per_sec']:.4f}, {records}, {rates['records_per_sec']:.4f}, "
        f"{rates['rebalance_ms']}, {rates['fetch_ms']}, {rates['fetch_mb_per_sec']:.4f}, "
        f"{rates['fetch_records_per_sec']:.4f}"
    )


class _JoinTimes:
    """How long the consumer had no partitions."""

    def __init__(self, now_ms: int) -> None:
        self._since_ms = now_ms
        self._owned: set[TopicPartition] = set()
        self._round_ms = 0
        self.total_ms = 0

    def on_partitions_assigned(self, partitions: "Collection[TopicPartition]") -> None:
        """Partitions have come."""
        if not self._owned:
            elapsed_ms = _now_ms() - self._since_ms
            self.total_ms += elapsed_ms
            self._round_ms += elapsed_ms
        self._owned |= set(partitions)

    def on_partitions_revoked(self, partitions: "Collection[TopicPartition]") -> None:
        """Partitions go."""
        self._owned -= set(partitions)
        if not self._owned:
            self._since_ms = _now_ms()

    def take_round(self) -> int:
        """The time since this was asked last."""
        taken, self._round_ms = self._round_ms, 0
        return taken


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _note(line: str, *, as_json: bool) -> None:
    (sys.stderr if as_json else sys.stdout).write(f"{line}\n")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
