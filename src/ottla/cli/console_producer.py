"""``ottla console-producer``: send the lines of standard input to a topic, as kafka-console-producer.sh.

A line is a value. With --reader-property (key=value, several times) it can be more, and is then read as
  parse.headers=true parse.key=true   h1:v1,h2:v2<TAB>key<TAB>value
with key.separator, headers.delimiter (tabs), headers.separator (a comma), headers.key.separator (a colon) in between;
null.marker=TEXT stands for null; ignore.error=true takes lines without separators for values.
Unlike Kafka's, the command fails (exit code 1) if a record was not delivered, with and without --sync.
With --json: one JSON document a delivered record, on a line: {"topic", "partition", "offset", "timestamp"}.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ottla.cli.arguments import command_parser, require
from ottla.cli.client_options import add_client, client_settings, either, key_values, known_only, merge, run_client
from ottla.cli.connection import read_properties
from ottla.cli.errors import CommandError, tell
from ottla.common.error_words import in_words

if TYPE_CHECKING:
    from ottla.cli.line_reader import LineReader
    from ottla.clients import Delivery

LINE_READER: Final = "org.apache.kafka.tools.LineMessageReader"
SETTINGS: Final[dict[str, tuple[str, object]]] = {
    "linger.ms": ("timeout", 1000),
    "acks": ("request-required-acks", -1),
    "request.timeout.ms": ("request-timeout-ms", 1500),
    "retries": ("message-send-max-retries", 3),
    "retry.backoff.ms": ("retry-backoff-ms", 100),
    "send.buffer.bytes": ("socket-buffer-size", 100 * 1024),
    "buffer.memory": ("max-memory-bytes", 32 * 1024 * 1024),
    "batch.size": ("batch-size", 16 * 1024),
    "metadata.max.age.ms": ("metadata-expiry-ms", 5 * 60 * 1000),
    "max.block.ms": ("max-block-ms", 60 * 1000),
}
"""The option and the default of settings that have an option."""
_TOLD_MAX: Final = 10
"""So many failed records are told one by one; the rest is counted."""


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("console-producer", __doc__, json=False)
    made.add_argument("--json", action="store_true", help="print where each record went")
    made.add_argument("--topic", help="where the lines go")
    add_client(made, "producer")
    made.add_argument("--sync", action="store_true", help="wait for each record before the next is sent")
    made.add_argument(
        "--compression-codec", nargs="?", const="gzip", default="none", help="none, gzip (without a value), snappy, …"
    )
    for key, (name, default) in SETTINGS.items():
        kind = str if key == "acks" else int
        made.add_argument(f"--{name}", type=kind, metavar="N", help=f"the producer's {key}; {default} unless given")
    made.add_argument("--max-partition-memory-bytes", type=int, metavar="N", help="the old name of --batch-size")
    made.add_argument("--line-reader", default=LINE_READER, metavar="CLASS", help="there is only Kafka's own")
    made.add_argument("--reader-property", action="append", metavar="KEY=VALUE", help="how lines are read; see above")
    made.add_argument("--property", action="append", metavar="KEY=VALUE", help="the old name of --reader-property")
    made.add_argument("--reader-config", metavar="FILE", help="a properties file that says how lines are read")
    return made


def main(arguments: Sequence[str]) -> int:
    """Send the lines; the exit code is 1 if one of them was not delivered."""
    from ottla.cli.line_reader import LineReader
    from ottla.config.producer_keys import PRODUCER_CONFIG

    options = parser().parse_args(arguments)
    require(options, "topic")
    if options.line_reader != LINE_READER:
        raise CommandError(f"There is no line reader {options.line_reader} here", hint=f"it is {LINE_READER}")
    settings = client_settings(options, "producer")
    settings["compression.type"] = options.compression_codec
    settings.setdefault("client.id", "console-producer")
    merge(settings, options, SETTINGS)
    merge(settings, options, {"batch.size": ("max-partition-memory-bytes", None)})
    properties = read_properties(options.reader_config) if options.reader_config is not None else {}
    properties |= key_values(either(options, "reader-property", "property", "property") or ())
    reader = LineReader(properties)
    return run_client(_produce(known_only(settings, PRODUCER_CONFIG), reader, options))


async def _produce(settings: dict[str, str], reader: "LineReader", options: argparse.Namespace) -> int:
    from ottla.cli.input_chunks import delimited, input_chunks
    from ottla.cli.progress import counting
    from ottla.clients import Producer

    outcomes = _Outcomes(options.json)
    shows_records = options.json and sys.stdout.isatty()
    async with Producer(settings) as producer:
        with counting("sent", wanted=not os.isatty(0) and not shows_records) as sent:
            _prompt()
            async for lines in delimited(input_chunks(), b"\n"):
                for line in lines:
                    key, value, headers = reader.read(line)
                    delivery = await producer.send(options.topic, value, key=key, headers=headers)
                    delivery.add_done_callback(outcomes.add)
                    sent.advance()
                    if options.sync:
                        await delivery
                _prompt()
    return outcomes.exit_code()


def _prompt() -> None:
    if os.isatty(0) and sys.stdout.isatty():
        sys.stdout.write(">")
        sys.stdout.flush()


class _Outcomes:
    """Counts deliveries, and tells of those that failed as they fail."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._failed = 0

    def add(self, delivery: "Delivery") -> None:
        error = delivery.exception()
        if error is not None:
            self._failed += 1
            if self._failed <= _TOLD_MAX:
                tell("console-producer", f"A record was not delivered: {in_words(error)}")
        elif self._as_json:
            topic, partition, offset, timestamp_ms, *_ = delivery.result()
            document = {"topic": topic, "partition": partition, "offset": offset, "timestamp": timestamp_ms}
            sys.stdout.write(json.dumps(document) + "\n")

    def exit_code(self) -> int:
        if self._failed > _TOLD_MAX:
            tell("console-producer", f"{self._failed} records in all were not delivered")
        return 1 if self._failed else 0
