"""``ottla topics --describe``: which topics and partitions to show, and how."""

import argparse
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ottla.cli.errors import CommandError
from ottla.cli.output import Output, Table
from ottla.cli.topics import existing_topics
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import ZERO_UUID, Uuid

if TYPE_CHECKING:
    from ottla.clients.admin import Admin, PartitionDescription, PartitionReassignment, TopicDescription

_COLUMNS: Final = ("Partition", "Leader", "Replicas", "Isr", "Elr", "LastKnownElr")
_PARTITION_LIMIT: Final = 2000
_CHANGES: Final = ("Adding Replicas", "Removing Replicas")


@dataclass(frozen=True, slots=True)
class DescribedPartition:
    """A partition, and how its replicas are changing if they are."""

    topic: str
    info: "PartitionDescription"
    reassignment: "PartitionReassignment | None" = None

    @property
    def replication_factor(self) -> int:
        """How many replicas it is to have, while more or fewer have it."""
        change = self.reassignment
        if change is None or not set(self.info.replicas) & {*change.adding_replicas, *change.removing_replicas}:
            return len(self.info.replicas)  # nothing changes, or the change has ended since we asked
        return len(change.replicas) - len(change.adding_replicas)

    @property
    def changes(self) -> dict[str, Collection[int]]:
        """Replicas that come and go, under Apache's headings."""
        change = self.reassignment
        return (
            {}
            if change is None
            else dict(zip(_CHANGES, (change.adding_replicas, change.removing_replicas), strict=True))
        )


@dataclass(frozen=True, slots=True)
class Described:
    """A topic with the settings that are not defaults, and its partitions in order."""

    info: "TopicDescription"
    configs: Mapping[str, str | None]
    min_insync_replicas: int
    partitions: tuple[DescribedPartition, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """What to leave out: with a report on partitions the topics' own lines, with one on settings the partitions'."""

    under_replicated: bool
    unavailable: bool
    under_min_isr: bool
    at_min_isr: bool
    overrides: bool
    live_brokers: frozenset[int]

    @property
    def shows_topics(self) -> bool:
        """Whether there are lines for topics."""
        return not (self.under_replicated or self.unavailable or self.under_min_isr or self.at_min_isr)

    def shows_topic(self, topic: Described) -> bool:
        """Whether this topic has a line."""
        return self.shows_topics and (not self.overrides or bool(topic.configs))

    def shows_partition(self, topic: Described, partition: DescribedPartition) -> bool:
        """Whether this partition has a line."""
        if self.overrides or self.shows_topics:
            return not self.overrides
        leader, in_sync = partition.info.leader_id, len(partition.info.isr)
        return (
            (self.under_replicated and partition.replication_factor > in_sync)
            or (self.unavailable and leader not in self.live_brokers)
            or (self.under_min_isr and (leader is None or in_sync < topic.min_insync_replicas))
            or (self.at_min_isr and in_sync == topic.min_insync_replicas)
        )


async def describe(admin: "Admin", options: argparse.Namespace, output: Output) -> None:
    """Ask, and print what is asked for."""
    described = await _described(admin, options)
    nodes = (await admin.describe_cluster()).nodes
    report = Report(
        options.under_replicated_partitions,
        options.unavailable_partitions,
        options.under_min_isr_partitions,
        options.at_min_isr_partitions,
        options.topics_with_overrides,
        frozenset(node.id for node in nodes),
    )
    output.show(documents(described, report), lines(described, report), tables(described, report))


async def _described(admin: "Admin", options: argparse.Namespace) -> list[Described]:
    from ottla.clients.admin import ConfigResource, ConfigResourceType

    topics = await _topics(admin, options)
    resources = {name: ConfigResource(ConfigResourceType.TOPIC, name) for name in topics}
    configs = await admin.describe_configs(resources.values())
    partitions = [
        TopicPartition(name, partition.partition) for name, topic in topics.items() for partition in topic.partitions
    ]
    changes = await _reassignments(admin, partitions)
    described = []
    for name, topic in sorted(topics.items()):
        entries = configs[resources[name]]
        minimum = entries.get("min.insync.replicas")
        described.append(
            Described(
                topic,
                {key: entry.value for key, entry in sorted(entries.items()) if not entry.is_default},
                1 if minimum is None or minimum.value is None else int(minimum.value),
                tuple(
                    DescribedPartition(name, info, changes.get(TopicPartition(name, info.partition)))
                    for info in sorted(topic.partitions, key=lambda each: each.partition)
                ),
            )
        )
    return described


async def _topics(admin: "Admin", options: argparse.Namespace) -> "dict[str, TopicDescription]":
    topic_id = _topic_id(options.topic_id)
    if topic_id is not None and topic_id != ZERO_UUID:
        listings = await admin.list_topics(include_internal=not options.exclude_internal)
        if topic_id not in {topic.topic_id for topic in listings.values()}:
            if options.if_exists:
                return {}
            raise CommandError(
                f"TopicId '{topic_id}' does not exist as expected",
                hint="`ottla topics --list --json` shows which there are",
            )
        return {topic.name: topic for topic in (await admin.describe_topics_by_id([topic_id])).values()}
    names = await existing_topics(admin, options)
    limit = options.partition_size_limit_per_response
    return await admin.describe_topics(names, partition_limit=_PARTITION_LIMIT if limit is None else limit)


def _topic_id(text: str | None) -> Uuid | None:
    try:
        return None if text is None else Uuid.from_string(text)
    except ValueError as error:
        raise CommandError(f"--topic-id: {error}") from None


async def _reassignments(
    admin: "Admin", partitions: Collection[TopicPartition]
) -> "Mapping[TopicPartition, PartitionReassignment]":
    from ottla.clients.errors import ClusterAuthorizationError, UnsupportedVersionError

    try:
        return await admin.list_partition_reassignments(partitions)
    except (UnsupportedVersionError, ClusterAuthorizationError):
        return {}


def lines(topics: Iterable[Described], report: Report) -> list[str]:
    """Apache's lines: fields with tabs between them, partitions set in under their topic."""
    printed = []
    for topic in topics:
        if report.shows_topic(topic):
            topic_id = [] if topic.info.topic_id == ZERO_UUID else [f"TopicId: {topic.info.topic_id}"]
            configs = ",".join(f"{key}={'null' if value is None else value}" for key, value in topic.configs.items())
            fields = (
                f"Topic: {topic.info.name}",
                *topic_id,
                f"PartitionCount: {len(topic.partitions)}",
                f"ReplicationFactor: {topic.partitions[0].replication_factor}",
                f"Configs: {configs}",
            )
            printed.append("\t".join(fields))
        printed += [_line(each) for each in topic.partitions if report.shows_partition(topic, each)]
    return printed


def _line(partition: DescribedPartition) -> str:
    info = partition.info
    fields = (
        f"\tTopic: {partition.topic}",
        f"Partition: {info.partition}",
        f"Leader: {'none' if info.leader_id is None else info.leader_id}",
        f"Replicas: {_ids(info.replicas)}",
        f"Isr: {_ids(info.isr)}",
        *(f"{heading}: {_ids(ids)}" for heading, ids in partition.changes.items()),
        f"Elr: {_ids(info.eligible_leader_replicas)}",
        f"LastKnownElr: {_ids(info.last_known_elr)}",
    )
    return "\t".join(fields)


def _ids(ids: Iterable[int] | None) -> str:
    return "N/A" if ids is None else ",".join(map(str, ids))


def tables(topics: Iterable[Described], report: Report) -> list[Table]:
    """A table a topic, with the topic's own line for its title; one for all settings, and one for a report."""
    topics = [topic for topic in topics if not report.shows_topics or report.shows_topic(topic)]
    if report.overrides:
        rows = [(topic.info.name, key, value) for topic in topics for key, value in topic.configs.items()]
        return [Table(("Topic", "Setting", "Value"), rows)]
    shown = {
        topic.info.name: [each for each in topic.partitions if report.shows_partition(topic, each)] for topic in topics
    }
    if not report.shows_topics:
        found = [(name, *_cells(each)) for name, partitions in shown.items() for each in partitions]
        return [Table(("Topic", *_COLUMNS), found)]
    made = []
    for topic in topics:
        changing = any(each.changes for each in topic.partitions)
        rows = [_cells(each, changes=changing) for each in shown[topic.info.name]]
        title = f"{topic.info.name} ({topic.info.topic_id}): {len(topic.partitions)} partitions"
        if topic.configs:
            title += "; " + ", ".join(f"{key}={value}" for key, value in topic.configs.items())
        made.append(Table((*_COLUMNS, *(_CHANGES if changing else ())), rows, title))
    return made


def _cells(partition: DescribedPartition, *, changes: bool = False) -> tuple[Any, ...]:
    info = partition.info
    cells = [info.partition, info.leader_id, _ids(info.replicas), _ids(info.isr)]
    cells += [_ids(ids) if ids else None for ids in (info.eligible_leader_replicas, info.last_known_elr)]
    if changes:
        cells += [_ids(partition.changes.get(heading, ())) or None for heading in _CHANGES]
    return tuple(cells)


def documents(topics: Iterable[Described], report: Report) -> list[dict[str, Any]]:
    """What --json prints: topics with the partitions that the report shows, without those that have none to show."""
    printed = []
    for topic in topics:
        partitions = [_document(each) for each in topic.partitions if report.shows_partition(topic, each)]
        if not partitions and not report.shows_topic(topic):
            continue
        printed.append(
            {
                "topic": topic.info.name,
                "topic_id": str(topic.info.topic_id),
                "internal": topic.info.is_internal,
                "partition_count": len(topic.partitions),
                "replication_factor": topic.partitions[0].replication_factor,
                "configs": dict(topic.configs),
                "partitions": partitions,
            }
        )
    return printed


def _document(partition: DescribedPartition) -> dict[str, Any]:
    info, change = partition.info, partition.reassignment
    elr, last_known = info.eligible_leader_replicas, info.last_known_elr
    return {
        "partition": info.partition,
        "leader": info.leader_id,
        "replicas": list(info.replicas),
        "isr": list(info.isr),
        "adding_replicas": [] if change is None else list(change.adding_replicas),
        "removing_replicas": [] if change is None else list(change.removing_replicas),
        "elr": None if elr is None else list(elr),
        "last_known_elr": None if last_known is None else list(last_known),
    }
