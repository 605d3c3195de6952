"""``ottla groups``: list groups of all kinds, as kafka-groups.sh.

With --json: [{"group", "type", "protocol", "state"}]; what is not known is null.
"""

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from ottla.cli.arguments import command_parser, only_action, refuse_with, require
from ottla.cli.connection import add_connection, client_properties, with_admin
from ottla.cli.errors import UsageError
from ottla.cli.output import Output, Table

if TYPE_CHECKING:
    from ottla.clients.admin import Admin, GroupListing

GROUP_TYPES: Final = ("Classic", "Consumer", "Share", "Streams")
_COLUMNS: Final = ("GROUP", "TYPE", "PROTOCOL")
_WIDTH_MIN: Final = 20
_UNKNOWN: Final = "Unknown"


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("groups", __doc__)
    add_connection(made)
    made.add_argument("--list", action="store_true", help="list the groups")
    made.add_argument(
        "--group-type", metavar="TYPE", help="only groups of this type: classic, consumer, share, streams"
    )
    made.add_argument("--protocol", help="only groups of this protocol")
    made.add_argument("--consumer", action="store_true", help="only consumer groups, of any type")
    made.add_argument("--share", action="store_true", help="only share groups")
    made.add_argument("--streams", action="store_true", help="only streams groups")
    return made


def main(arguments: Sequence[str]) -> int:
    """List the groups, return the exit code."""
    options = parser().parse_args(arguments)
    require(options, "bootstrap-server")
    only_action(options, "list")
    if options.group_type is not None and options.group_type.capitalize() not in GROUP_TYPES:
        raise UsageError("--group-type must be a valid group type.")
    kinds = ("consumer", "share", "streams")
    for kind in kinds:
        refuse_with(options, kind, "group-type", "protocol", *(other for other in kinds if other != kind))
    output = Output.of(options)
    with_admin(client_properties(options), lambda admin: _list(admin, wanted_groups(options), output))
    return 0


async def _list(admin: "Admin", wanted: "Callable[[GroupListing], bool]", output: Output) -> None:
    groups = sorted(filter(wanted, (await admin.list_groups()).values()), key=lambda group: group.group_id)
    rows = [(group.group_id, _type(group) or "", group.protocol_type) for group in groups]
    width = max([_WIDTH_MIN, *(len(cell) for row in rows for cell in row)])
    output.show(
        [
            {
                "group": each.group_id,
                "type": _type(each),
                "protocol": each.protocol_type,
                "state": None if str(each.state) == _UNKNOWN else str(each.state),
            }
            for each in groups
        ],
        [
            " ".join(f"{cell:<{width}}" for cell in _COLUMNS),
            *("".join(f"{cell:<{width}} " for cell in row) for row in rows),
        ],
        [Table(_COLUMNS, rows)],
    )


def _type(group: "GroupListing") -> str | None:
    return None if str(group.type) == _UNKNOWN else str(group.type)


def wanted_groups(options: argparse.Namespace) -> "Callable[[GroupListing], bool]":
    """Which groups the line asks for."""
    if options.group_type is not None:
        kind = options.group_type.capitalize()
        return lambda group: _type(group) == kind and options.protocol in (None, group.protocol_type)
    if options.protocol is not None:
        return lambda group: bool(group.protocol_type == options.protocol)
    if options.consumer:
        return lambda group: group.protocol_type in ("consumer", "") or _type(group) == "Consumer"
    if options.share:
        return lambda group: _type(group) == "Share"
    if options.streams:
        return lambda group: _type(group) == "Streams"
    return lambda _: True
