"""``ottla server [FILE] [--override k=v …]``: run a node until it is told to stop.

FILE is a server.properties, as Apache Kafka's. Without one the node has Apache's defaults, its data in ``ottla-data``
below the current directory, formatted at the first start, and listens on localhost:9092 (controller: 9093).
"""

import argparse
import asyncio
import errno
import gc
import logging
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

from ottla.cli.arguments import command_parser
from ottla.cli.errors import tell
from ottla.cli.own_command import own_command
from ottla.cli.server_properties import add_properties, node_properties
from ottla.cli.service_notice import READY, STOPPING, tell_service_manager
from ottla.common.error_words import in_words
from ottla.common.errors import KafkaError
from ottla.config.kafka_config import KafkaConfig
from ottla.raft.errors import FormatterError
from ottla.runtime.live import AsyncioRuntime
from ottla.server.node import Node, raise_open_files_limit
from ottla.server.storage import format_if_new

logger = logging.getLogger(__name__)

_GC_THRESHOLD: Final = 10_000
_DEMO_PATIENCE_S: Final = 5
"""How long Spark may take to stop its queries; the demo loses nothing if it is killed then."""
HINTS: Final = """\
  produce   echo hello | {ottla} console-producer --bootstrap-server {address} --topic demo
  consume   {ottla} console-consumer --bootstrap-server {address} --topic demo --from-beginning
  look      {ottla} doctor --bootstrap-server {address}
  others    echo hello | kcat -b {address} -t demo -P
            kcat -b {address} -t demo -C
            kafka-console-consumer.sh --bootstrap-server {address} --topic demo --from-beginning
  stop      Ctrl-C; the data stays in {directory}"""
"""What to do with a node that was started without a file; a test runs each line as it is printed."""


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("server", __doc__, json=False)
    add_properties(made)
    made.add_argument("--sample", action="store_true", help="print a server.properties with comments, and end")
    made.add_argument("--demo", action="store_true", help="run `ottla demo` beside it")
    made.add_argument("--log-level", default="INFO", choices=("DEBUG", "INFO", "WARNING", "ERROR"))
    return made


def main(arguments: Sequence[str]) -> int:
    """Parse the line, run the node, return the exit code."""
    options = parser().parse_args(arguments)
    if options.sample:
        sys.stdout.write(sample())
        return 0
    logging.basicConfig(
        level=options.log_level, stream=sys.stderr, format="[%(asctime)s] %(levelname)s %(message)s (%(name)s)"
    )
    try:
        config = KafkaConfig.from_props(node_properties(options, os.environ))
        if options.environment:
            _warn_of_jvm_variables()
        return asyncio.run(_run(config, options))
    except (KafkaError, FormatterError, OSError, ValueError) as error:
        hint = ""
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE and options.file is None:
            hint = "give the node another port with --port, or stop what listens there"
        tell("server", in_words(error), hint)
        return 1


def _warn_of_jvm_variables() -> None:
    from ottla.config.environment import without_effect

    for variable in without_effect(os.environ):
        logger.warning("%s has no effect: Ottla runs without a JVM", variable)


def sample() -> str:
    """A server.properties with comments."""
    return (Path(__file__).parents[1] / "config" / "server.properties").read_text()


async def _run(config: KafkaConfig, options: argparse.Namespace) -> int:
    raise_open_files_limit()
    if options.file is None or options.environment:
        await _format_if_new(config, os.environ.get("CLUSTER_ID") if options.environment else None)
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signal_number, stopping.set)
    node = Node(config, on_fatal_fault=_halt)
    await node.start()
    _settle_garbage_collector()
    _say(f"Ottla is ready: node {config.kraft.node_id} of cluster {node.cluster_id} on {node.bootstrap_servers}")
    tell_service_manager(READY)
    if options.file is None and not options.environment:
        directory = config.log.log_dirs[0]
        _say(HINTS.format(ottla=own_command(), address=node.bootstrap_servers, directory=directory))
    show = await _start_demo(node.bootstrap_servers) if options.demo else None
    await stopping.wait()
    tell_service_manager(STOPPING)
    logger.info("Stopping")
    if show is not None:  # it ends while it can still be served
        _say(f"Stopping: first the demo, which has {_DEMO_PATIENCE_S} s, then the node")
        await _stop_demo(show)
    await node.stop()
    return 0


async def _format_if_new(config: KafkaConfig, cluster_id: str | None) -> None:
    runtime = AsyncioRuntime()
    try:
        for line in await format_if_new(runtime, config, cluster_id):
            _say(line)
    finally:
        runtime.close()


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
