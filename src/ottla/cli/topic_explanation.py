"""Sentences about a topic: can it be written and read, is its data safe, does it live long enough? Pure."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ottla.cli.explanations import Explanation, HeldPartition, Progress

if TYPE_CHECKING:
    from ottla.clients.admin import PartitionDescription, TopicDescription
    from ottla.common.topic_partition import TopicPartition

_UNITS: Final = (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1000))
_FOREVER: Final = -1


def explain_topic(
    topic: "TopicDescription",
    configs: Mapping[str, str | None],
    ends: "Mapping[TopicPartition, tuple[int, int]]",
    groups: "Mapping[str, Mapping[TopicPartition, Progress]]",
    held: "Mapping[TopicPartition, HeldPartition] | None" = None,
) -> Explanation:
    """``ends`` are the first and the next offset of each partition, ``groups`` how far each group has read.

    ``held`` are the partitions where open transactions hold back readers of committed records.
    """
    told = Explanation()
    records = sum(end - start for start, end in ends.values())
    replicas = max((len(partition.replicas) for partition in topic.partitions), default=0)
    told.say(
        f"Topic {topic.name} has {len(topic.partitions)} partition(s) with {replicas} replica(s) each, and "
        f"about {records} "
        "records (offsets; compaction and transactions leave gaps)."
    )
    minimum = int(configs.get("min.insync.replicas") or 1)
    healthy = [_explain_partition(partition, minimum, told) for partition in topic.partitions]
    if all(healthy):
        told.say("Every partition has a leader and all its replicas in sync.")
    if minimum > replicas > 1:
        told.say(
            f"min.insync.replicas is {minimum}, but there are only {replicas} replicas, so it counts as {replicas}: "
            "writes with acks=all are refused whenever one of them is out of sync.",
            f"Set min.insync.replicas to {replicas - 1}, or add replicas.",
        )
    elif replicas == 1:
        told.say("There is one replica only: if its broker is lost, so is the data.")
        if minimum > 1:
            told.say(
                f"min.insync.replicas is {minimum}, but counts as 1 with one replica: a write with acks=all is on one "
                "broker when it is acknowledged.",
                "Add replicas.",
            )
    _explain_retention(configs, told)
    _explain_transactions(topic.name, held or {}, told)
    _explain_groups(topic.name, groups, told)
    return told


def _explain_partition(partition: "PartitionDescription", minimum: int, told: Explanation) -> bool:
    """A broker wants no more replicas in sync than the partition has, whatever ``min.insync.replicas`` says."""
    name = f"Partition {partition.partition}"
    minimum = min(minimum, len(partition.replicas))
    behind = [replica for replica in partition.replicas if replica not in partition.isr]
    if partition.leader_id is None:
        told.say(
            f"{name} has no leader and can neither be written nor read: its replicas are on brokers "
            f"{_ids(partition.replicas)}, in sync were {_ids(partition.isr) or 'none'}.",
            f"Start broker {_ids(partition.isr or partition.replicas)}; only if that is lost for good, elect "
            f"another replica "
            "and lose what it does not have (unclean leader election).",
        )
    elif len(partition.isr) < minimum:
        told.say(
            f"{name} has {len(partition.isr)} of {len(partition.replicas)} replicas in sync and needs {minimum} "
            "(min.insync.replicas): writes with acks=all are refused (NOT_ENOUGH_REPLICAS).",
            f"Bring broker {_ids(behind)} back.",
        )
    elif behind:
        told.say(
            f"{name} is under-replicated: broker {_ids(behind)} is behind or down.", f"Look at broker {_ids(behind)}."
        )
    else:
        return True
    return False


def _explain_retention(configs: Mapping[str, str | None], told: Explanation) -> None:
    policy = configs.get("cleanup.policy") or "delete"
    if "delete" not in policy:
        told.say("It is compacted: the last record of each key stays.")
        return
    limits = []
    retention_ms = int(configs.get("retention.ms") or _FOREVER)
    retention_bytes = int(configs.get("retention.bytes") or _FOREVER)
    if retention_ms != _FOREVER:
        limits.append(f"after {duration(retention_ms)}")
    if retention_bytes != _FOREVER:
        limits.append(f"when a partition has more than {retention_bytes} bytes")
    what = " or ".join(limits)
    compacted = ", and it is compacted" if "compact" in policy else ""
    told.say(f"Records are deleted {what}{compacted}." if limits else f"Records are kept for ever{compacted}.")


def _explain_transactions(topic: str, held: "Mapping[TopicPartition, HeldPartition]", told: Explanation) -> None:
    for partition, place in sorted(held.items()):
        whose = f" of producer {place.producer_id}, open from there on" if place.producer_id is not None else ""
        told.say(
            f"Readers of committed records get to offset {place.last_stable_offset} of {place.high_watermark} on "
            f"{partition}, and wait for a transaction{whose}.",
            "`ottla transactions list` shows whose it is, and `ottla explain transaction ID` when it ends; if it is in "
            f"no list, `ottla transactions find-hanging --topic {topic}` finds it.",
        )


def _explain_groups(topic: str, groups: "Mapping[str, Mapping[TopicPartition, Progress]]", told: Explanation) -> None:
    if not groups:
        told.say("No group has committed offsets for it.")
    for group, read in sorted(groups.items()):
        lag = sum(progress.lag for progress in read.values())
        told.say(f"Group {group} is {lag} records behind." if lag else f"Group {group} has read everything.")
        lost = [
            partition
            for partition, progress in sorted(read.items())
            if progress.committed is not None and progress.committed < progress.start
        ]
        if lost:
            told.say(
                f"Records of {', '.join(map(str, lost))} were deleted before group {group} read them.",
                f"Raise retention.ms or retention.bytes of {topic}, or let the group read faster.",
            )


def duration(time_ms: int) -> str:
    """A time in the largest unit of which it is a whole number."""
    for unit, size_ms in _UNITS:
        if time_ms and time_ms % size_ms == 0:
            number = time_ms // size_ms
            return f"{number} {unit}" if number == 1 else f"{number} {unit}s"
    return f"{time_ms} ms"


def _ids(brokers: tuple[int, ...] | list[int]) -> str:
    return " or ".join(map(str, brokers))
