"""``ottla server [FILE] [--override k=v …]``: run a node until it is told to stop.

FILE is a server.properties, as Apache Kafka's. Without one the node has Apache's defaults, its data in ``ottla-data``
below the current directory, formatted at the first start, and listens on localhost:9092 (controller: 9093).
"""

import argparse
import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, NoReturn

from ottla.cli.arguments import command_parser
from ottla.cli.errors import message_of, tell
from ottla.common.errors import KafkaError
from ottla.config.kafka_config import KafkaConfig
from ottla.config.properties import parse
from ottla.raft.errors import FormatterError
from ottla.runtime.live import AsyncioRuntime
from ottla.server.node import Node, raise_open_files_limit
from ottla.server.storage import format_if_new

logger = logging.getLogger(__name__)

_GC_THRESHOLD: Final = 10_000
_DEMO_PATIENCE_S: Final = 60
DEFAULT_DATA_DIRECTORY: Final = "ottla-data"
DEFAULTS: Final[Mapping[str, str]] = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.bootstrap.servers": "localhost:9093",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}
HINTS: Final = """\
  produce   echo hello | kcat -b {address} -t demo -P
            kafka-console-producer.sh --bootstrap-server {address} --topic demo
  consume   kcat -b {address} -t demo -C
            kafka-console-consumer.sh --bootstrap-server {address} --topic demo --partition 0 --offset earliest
  Python    confluent_kafka.Producer({{"bootstrap.servers": "{address}"}}), aiokafka, kafka-python: any client
  stop      Ctrl-C; the data stays in {directory}"""
"""What to do with a node that was started without a file."""


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("server", __doc__, json=False)
    made.add_argument("file", nargs="?", metavar="FILE", help="a server.properties")
    made.add_argument(
        "--override", action="append", default=[], metavar="k=v", help="a property that goes before those of FILE"
    )
    made.add_argument("--demo", action="store_true", help="run `ottla demo` beside it")
    made.add_argument("--log-level", default="INFO", choices=("DEBUG", "INFO", "WARNING", "ERROR"))
    return made


def main(arguments: Sequence[str]) -> int:
    """Parse the line, run the node, return the exit code."""
    options = parser().parse_args(arguments)
    logging.basicConfig(
        level=options.log_level, stream=sys.stderr, format="[%(asctime)s] %(levelname)s %(message)s (%(name)s)"
    )
    try:
        properties = read_properties(options.file, options.override)
        config = KafkaConfig.from_props(properties, warn=options.file is not None)  # our defaults need no warning
        return asyncio.run(_run(config, format_new=options.file is None, demo=options.demo))
    except (KafkaError, FormatterError, OSError, ValueError) as error:
        tell("server", message_of(error))
        return 1


def read_properties(file: str | None, overrides: Sequence[str]) -> dict[str, str]:
    """The properties of a file, or the defaults, with the overrides over them."""
    if file is None:
        properties = {**DEFAULTS, "log.dirs": os.path.abspath(DEFAULT_DATA_DIRECTORY)}
    else:
        with open(file, encoding="latin-1") as stream:
            properties = parse(stream.read())
    for override in overrides:
        name, equals, value = override.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"--override takes key=value, not {override!r}")
        properties[name.strip()] = value.strip()
    return properties


async def _run(config: KafkaConfig, *, format_new: bool, demo: bool) -> int:
    raise_open_files_limit()
    if format_new:
        runtime = AsyncioRuntime()
        try:
            for line in await format_if_new(runtime, config):
                _say(line)
        finally:
            runtime.close()
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signal_number, stopping.set)
    node = Node(config, on_fatal_fault=_halt)
    await node.start()
    _settle_garbage_collector()
    _say(f"Ottla is ready: node {config.kraft.node_id} of cluster {node.cluster_id} on {node.bootstrap_servers}")
    if format_new:
        _say(HINTS.format(address=node.bootstrap_servers, directory=config.log.log_dirs[0]))
    show = await _start_demo(node.bootstrap_servers) if demo else None
    await stopping.wait()
    logger.info("Stopping")
    if show is not None:  # it ends while it can still be served
        await _stop_demo(show)
    await node.stop()
    return 0


def _halt(sentence: str) -> NoReturn:
    """End this very moment, as Apache Kafka does: nothing is answered, asked or written any more. Decision 0024."""
    tell("server", sentence)
    os._exit(1)


async def _start_demo(bootstrap_servers: str) -> asyncio.subprocess.Process:
    """A process of its own, which ends with this one: its standard input does."""
    line = (sys.executable, "-m", "ottla", "demo", "--bootstrap-server", bootstrap_servers, "--until-input-ends")
    return await asyncio.create_subprocess_exec(*line, stdin=asyncio.subprocess.PIPE)


async def _stop_demo(show: asyncio.subprocess.Process) -> None:
    if show.returncode is None:
        with suppress(ProcessLookupError):
            show.terminate()
        try:
            await asyncio.wait_for(show.wait(), _DEMO_PATIENCE_S)
        except TimeoutError:
            show.kill()
            await show.wait()


def _settle_garbage_collector() -> None:
    """Let it pass over what was loaded, and look less often for cycles, of which a request has none."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GC_THRESHOLD, 10, 10)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
