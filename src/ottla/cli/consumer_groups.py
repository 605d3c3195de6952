"""``ottla consumer-groups``: list, describe and delete consumer groups, reset and delete their offsets.

As kafka-consumer-groups.sh, which exits with 0 even if the cluster refused or could not be reached (1 only for a line
that cannot be understood); with --json the exit code is 1 then.

With --json: --list prints [{"group", "type", "state"}]; --describe prints [{"group", "state", "partitions": [{"topic",
"partition", "leader_epoch", "current_offset", "log_end_offset", "lag", "consumer_id", "host", "client_id"}]}], with
--members [{"group", "state", "members": [{"consumer_id", "instance_id", "host", "client_id", "partition_count",
"current_epoch", "current_assignment", "target_epoch", "target_assignment", "upgraded"}]}], with --state [{"group",
"state", "coordinator": {"id", "host", "port"}, "assignment_strategy", "member_count", "group_epoch",
"target_assignment_epoch"}]; --reset-offsets prints [{"group", "offsets": [{"topic", "partition", "new_offset"}],
"error"}]; --delete prints [{"group", "error"}]; --delete-offsets prints {"group", "error", "partitions": [{"topic",
"partition", "error"}]}; --validate-regex prints {"regex", "error"}. What is not known is null.
"""

import argparse
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final

from ottla.cli.arguments import command_parser, given, only_action, refuse_with, require
from ottla.cli.connection import add_connection, client_properties, with_admin
from ottla.cli.errors import CommandError, UsageError, hint_of, tell
from ottla.cli.output import Output, Table
from ottla.common.error_words import in_words

if TYPE_CHECKING:
    from ottla.clients.admin import Admin, GroupListing

NAME: Final = "consumer-groups"
ACTIONS: Final = ("list", "describe", "delete", "reset-offsets", "delete-offsets", "validate-regex")
SCENARIOS: Final = (
    "to-offset",
    "shift-by",
    "to-datetime",
    "by-duration",
    "to-earliest",
    "to-latest",
    "to-current",
    "from-file",
)
_NO_ACTION: Final = (
    "WARN: No action will be performed as the --execute option is missing. In version 5.0, this command will require "
    "either --dry-run or --execute to be specified. You should add the --dry-run option explicitly if you are "
    "scripting this command and want to keep the current default behavior without prompting."
)
STATES: Final = (
    "Assigning",
    "CompletingRebalance",
    "Dead",
    "Empty",
    "PreparingRebalance",
    "Reconciling",
    "Stable",
)
TYPES: Final = ("Classic", "Consumer")

Work = Callable[["Admin", argparse.Namespace, Output], Awaitable[bool]]
"""What an action does; it says whether all went well."""


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser(NAME, __doc__)
    add_connection(made)
    made.add_argument("--list", action="store_true", help="list the groups")
    made.add_argument("--describe", action="store_true", help="describe groups")
    made.add_argument("--delete", action="store_true", help="delete groups")
    made.add_argument("--reset-offsets", action="store_true", help="set the offsets of groups without members")
    made.add_argument("--delete-offsets", action="store_true", help="forget the offsets of a group for topics")
    made.add_argument("--validate-regex", metavar="REGEX", help="say whether groups can subscribe with it")
    made.add_argument("--group", action="append", help="the group; repeatable")
    made.add_argument("--all-groups", action="store_true", help="all groups")
    made.add_argument("--topic", action="append", metavar="TOPIC[:N,…]", help="a topic, or some of its partitions")
    made.add_argument("--all-topics", action="store_true", help="all topics that the group has offsets of")
    made.add_argument("--timeout", type=int, default=30000, metavar="MS", help="how long to wait (30000)")
    made.add_argument("--offsets", action="store_true", help="describe the offsets: what --describe does by itself")
    made.add_argument("--members", action="store_true", help="describe the members")
    made.add_argument("--state", nargs="?", const="", metavar="STATE,…", help="the state; list groups in these states")
    made.add_argument("--type", nargs="?", const="", metavar="TYPE,…", help="the type; list groups of these types")
    made.add_argument("--verbose", action="store_true", help="describe more")
    made.add_argument("--dry-run", action="store_true", help="only show the new offsets")
    made.add_argument("--execute", action="store_true", help="set the new offsets")
    made.add_argument("--export", action="store_true", help="print the new offsets as CSV, for --from-file")
    made.add_argument("--to-offset", type=int, metavar="OFFSET", help="reset to this offset")
    made.add_argument("--shift-by", type=int, metavar="N", help="reset to N after the current offset, or before if < 0")
    made.add_argument("--to-datetime", metavar="TIME", help="reset to a time, YYYY-MM-DDThh:mm:ss.sss[+hh:mm]")
    made.add_argument("--by-duration", metavar="DURATION", help="reset to so long ago, PnDTnHnMnS")
    made.add_argument("--to-earliest", action="store_true", help="reset to the first offset")
    made.add_argument("--to-latest", action="store_true", help="reset to the end")
    made.add_argument("--to-current", action="store_true", help="reset to the committed offset")
    made.add_argument("--from-file", metavar="FILE", help="reset to the offsets of a CSV file")
    return made


def main(arguments: Sequence[str]) -> int:
    """Do what the line says, return the exit code."""
    options = parser().parse_args(arguments)
    output = Output.of(options)
    action = _check(options, output)
    if action == "validate-regex":
        return 0 if _validate_regex(options.validate_regex, output) or not output.as_json else 1
    from ottla.common.errors import KafkaError

    try:
        well = with_admin(client_properties(options), lambda admin: _work(action)(admin, options, output))
    except UsageError:
        raise
    except (KafkaError, CommandError) as error:
        hint = error.hint if isinstance(error, CommandError) else hint_of(error)
        tell(NAME, in_words(error), hint)
        well = False
    return 1 if not well and output.as_json else 0


def _work(action: str) -> Work:
    if action == "list":
        return _list
    if action == "delete":
        return _delete
    if action == "describe":
        from ottla.cli.group_descriptions import describe

        return describe
    if action == "reset-offsets":
        from ottla.cli.reset_offsets import reset_offsets

        return reset_offsets
    from ottla.cli.delete_offsets import delete_offsets

    return delete_offsets


def _check(options: argparse.Namespace, output: Output) -> str:
    """The action of a line that makes sense."""
    if options.validate_regex is None:
        require(options, "bootstrap-server")
    _refuse_without(options, ("members", "offsets", "verbose"), ("describe",))
    _refuse_without(options, ("state",), ("describe", "list"))
    _refuse_without(options, ("type",), ("list",))
    if options.describe:
        _one_group_option(options, "describe")
        if sum(given(options, each) for each in ("members", "offsets", "state")) > 1:
            raise UsageError("Option [describe] takes at most one of these options: [members], [offsets], [state]")
        if options.state:
            raise UsageError("Option [describe] does not take a value for [state]")
    if options.delete:
        _one_group_option(options, "delete")
        if options.topic is not None:
            raise UsageError(
                "The consumer does not support topic-specific offset deletion from a consumer group.",
                hint="--delete-offsets does that",
            )
    if options.delete_offsets and (options.group is None or options.topic is None):
        raise UsageError("Option [delete-offsets] takes the following options: [group], [topic]")
    if options.reset_offsets:
        _check_reset(options, output)
    refuse_with(options, "group", "all-groups", "list")
    refuse_with(options, "topic", "list", "describe")
    return only_action(options, *ACTIONS)


def _check_reset(options: argparse.Namespace, output: Output) -> None:
    if options.dry_run and options.execute:
        raise UsageError("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    if not options.dry_run and not options.execute:
        output.warn(_NO_ACTION)
    _one_group_option(options, "reset-offsets")
    for scenario in SCENARIOS:
        refuse_with(options, scenario, *(other for other in SCENARIOS if other != scenario))
    if not any(given(options, scenario) for scenario in SCENARIOS):
        scenarios = ", ".join(f"[{scenario}]" for scenario in SCENARIOS)
        raise UsageError(f"Option '[reset-offsets]' requires one of the following scenarios: [{scenarios}]")
    if not options.all_topics and options.topic is None and options.from_file is None:
        raise UsageError("One of the reset scopes should be defined: --all-topics, --topic.")


def _refuse_without(options: argparse.Namespace, names: Sequence[str], needed: Sequence[str]) -> None:
    for name in names:
        if given(options, name) and not any(given(options, each) for each in needed):
            raise UsageError(f"Option(s) [{name}] are unavailable given other options on the command line")


def _one_group_option(options: argparse.Namespace, action: str) -> None:
    if options.group is None and not options.all_groups:
        raise UsageError(f"Option [{action}] takes one of these options: [all-groups], [group]")


async def wanted_groups(admin: "Admin", options: argparse.Namespace) -> list[str]:
    """The groups that the line means."""
    if not options.all_groups:
        return list(dict.fromkeys(options.group))
    return sorted(await _consumer_groups(admin, options))


async def _consumer_groups(admin: "Admin", options: argparse.Namespace) -> "dict[str, GroupListing]":
    from ottla.clients.admin import GroupType

    types = [GroupType.CLASSIC, GroupType.CONSUMER]
    return await admin.list_groups(types=types, protocol_types=("", "consumer"), timeout_ms=options.timeout)


def _names(text: str, known: Sequence[str], what: str, plural: str) -> list[str]:
    """The names in a list, as they are spelled; ``PreparingRebalance`` may be ``preparing_rebalance``, too."""
    by_name = {name.lower(): name for name in known}
    found = [by_name.get(each.strip().replace("_", "").lower()) for each in text.split(",")] if text else []
    if None in found:
        raise UsageError(f"Invalid {what} list '{text}'. Valid {plural} are: {', '.join(known)}")
    return [name for name in found if name is not None]


async def _list(admin: "Admin", options: argparse.Namespace, output: Output) -> bool:
    from ottla.clients.admin import GroupState, GroupType

    if options.state is None and options.type is None:
        groups = await _consumer_groups(admin, options)
    else:
        states = [GroupState(name) for name in _names(options.state or "", STATES, "state", "states")]
        types = [GroupType(name) for name in _names(options.type or "", TYPES, "types", "types")]
        groups = await admin.list_groups(
            states=states, types=types, protocol_types=("", "consumer"), timeout_ms=options.timeout
        )
    found = [groups[name] for name in sorted(groups)]
    columns = [("GROUP", [group.group_id for group in found])]
    if options.type is not None:
        columns.append(("TYPE", [str(group.type) for group in found]))
    if options.state is not None:
        columns.append(("STATE", [str(group.state) for group in found]))
    document = [{"group": each.group_id, "type": str(each.type), "state": str(each.state)} for each in found]
    if len(columns) == 1:
        output.show(document, columns[0][1])
        return True
    headings = tuple(heading for heading, _ in columns)
    rows = list(zip(*(cells for _, cells in columns), strict=True))
    line = f"%-{max([15, *map(len, columns[0][1])]) + 10}s" + " %-20s" * (len(columns) - 1)
    output.show(document, [line % row for row in (headings, *rows)], [Table(headings, rows)])
    return True


async def _delete(admin: "Admin", options: argparse.Namespace, output: Output) -> bool:
    from ottla.common.errors import KafkaError

    results = await admin.delete_groups(
        await wanted_groups(admin, options), raise_errors=False, timeout_ms=options.timeout
    )
    failed = {group: error for group, error in results.items() if isinstance(error, KafkaError)}
    deleted = ", ".join(f"'{group}'" for group in results if group not in failed)
    lines = [f"Deletion of requested consumer groups ({deleted}) was successful."]
    if failed:
        lines = ["", f"These consumer groups were deleted successfully: {deleted}"] if deleted else []
        for group, error in failed.items():
            tell(NAME, f"Group '{group}' could not be deleted due to: {in_words(error)}", hint_of(error))
    document = [
        {"group": group, "error": None if error is None else in_words(error)} for group, error in results.items()
    ]
    output.show(document, lines)
    return not failed


def _validate_regex(regex: str, output: Output) -> bool:
    import re2  # type: ignore[import-untyped]

    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(regex, options=options)
    except re2.error as error:
        why = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        output.show({"regex": regex, "error": why}, [f"The regular expression `{regex}` is invalid: {why}."])
        return False
    output.show({"regex": regex, "error": None}, [f"The regular expression `{regex}` is valid."])
    return True
