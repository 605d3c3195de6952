"""``ottla features``: describe, upgrade, downgrade and disable features, as kafka-features.sh.

With --json: describe prints {"epoch", "features": [{"feature", "supported_min", "supported_max", "finalized"}]};
upgrade, downgrade and disable print [{"feature", "level", "error"}]; version-mapping prints {"metadata.version":
{"level", "version"}, "features": {name: level}}; feature-dependencies prints [{"feature", "level", "requires"}].
"""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ottla.cli.arguments import add_json, command_parser
from ottla.cli.connection import add_connection, client_properties, with_admin
from ottla.cli.errors import CommandError, UsageError
from ottla.cli.output import Output, Table

if TYPE_CHECKING:
    from ottla.clients.admin import Admin, FeatureUpdate

_INT16: Final = range(-32768, 32768)
_COLUMNS: Final = ("Feature", "SupportedMinVersion", "SupportedMaxVersion", "FinalizedVersionLevel")


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("features", __doc__)
    add_connection(made, controllers=True)
    commands = made.add_subparsers(dest="command", required=True)
    describe = commands.add_parser("describe", help="show the levels of all features")
    describe.add_argument("--node-id", type=int, metavar="ID", help="ask this node")
    for name in ("upgrade", "downgrade"):
        change = commands.add_parser(name, help=f"{name} features")
        change.add_argument("--metadata", metavar="VERSION", help="the old way to say which metadata.version")
        change.add_argument("--release-version", metavar="VERSION", help="the release whose levels all features get")
        change.add_argument("--feature", action="append", metavar="NAME=LEVEL", help="a feature's level; repeatable")
    disable = commands.add_parser("disable", help="disable features")
    disable.add_argument("--feature", action="append", metavar="NAME", help="a feature; repeatable")
    mapping = commands.add_parser("version-mapping", help="show the levels that a release has")
    mapping.add_argument("--release-version", metavar="VERSION", help="the release; without it the latest")
    depends = commands.add_parser("feature-dependencies", help="show what a feature needs")
    depends.add_argument("--feature", action="append", required=True, metavar="NAME=LEVEL", help="repeatable")
    for name in ("upgrade", "downgrade", "disable"):
        commands.choices[name].add_argument("--dry-run", action="store_true", help="only say what would happen")
    for name in ("downgrade", "disable"):
        commands.choices[name].add_argument("--unsafe", action="store_true", help="even if metadata is lost by it")
    for each in commands.choices.values():
        add_json(each)
    return made


def main(arguments: Sequence[str]) -> int:
    """Do what the line says, return the exit code."""
    options = parser().parse_args(arguments)
    output = Output.of(options)
    if options.command in ("version-mapping", "feature-dependencies"):
        from ottla.cli import feature_levels

        if options.command == "version-mapping":
            feature_levels.show_version_mapping(options.release_version, output)
        else:
            feature_levels.show_dependencies([name_and_level(each) for each in options.feature], output)
        return 0
    if options.bootstrap_server is None and options.bootstrap_controller is None:
        raise UsageError("You must specify either --bootstrap-controller or --bootstrap-server.")

    async def work(admin: "Admin") -> None:
        if options.command == "describe":
            await _describe(admin, options.node_id, output)
        else:
            await _update(admin, options, output)

    with_admin(client_properties(options), work)
    return 0


async def _describe(admin: "Admin", node_id: int | None, output: Output) -> None:
    from ottla.cli.feature_levels import level_text

    if node_id is not None and node_id < 0:
        raise CommandError(f"Invalid node id {node_id}: must be non-negative.")
    found = await admin.describe_features(node_id=node_id)
    epoch = found.finalized_epoch
    document, lines, rows = [], [], []
    for name, (low, high) in sorted(found.supported.items()):
        finalized = found.finalized[name].highest if name in found.finalized else 0
        document.append({"feature": name, "supported_min": low, "supported_max": high, "finalized": finalized})
        row = (name, *(level_text(name, level) for level in (low, high, finalized)))
        rows.append(row)
        lines.append(
            f"Feature: {name:<40}  SupportedMinVersion: {row[1]:<15}  SupportedMaxVersion: {row[2]:<15}  "
            f"FinalizedVersionLevel: {row[3]:<15}  Epoch: {'-' if epoch is None else epoch}"
        )
    title = "" if epoch is None else f"Epoch {epoch}"
    output.show({"epoch": epoch, "features": document}, lines, [Table(_COLUMNS, rows, title)])


async def _update(admin: "Admin", options: argparse.Namespace, output: Output) -> None:
    from ottla.common.errors import KafkaError

    updates = _updates(options, output)
    if options.release_version is not None:
        updates = await _offered(admin, updates, output)
    if not updates:
        raise CommandError(f"You must specify at least one feature to {options.command}")
    results = await admin.update_features(updates, validate_only=options.dry_run, raise_errors=False)
    document, lines, failures = [], [], 0
    for name, result in sorted(results.items()):
        level = updates[name].max_version_level
        error = str(result) if isinstance(result, KafkaError) else None
        failures += error is not None
        document.append({"feature": name, "level": level, "error": error})
        lines.append(update_line(options.command, name, level, error, dry_run=options.dry_run))
    output.show(document, lines)
    if failures:
        raise CommandError(f"{failures} out of {len(updates)} operation(s) failed.")


async def _offered(admin: "Admin", updates: "dict[str, FeatureUpdate]", output: Output) -> "dict[str, FeatureUpdate]":
    """What a release has and the cluster offers: one feature that it lacks would cost the others their update."""
    supported = (await admin.describe_features()).supported
    for name in updates.keys() - supported.keys():
        output.note(f"{name} is left out: the cluster does not support it.")
    return {name: update for name, update in updates.items() if name in supported}


def update_line(command: str, name: str, level: int, error: str | None, *, dry_run: bool) -> str:
    """Apache's line for one feature."""
    if error is None:
        done = "disabled." if command == "disable" else f"{command}d to {level}."
        return f"{name} {'can be' if dry_run else 'was'} {done}"
    what = f"disable {name}" if command == "disable" else f"{command} {name} to {level}"
    return f"{'Can' if dry_run else 'Could'} not {what}. {error}"


def _updates(options: argparse.Namespace, output: Output) -> "dict[str, FeatureUpdate]":
    from ottla.clients.admin import FeatureUpdate, FeatureUpgradeType

    kind = FeatureUpgradeType.UPGRADE
    if options.command != "upgrade":
        kind = FeatureUpgradeType.UNSAFE_DOWNGRADE if options.unsafe else FeatureUpgradeType.SAFE_DOWNGRADE
    levels: dict[str, int] = {}
    if options.command == "disable":
        _add(levels, [(name, 0) for name in options.feature or ()])
        return {name: FeatureUpdate(level, kind) for name, level in levels.items()}
    if options.release_version is not None:
        if options.metadata is not None or options.feature is not None:
            raise CommandError("Can not specify `release-version` with other feature flags.")
        from ottla.cli.feature_levels import release_levels

        levels = dict(release_levels(options.release_version))
        if kind is FeatureUpgradeType.UPGRADE:  # nothing is upgraded to 0
            levels = {name: level for name, level in levels.items() if level > 0}
    if options.metadata is not None:
        from ottla.cli.feature_levels import METADATA_VERSION, version_of

        output.note(" `metadata` flag is deprecated and may be removed in a future release.")
        levels[METADATA_VERSION] = int(version_of(options.metadata))
    _add(levels, [name_and_level(each) for each in options.feature or ()])
    return {name: FeatureUpdate(level, kind) for name, level in levels.items()}


def _add(levels: dict[str, int], more: Sequence[tuple[str, int]]) -> None:
    for name, level in more:
        if name in levels:
            raise CommandError(f"Feature {name} was specified more than once.")
        levels[name] = level


def name_and_level(text: str) -> tuple[str, int]:
    """A feature and its level, from ``name=level``."""
    name, equals, level = text.partition("=")
    if not equals:
        raise CommandError(f"Can't parse feature=level string {text}: equals sign not found.")
    try:
        number = int(level)
    except ValueError:
        number = _INT16.stop
    if number not in _INT16:
        raise CommandError(f"Can't parse feature=level string {text}: unable to parse {level.strip()} as a short.")
    return name.strip(), number
