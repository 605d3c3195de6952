"""``ottla topics``: create, list, describe, alter and delete topics, as kafka-topics.sh.

With --json: --list prints [{"name", "topic_id", "internal"}]; --create, --alter and --delete print
{"created" | "altered" | "deleted": [names]}; --describe prints [{"topic", "topic_id", "internal", "partition_count",
"replication_factor", "configs": {key: value}, "partitions": [{"partition", "leader", "replicas", "isr",
"adding_replicas", "removing_replicas", "elr", "last_known_elr"}]}]; what is not known is null.
"""

import argparse
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ottla.cli.arguments import command_parser, given, only_action, refuse_with, require
from ottla.cli.connection import add_connection, client_properties, with_admin
from ottla.cli.errors import CommandError, UsageError
from ottla.cli.output import Output

if TYPE_CHECKING:
    from ottla.clients.admin import Admin, TopicListing

ACTIONS: Final = ("list", "describe", "create", "alter", "delete")
REPORTS: Final = (
    "under-replicated-partitions",
    "unavailable-partitions",
    "under-min-isr-partitions",
    "at-min-isr-partitions",
)
_ALLOWED_WITH: Final = {
    "config": ("alter", "create"),
    "partitions": ("alter", "create"),
    "replication-factor": ("create",),
    "replica-assignment": ("alter", "create"),
    **dict.fromkeys((*REPORTS, "topics-with-overrides"), ("describe",)),
    "if-exists": ("alter", "delete", "describe"),
    "if-not-exists": ("create",),
    "exclude-internal": ("list", "describe"),
}
"""The actions that an option goes with."""
_ALTER_CONFIGS_HINT: Final = "`ottla configs --alter` changes the configuration of a topic"
_COLLISIONS: Final = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. "
    "To avoid issues it is best to use either, but not both."
)
_INT16_MAX: Final = 32767


def parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    made = command_parser("topics", __doc__)
    add_connection(made)
    made.add_argument("--list", action="store_true", help="list the topics")
    made.add_argument("--describe", action="store_true", help="show the partitions and the configuration of topics")
    made.add_argument("--create", action="store_true", help="create a topic")
    made.add_argument("--alter", action="store_true", help="give topics more partitions")
    made.add_argument("--delete", action="store_true", help="delete topics")
    made.add_argument("--topic", help="the topic; a regular expression, except for --create")
    made.add_argument("--topic-id", metavar="ID", help="the id of the topic to describe")
    made.add_argument("--config", action="append", metavar="KEY=VALUE", help="a setting of the new topic; repeatable")
    made.add_argument("--partitions", type=int, metavar="N", help="how many partitions the topic is to have")
    made.add_argument("--replication-factor", type=int, metavar="N", help="how many replicas each partition is to have")
    made.add_argument(
        "--replica-assignment",
        metavar="ID:ID,ID:ID",
        help="the brokers of each partition: those of one with colons, partitions with commas between them",
    )
    for report in REPORTS:
        made.add_argument(f"--{report}", action="store_true", help=f"describe only {report.replace('-', ' ')}")
    made.add_argument("--topics-with-overrides", action="store_true", help="describe only topics with settings")
    made.add_argument("--if-exists", action="store_true", help="do nothing if there is no such topic")
    made.add_argument("--if-not-exists", action="store_true", help="do nothing if the topic exists")
    made.add_argument("--exclude-internal", action="store_true", help="pass over Kafka's own topics")
    made.add_argument(
        "--partition-size-limit-per-response", type=int, metavar="N", help="ask for no more partitions at once"
    )
    return made


def main(arguments: Sequence[str]) -> int:
    """Do what the line says, return the exit code."""
    options = parser().parse_args(arguments)
    action = _check(options)
    output = Output.of(options)

    async def work(admin: "Admin") -> None:
        if action == "describe":
            from ottla.cli.topic_descriptions import describe

            await describe(admin, options, output)
        else:
            await _WORK[action](admin, options, output)

    with_admin(client_properties(options), work)
    return 0


def _check(options: argparse.Namespace) -> str:
    """The action of a line that makes sense."""
    action = only_action(options, *ACTIONS)
    if options.bootstrap_server is None:
        raise UsageError("--bootstrap-server must be specified")
    if action == "describe" and options.if_exists and options.topic is None and options.topic_id is None:
        raise UsageError("--topic or --topic-id is required to describe a topic")
    if action not in ("list", "describe"):
        require(options, "topic")
    if action == "alter":
        if given(options, "config"):
            raise UsageError('Option "[config]" can\'t be used with option "[alter]"', hint=_ALTER_CONFIGS_HINT)
        require(options, "partitions")
    for option, actions in _ALLOWED_WITH.items():
        if action not in actions:
            refuse_with(options, option, action)
    if action == "create":
        refuse_with(options, "replica-assignment", "partitions", "replication-factor")
    refuse_with(options, "topics-with-overrides", *REPORTS)
    return action


async def _list(admin: "Admin", options: argparse.Namespace, output: Output) -> None:
    topics = await matching_topics(admin, options)
    document = [
        {"name": topic.name, "topic_id": str(topic.topic_id), "internal": topic.is_internal}
        for topic in topics.values()
    ]
    output.show(document, list(topics) or [""])  # Apache's tool prints an empty line for no topics


async def _create(admin: "Admin", options: argparse.Namespace, output: Output) -> None:
    from ottla.clients.admin import NewTopic
    from ottla.clients.errors import TopicExistsError

    if options.replication_factor is not None and not 1 <= options.replication_factor <= _INT16_MAX:
        raise CommandError(f"The replication factor must be between 1 and {_INT16_MAX} inclusive")
    if options.partitions is not None and options.partitions < 1:
        raise CommandError("The partitions must be greater than 0")
    topic = NewTopic(
        options.topic,
        -1 if options.partitions is None else options.partitions,
        -1 if options.replication_factor is None else options.replication_factor,
        replica_assignment(options.replica_assignment) if options.replica_assignment else None,
        topic_configs(options.config or ()),
    )
    if "." in topic.name or "_" in topic.name:
        output.note(_COLLISIONS)
    try:
        await admin.create_topics([topic])
    except TopicExistsError:
        if not options.if_not_exists:
            raise
        output.show({"created": []}, ())
    else:
        output.show({"created": [topic.name]}, [f"Created topic {topic.name}."])


async def _alter(admin: "Admin", options: argparse.Namespace, output: Output) -> None:
    from ottla.clients.admin import NewPartitions

    names = await existing_topics(admin, options)
    assignments = replica_assignment(options.replica_assignment) if options.replica_assignment else None
    wanted = {}
    for name, topic in (await admin.describe_topics(names)).items():
        added = None if assignments is None else list(assignments.values())[len(topic.partitions) :]
        wanted[name] = NewPartitions(options.partitions, added)
    if wanted:
        await admin.create_partitions(wanted)
    output.show({"altered": names}, ())


async def _delete(admin: "Admin", options: argparse.Namespace, output: Output) -> None:
    names = await existing_topics(admin, options)
    if names:
        await admin.delete_topics(names)
    output.show({"deleted": names}, ())


_WORK: Final = {"list": _list, "create": _create, "alter": _alter, "delete": _delete}


async def matching_topics(admin: "Admin", options: argparse.Namespace) -> "dict[str, TopicListing]":
    """The topics that the line means, sorted by name."""
    from ottla.cli.topic_filter import TopicFilter

    wanted = TopicFilter(options.topic if options.topic is not None else ".*")
    listings = await admin.list_topics(include_internal=not options.exclude_internal)
    allowed = (name for name in listings if wanted.allows(name, exclude_internal=options.exclude_internal))
    return {name: listings[name] for name in sorted(allowed)}


async def existing_topics(admin: "Admin", options: argparse.Namespace) -> list[str]:
    """The names of the topics that the line means; there has to be one unless the line says --if-exists."""
    names = list(await matching_topics(admin, options))
    if not names and options.topic and not options.if_exists:
        raise CommandError(
            f"Topic '{options.topic}' does not exist as expected", hint="`ottla topics --list` shows which there are"
        )
    return names


def topic_configs(settings: Sequence[str]) -> dict[str, str | None]:
    """The settings of a new topic, each ``key=value``."""
    configs: dict[str, str | None] = {}
    for setting in settings:
        parts = re.split(r"\s*=\s*", setting)
        while parts and not parts[-1]:  # as Java's split leaves off empty ends
            parts.pop()
        if len(parts) != 2:
            raise CommandError(
                'requirement failed: Invalid topic config: all configs to be added must be in the format "key=val".'
            )
        configs[parts[0].strip()] = parts[1].strip()
    return configs


def replica_assignment(text: str) -> dict[int, list[int]]:
    """The brokers of each partition, from ``1:2,2:3``."""
    assignment: dict[int, list[int]] = {}
    for partition, brokers in enumerate(text.split(",")):
        try:
            ids = [int(broker.strip()) for broker in brokers.split(":")]
        except ValueError:
            raise CommandError(f"{brokers!r} in --replica-assignment is not a list of broker ids") from None
        twice = sorted({broker for broker in ids if ids.count(broker) > 1})
        if twice:
            raise CommandError(
                f"Partition replica lists may not contain duplicate entries: {','.join(map(str, twice))}"
            )
        assignment[partition] = ids
        if len(ids) != len(assignment[0]):
            raise CommandError(f"Partition {partition} has different replication factor: {ids}")
    return assignment
