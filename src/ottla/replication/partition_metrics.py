"""kafka.cluster:type=Partition: what a partition's leader knows of it. Read when somebody asks."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from ottla.metrics.names import metric_name
from ottla.metrics.registry import Labels, Registry
from ottla.replication.partition import Partition

_GAUGES: Final[Mapping[str, tuple[str, Callable[[Partition], float]]]] = {
    "UnderReplicated": ("1 if a replica is out of sync", lambda one: int(one.is_under_replicated)),
    "InSyncReplicasCount": ("Replicas in sync", lambda one: len(one.isr) if one.is_leader else 0),
    "UnderMinIsr": ("1 if acks=all is refused", lambda one: int(one.is_under_min_isr)),
    "AtMinIsr": ("1 if no replica can be spared for acks=all", lambda one: int(one.is_at_min_isr)),
    "ReplicasCount": ("Replicas", lambda one: len(one.replicas) if one.is_leader else 0),
    "LastStableOffsetLag": (
        "How far open transactions hold consumers of committed records back",
        lambda one: 0 if one.log is None else one.log.high_watermark - one.log.last_stable_offset,
    ),
}


def register_partitions(registry: Registry, partitions: Callable[[], Sequence[Partition]]) -> None:
    """Show every partition; ``partitions`` gives a list of its own each time."""
    for name, (text, read) in _GAUGES.items():
        registry.live_gauges(metric_name("kafka.cluster", "Partition", name), text, partial(_series, partitions, read))


def _series(
    partitions: Callable[[], Sequence[Partition]], read: Callable[[Partition], float]
) -> Iterator[tuple[Labels, float]]:
    for one in partitions():
        topic, index = one.topic_partition
        yield (("partition", str(index)), ("topic", topic)), read(one)
