"""What the group coordinator counts, under the names of Apache's metrics."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, Protocol

from ottla.group.group import Group, GroupType
from ottla.metrics.names import metric_name
from ottla.metrics.registry import Registry

_sensor: Final = partial(metric_name, "kafka.server", "group-coordinator-metrics")
_manager: Final = partial(metric_name, "kafka.coordinator.group", "GroupMetadataManager")

_CLASSIC_STATES: Final = ("PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty")
_CONSUMER_STATES: Final = ("Empty", "Assigning", "Reconciling", "Stable", "Dead")


class GroupMetrics:
    """Counters of all shards together: ``metrics.offset_commits.value += n``."""

    __slots__ = (
        "completed_rebalances",
        "consumer_group_rebalances",
        "offset_commits",
        "offset_deletions",
        "offset_expirations",
    )

    def __init__(self, registry: Registry) -> None:
        counter = registry.counter
        self.offset_commits = counter(_sensor("offset-commit-count"), "Offsets committed")
        self.offset_expirations = counter(_sensor("offset-expiration-count"), "Offsets that expired")
        self.offset_deletions = counter(_sensor("offset-deletion-count"), "Offsets that somebody deleted")
        self.completed_rebalances = counter(
            _sensor("group-completed-rebalance-count"), "Rebalances that classic groups completed"
        )
        self.consumer_group_rebalances = counter(
            _sensor("consumer-group-rebalance-count"), "Rebalances of consumer groups"
        )


class MeasuredShard(Protocol):
    """What gauges read of a shard."""

    @property
    def all_groups(self) -> Iterable[Group]:
        """Its groups, of every kind."""

    @property
    def num_offsets(self) -> int:
        """How many offsets it holds."""


def register_gauges(registry: Registry, shards: Callable[[], Iterable[MeasuredShard]]) -> None:
    """Gauges over the shards that are active; they go through the groups only when somebody asks, in slices."""

    def groups() -> list[Group]:
        return [group for shard in shards() for group in shard.all_groups]

    def count(name: str, documentation: str, matches: Callable[[Group], bool], **labels: str) -> None:
        registry.sum_gauge(name, documentation, groups, matches, **labels)

    registry.gauge(
        _manager("NumOffsets"), "Offsets that are held", lambda: sum(shard.num_offsets for shard in shards())
    )
    is_classic = partial(_is_of, GroupType.CLASSIC)
    count(_manager("NumGroups"), "Classic groups", is_classic)
    for state in _CLASSIC_STATES:
        count(_manager(f"NumGroups{state}"), f"Classic groups that are {state}", partial(_is_in, is_classic, state))
    for kind in (GroupType.CLASSIC, GroupType.CONSUMER):
        count(_sensor("group-count"), "Groups by protocol", partial(_is_of, kind), protocol=str(kind))
    is_consumer = partial(_is_of, GroupType.CONSUMER)
    for state in _CONSUMER_STATES:
        count(
            _sensor("consumer-group-count"),
            "Consumer groups by state",
            partial(_is_in, is_consumer, state),
            state=state,
        )


def _is_of(kind: GroupType, group: Group) -> bool:
    return group.type is kind


def _is_in(is_kind: Callable[[Group], bool], state: str, group: Group) -> bool:
    return is_kind(group) and group.state_name == state
