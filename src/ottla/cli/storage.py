"""``ottla storage``: format data directories (``format``), look at them (``info``), draw ids (``random-uuid``)."""

import argparse
import asyncio
import sys
from collections.abc import Sequence

from ottla.cli.arguments import command_parser
from ottla.common.errors import KafkaError
from ottla.common.uuid import Uuid
from ottla.config.kafka_config import KafkaConfig
from ottla.config.properties import parse
from ottla.log.meta_properties import read_meta_properties
from ottla.raft.errors import FormatterError
from ottla.runtime.live import AsyncioRuntime
from ottla.server.storage import FormatOptions, directories_of, format_storage


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("storage", __doc__, json=False)
    commands = made.add_subparsers(dest="command", required=True)
    _add_format(commands.add_parser("format", help="format the directories of a node"))
    info = commands.add_parser("info", help="say what the directories of a node are")
    info.add_argument("-c", "--config", required=True, metavar="FILE")
    commands.add_parser("random-uuid", help="print a random id, for a new cluster")
    return made


def main(arguments: Sequence[str]) -> int:
    """Parse the line, do it, return the exit code."""
    options = parser().parse_args(arguments)
    runtime = AsyncioRuntime()
    try:
        if options.command == "random-uuid":
            _say(str(Uuid.random(runtime.rng)))
            return 0
        config = _config(options.config)
        if options.command == "info":
            return _info(runtime, config)
        for line in asyncio.run(format_storage(runtime, config, _cluster_id(options.cluster_id), _options(options))):
            _say(line)
    except (KafkaError, FormatterError, OSError, ValueError) as error:
        sys.stderr.write(f"ottla storage: {error}\n")
        return 1
    finally:
        runtime.close()
    return 0


def _add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-c", "--config", required=True, metavar="FILE", help="the node's server.properties")
    parser.add_argument("-t", "--cluster-id", required=True, metavar="ID", help="the cluster's id")
    parser.add_argument("-g", "--ignore-formatted", action="store_true", help="leave formatted directories alone")
    parser.add_argument("-r", "--release-version", metavar="VERSION", help="the release whose features to begin with")
    parser.add_argument("-f", "--feature", action="append", default=[], metavar="NAME=LEVEL", help="a feature's level")
    first = parser.add_mutually_exclusive_group()
    first.add_argument("-s", "--standalone", action="store_true", help="a dynamic quorum of this controller alone")
    first.add_argument("-N", "--no-initial-controllers", action="store_true", help="join a dynamic quorum later")
    first.add_argument(
        "-I", "--initial-controllers", metavar="ID@HOST:PORT:DIRECTORY,…", help="the voters of a dynamic quorum"
    )


def _options(options: argparse.Namespace) -> FormatOptions:
    features = {}
    for entry in options.feature:
        name, equals, level = entry.partition("=")
        if not equals or not level.strip().isdecimal():
            raise ValueError(f"Can't parse feature=level string {entry}: it is not name=number.")
        features[name.strip()] = int(level)
    return FormatOptions(
        ignore_formatted=options.ignore_formatted,
        release_version=options.release_version,
        features=features,
        standalone=options.standalone,
        no_initial_controllers=options.no_initial_controllers,
        initial_controllers=options.initial_controllers,
    )


def _cluster_id(text: str) -> str:
    try:
        Uuid.from_string(text)
    except ValueError as error:
        raise FormatterError(
            f"Cluster ID string {text} does not appear to be a valid UUID: {error} (try ottla storage random-uuid)"
        ) from None
    return text


def _config(path: str) -> KafkaConfig:
    with open(path, encoding="latin-1") as stream:
        return KafkaConfig.from_props(parse(stream.read()), warn=False)


def _info(runtime: AsyncioRuntime, config: KafkaConfig) -> int:
    """Say what each directory is; 1 if something is wrong with one."""
    code = 0
    for path in directories_of(config):
        try:
            properties = read_meta_properties(runtime.files, path)
        except KafkaError as error:
            _say(f"{path}: {error}")
            code = 1
            continue
        if properties is None:
            _say(f"{path} is not formatted.")
            code = 1
        else:
            _say(
                f"{path}: cluster {properties.cluster_id}, node {properties.node_id}, directory "
                f"{properties.directory_id}, version {properties.version}"
            )
    return code


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
