"""``ottla configs``: describe and alter configurations, as kafka-configs.sh.

Of topics, brokers, broker-loggers, groups, client-metrics, and quotas and SCRAM credentials of users, clients and ips.

With --json: --describe prints [{"type", "name" (null for the default of all), "configs": [{"name", "value", "source",
"sensitive", "read_only", "synonyms": [{"name", "value", "source"}]}]}], for users, clients and ips [{"entity": {type:
name}, "quotas": {name: value}, "scram": {mechanism: iterations}}]; --alter prints {"type", "name", "set": {key:
value}, "deleted": [keys]}.
"""

import argparse
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from ottla.cli.arguments import command_parser, given, only_action, refuse_with
from ottla.cli.connection import add_connection, client_properties, read_properties, with_admin
from ottla.cli.errors import CommandError, UsageError
from ottla.cli.output import Output

if TYPE_CHECKING:
    from ottla.clients.admin import Admin

ENTITY_TYPES: Final = ("topics", "clients", "users", "brokers", "ips", "client-metrics", "groups", "broker-loggers")
QUOTA_TYPES: Final = ("users", "clients", "ips")
_FLAGS: Final = {
    "topic": "topics",
    "client": "clients",
    "user": "users",
    "broker": "brokers",
    "broker-logger": "broker-loggers",
    "ip": "ips",
    "client-metrics": "client-metrics",
    "group": "groups",
}
_DEFAULT_FLAGS: Final = {
    "client-defaults": "clients",
    "user-defaults": "users",
    "broker-defaults": "brokers",
    "ip-defaults": "ips",
}
_HAVE_DEFAULTS: Final = ("users", "clients", "brokers", "ips")
_OUTSIDE_BRACKETS: Final = r"(?=[^\]]*(?:\[|$))"


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("configs", __doc__)
    add_connection(made, controllers=True)
    made.add_argument("--describe", action="store_true", help="show settings")
    made.add_argument("--alter", action="store_true", help="change settings")
    made.add_argument("--all", action="store_true", help="show all settings, not only those that were set")
    made.add_argument("--entity-type", action="append", default=[], metavar="TYPE", help=", ".join(ENTITY_TYPES))
    made.add_argument("--entity-name", action="append", dest="entity_names", default=[], metavar="NAME", help="whose")
    made.add_argument(
        "--entity-default", action="append_const", const="", dest="entity_names", help="those of all that have none"
    )
    made.add_argument("--add-config", metavar="KEY=VALUE,…", help="settings; KEY=[A,B] for a value with commas")
    made.add_argument("--add-config-file", metavar="FILE", help="a properties file of settings")
    made.add_argument("--delete-config", metavar="KEY,…", help="settings to delete")
    for flag, kind in _FLAGS.items():
        made.add_argument(f"--{flag}", metavar="NAME", help=f"short for --entity-type {kind} --entity-name NAME")
    for flag, kind in _DEFAULT_FLAGS.items():
        made.add_argument(f"--{flag}", action="store_true", help=f"short for --entity-type {kind} --entity-default")
    return made


def main(arguments: Sequence[str]) -> int:
    """Do what the line says, return the exit code."""
    options = parser().parse_args(arguments)
    action = only_action(options, "describe", "alter")
    refuse_with(options, "describe", "add-config", "delete-config")
    types, names = entities(options)
    check_entities(options, types, names)
    added = configs_to_add(options) if action == "alter" else {}
    deleted = [key.strip() for key in options.delete_config.split(",")] if options.delete_config else []
    output = Output.of(options)

    async def work(admin: "Admin") -> None:
        if types[0] in QUOTA_TYPES:
            from ottla.cli import quotas

            if action == "describe":
                await quotas.describe(admin, types, names, output)
            else:
                await quotas.alter(admin, types, names, added, deleted)
        else:
            from ottla.cli import resource_configs

            if action == "describe":
                await resource_configs.describe(admin, types[0], names[0] if names else None, options.all, output)
            else:
                await resource_configs.alter(admin, types[0], names[0], added, deleted)

    with_admin(client_properties(options), work)
    if action == "alter":
        _show_altered(types[0], names[0], added, deleted, output)
    return 0


def _show_altered(kind: str, name: str, added: dict[str, str], deleted: Sequence[str], output: Output) -> None:
    line = (
        f"Completed updating config for {singular(kind)} {name}."
        if name
        else f"Completed updating default config for {kind} in the cluster."
    )
    output.show({"type": kind, "name": name or None, "set": added, "deleted": list(deleted)}, [line])


def singular(kind: str) -> str:
    """``topic`` of ``topics``; Apache's tool cuts the s of client-metrics off, too."""
    return kind[:-1]


def entities(options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """The types and the names that the line gives; the empty name is the default of all."""
    flags = [(kind, getattr(options, flag.replace("-", "_"))) for flag, kind in _FLAGS.items() if given(options, flag)]
    flags += [(kind, "") for flag, kind in _DEFAULT_FLAGS.items() if given(options, flag)]
    if flags and (options.entity_type or options.entity_names):
        raise UsageError("--entity-{type,name,default} should not be used in conjunction with specific entity flags")
    return (
        [*options.entity_type, *(kind for kind, _ in flags)],
        [*options.entity_names, *(name for _, name in flags)],
    )


def check_entities(options: argparse.Namespace, types: Sequence[str], names: Sequence[str]) -> None:
    """Refuse what does not go together."""
    twice = sorted({kind for kind in types if types.count(kind) > 1})
    if twice:
        raise UsageError(f"Duplicate entity type(s) specified: {','.join(twice)}")
    if options.bootstrap_server is None and options.bootstrap_controller is None:
        raise UsageError("Either --bootstrap-server or --bootstrap-controller must be specified.")
    for kind in types:
        if kind not in ENTITY_TYPES:
            raise UsageError(
                f"Invalid entity type {kind}, the entity type must be one of {', '.join(ENTITY_TYPES)} with a "
                "--bootstrap-server or --bootstrap-controller argument"
            )
    if not types:
        raise UsageError("At least one entity type must be specified")
    if len(types) > 1 and set(types) != {"users", "clients"}:
        raise UsageError("Only 'users' and 'clients' entity types may be specified together")
    kind, named = types[0], any(names)
    if kind in ("brokers", "broker-loggers"):
        for name in filter(None, names):
            if not re.fullmatch(r"[+-]?\d+", name):
                raise UsageError(f"The entity name for {kind} must be a valid integer broker id, but it is: {name}")
    if kind == "ips":
        _check_ips(names)
    if options.describe:
        if kind not in _HAVE_DEFAULTS and "" in names:
            raise UsageError(f"--entity-default must not be specified with --describe of {','.join(types)}")
        if kind == "broker-loggers" and not named:
            raise UsageError(f"An entity name must be specified with --describe of {','.join(types)}")
    else:
        _check_alter(options, types, names)


def _check_alter(options: argparse.Namespace, types: Sequence[str], names: Sequence[str]) -> None:
    if types[0] in _HAVE_DEFAULTS:
        if not names:
            raise UsageError(
                "An entity-name or default entity must be specified with --alter of users, clients, brokers or ips"
            )
    elif not any(names):
        raise UsageError(f"An entity name must be specified with --alter of {','.join(types)}")
    if options.add_config is not None and options.add_config_file is not None:
        raise UsageError("Only one of --add-config or --add-config-file must be specified")
    if options.add_config is None and options.add_config_file is None and options.delete_config is None:
        raise UsageError(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter"
        )
    if len(types) != len(names):
        raise UsageError("An entity name must be specified for every entity type")


def _check_ips(names: Sequence[str]) -> None:
    import socket

    for name in filter(None, names):
        try:
            socket.getaddrinfo(name, None)
        except OSError:
            raise UsageError(
                f"The entity name for ips must be a valid IP or resolvable host, but it is: {name}"
            ) from None


def configs_to_add(options: argparse.Namespace) -> dict[str, str]:
    """The settings of --add-config or --add-config-file."""
    found: dict[str, str] = {}
    if options.add_config_file is not None:
        found |= read_properties(options.add_config_file)
    if options.add_config is not None:
        for pair in re.split(f",{_OUTSIDE_BRACKETS}", options.add_config):
            parts: list[Any] = re.split(rf"\s*=\s*{_OUTSIDE_BRACKETS}", pair)
            if len(parts) != 2:
                raise CommandError(
                    "requirement failed: Invalid entity config: all configs to be added must be in the format "
                    '"key=val" or  "key=[val1,val2]" to group values which contain commas.'
                )
            found[parts[0].strip()] = parts[1].replace("[", "").replace("]", "").strip()
    for key in found:
        if not re.fullmatch(r"[$a-zA-Z0-9._-]*", key):
            raise CommandError(f"Invalid character found for config key: {key}")
    return found
