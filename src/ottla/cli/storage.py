"""``ottla storage``: format the data directories of a node and look at them, as kafka-storage.sh.

With --json: info prints {"directories", "metadata", "problems"}, format {"messages"}, random-uuid {"uuid"};
version-mapping and feature-dependencies print what those of ``ottla features`` print.
"""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ottla.cli.arguments import add_json, command_parser
from ottla.cli.connection import read_properties
from ottla.cli.errors import CommandError
from ottla.cli.output import Output

if TYPE_CHECKING:
    from ottla.config.kafka_config import KafkaConfig
    from ottla.server.storage import FormatOptions

_INT16: Final = range(-32768, 32768)
_NO_LEVEL: Final = "Feature level {level} is not supported for feature {name}"


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("storage", __doc__, json=False)
    commands = made.add_subparsers(dest="command", required=True)
    info = commands.add_parser("info", help="say what the directories of a node are")
    info.add_argument("-c", "--config", required=True, metavar="FILE", help="the node's server.properties")
    _add_format(commands.add_parser("format", help="format the directories of a node"))
    mapping = commands.add_parser("version-mapping", help="show the levels that a release has")
    mapping.add_argument("-r", "--release-version", metavar="VERSION", help="the release; without it the latest")
    depends = commands.add_parser("feature-dependencies", help="show what a feature needs")
    depends.add_argument("-f", "--feature", action="append", required=True, metavar="NAME=LEVEL", help="repeatable")
    commands.add_parser("random-uuid", help="print a random id, for a new cluster")
    for each in commands.choices.values():
        add_json(each)
    return made


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


def main(arguments: Sequence[str]) -> int:
    """Do what the line says, return the exit code."""
    options = parser().parse_args(arguments)
    output = Output.of(options)
    if options.command == "version-mapping":
        from ottla.cli.feature_levels import show_version_mapping

        show_version_mapping(options.release_version, output)
    elif options.command == "feature-dependencies":
        from ottla.cli.feature_levels import show_dependencies

        show_dependencies([_name_and_version(each) for each in options.feature], output, _NO_LEVEL)
    elif options.command == "random-uuid":
        _show_uuid(output)
    elif options.command == "info":
        from ottla.cli.storage_info import show_info

        return show_info(_config(options.config), output)
    else:
        _format(_config(options.config), options, output)
    return 0


def _show_uuid(output: Output) -> None:
    from ottla.common.uuid import Uuid
    from ottla.runtime.live import AsyncioRuntime

    runtime = AsyncioRuntime()
    try:
        uuid = str(Uuid.random(runtime.rng))
    finally:
        runtime.close()
    output.show({"uuid": uuid}, [uuid])


def _format(config: "KafkaConfig", options: argparse.Namespace, output: Output) -> None:
    from ottla.cli.stop_signals import run
    from ottla.common.errors import InvalidConfigError
    from ottla.raft.errors import FormatterError
    from ottla.runtime.live import AsyncioRuntime
    from ottla.server.storage import format_storage

    runtime = AsyncioRuntime()
    try:
        lines = run(format_storage(runtime, config, options.cluster_id, _format_options(options)))
    except (FormatterError, InvalidConfigError, ValueError) as error:
        raise CommandError(str(error)) from error
    finally:
        runtime.close()
    output.show({"messages": lines}, lines)


def _format_options(options: argparse.Namespace) -> "FormatOptions":
    from ottla.cli.features import name_and_level
    from ottla.server.storage import FormatOptions

    return FormatOptions(
        ignore_formatted=options.ignore_formatted,
        release_version=options.release_version,
        features=dict(name_and_level(entry) for entry in options.feature),
        standalone=options.standalone,
        no_initial_controllers=options.no_initial_controllers,
        initial_controllers=options.initial_controllers,
    )


def _config(path: str) -> "KafkaConfig":
    from ottla.config.kafka_config import KafkaConfig

    return KafkaConfig.from_props(read_properties(path), warn=False)


def _name_and_version(text: str) -> tuple[str, int]:
    """A feature and its level, refused in the words of kafka-storage.sh."""
    name, equals, level = (part.strip() for part in text.partition("="))
    if not equals:
        raise CommandError(
            f"Invalid feature format: {text}. Expected format: 'feature=version' (e.g. 'group.version=1')"
        )
    try:
        number = int(level)
    except ValueError:
        number = _INT16.stop
    if number not in _INT16:
        raise CommandError(f"Invalid version format: {level} for feature {name}")
    return name, number
