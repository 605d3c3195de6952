"""The properties that a node starts with: those of a file or the defaults, over them the environment and the line."""

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import Final

from ottla.cli.connection import read_properties
from ottla.cli.errors import UsageError
from ottla.common.errors import InvalidConfigError

DEFAULT_DATA_DIRECTORY: Final = "ottla-data"
DEFAULT_PORT: Final = 9092
MAX_PORT: Final = 65535
DEFAULTS: Final[Mapping[str, str]] = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.bootstrap.servers": "localhost:9093",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}
"""Of a node without a file, besides where it listens and where its data is."""
_IMAGE_LISTENERS: Final[Mapping[str, str]] = {
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "advertised.listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
}
"""Those of Apache's image."""


def add_properties(parser: argparse.ArgumentParser) -> None:
    """Add the options that ``node_properties`` reads."""
    parser.add_argument("file", nargs="?", metavar="FILE", help="a server.properties; --sample prints one")
    parser.add_argument(
        "--override", action="append", default=[], metavar="k=v", help="a property that goes before those of FILE"
    )
    parser.add_argument(
        "--port",
        type=int,
        metavar="PORT",
        help=f"listen on localhost:PORT instead of {DEFAULT_PORT}, and on PORT + 1 for the controller; without FILE",
    )
    parser.add_argument(
        "--environment",
        action="store_true",
        help="take KAFKA_* and CLUSTER_ID from the environment, as Apache Kafka's image does, and format new "
        "directories",
    )


def node_properties(options: argparse.Namespace, environment: Mapping[str, str]) -> dict[str, str]:
    """The properties that the line asks for. What cannot be meant so is a UsageError, or an InvalidConfigError."""
    below = read_properties(options.file) if options.file is not None else _defaults()
    given = {}
    if options.environment:
        from ottla.config.environment import environment_properties

        given = environment_properties(environment, below)
    given |= overridden(options.override)
    if options.port is not None:
        _refuse_with_port(options, given)
    if options.file is None:
        if "broker.id" in given:
            del below["node.id"]  # which it stands for
        if not options.environment:
            below |= local_listeners(options.port or DEFAULT_PORT)
        elif "listeners" not in given:
            below |= _IMAGE_LISTENERS
    return {**below, **given}


def _defaults() -> dict[str, str]:
    return {**DEFAULTS, "log.dirs": os.path.abspath(DEFAULT_DATA_DIRECTORY)}


def overridden(overrides: Sequence[str]) -> dict[str, str]:
    """The properties of ``--override k=v``, each of which must be one."""
    from ottla.config.kafka_config import require_known

    properties = {}
    for override in overrides:
        name, equals, value = map(str.strip, override.partition("="))
        if not equals or not name:
            raise UsageError(f"--override takes key=value, not {override!r}")
        try:
            require_known(name)
        except InvalidConfigError as error:
            raise UsageError(f"--override: {error}") from None
        properties[name] = value
    return properties


def local_listeners(port: int) -> dict[str, str]:
    """Where a node listens that is there for this machine alone."""
    return {
        "listeners": f"PLAINTEXT://localhost:{port},CONTROLLER://localhost:{port + 1}",
        "controller.quorum.bootstrap.servers": f"localhost:{port + 1}",
    }


def _refuse_with_port(options: argparse.Namespace, given: Mapping[str, str]) -> None:
    if not 0 < options.port < MAX_PORT:
        raise UsageError(f"--port takes 1 to {MAX_PORT - 1}, not {options.port}: the controller gets the next one")
    for is_there, what in (
        (options.file is not None, "a FILE"),
        (options.environment, "--environment"),
        ("listeners" in given, "--override listeners"),
    ):
        if is_there:
            raise UsageError(f"--port {options.port} and {what} both say where the node listens; use one of them")
