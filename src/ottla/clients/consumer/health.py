"""Why nothing arrives, in one word and one sentence. Pure: it looks at what the parts of a consumer know."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from ottla.clients.cluster.metadata import ClusterMetadata
from ottla.clients.consumer.membership import MembershipState
from ottla.clients.consumer.node_outages import NodeOutages
from ottla.clients.consumer.offset_lookup import IsolationLevel
from ottla.clients.consumer.partition_state import FetchState, PartitionState
from ottla.clients.consumer.subscription_state import SubscriptionState, SubscriptionType
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition

SILENCE_MS: Final = 1_000
"""How long a poll may be ago before it is missed."""
SHOWN_MAX: Final = 3
"""How many partitions a sentence names."""


class HealthState(Enum):
    """From what stops everything to what is as it should be."""

    CLOSED = "closed"
    FAILED = "failed"
    """The next call raises an error."""
    NOT_SUBSCRIBED = "not subscribed"
    POLL_NOT_CALLED = "poll not called"
    """Records wait, or the group waits, for the user."""
    NO_ASSIGNMENT = "no assignment"
    """The group has given no partitions, yet or at all."""
    REBALANCING = "rebalancing"
    ALL_PAUSED = "all paused"
    NOT_AUTHORIZED = "not authorized"
    TOPIC_MISSING = "topic missing"
    BROKER_UNREACHABLE = "broker unreachable"
    NO_LEADER = "no leader"
    NO_POSITION = "no position"
    """Committed offsets are fetched, offsets looked up, or a position validated."""
    FETCH_ERROR = "fetch error"
    BEHIND_TRANSACTION = "behind transaction"
    """All that could be read belongs to, or lies behind, a transaction that is still open."""
    AT_END = "at end"
    FETCHING = "fetching"


@dataclass(frozen=True, slots=True)
class ConsumerHealth:
    """A state, and one sentence that says why."""

    state: HealthState
    reason: str

    @property
    def is_fine(self) -> bool:
        """Whether records arrive, or there are none."""
        return self.state in (HealthState.FETCHING, HealthState.AT_END)


@dataclass(slots=True)
class HealthView:
    """What there is to look at."""

    subscription: SubscriptionState
    metadata: ClusterMetadata
    outages: NodeOutages
    isolation: IsolationLevel
    now_ms: int
    last_poll_ms: int
    max_poll_interval_ms: int
    overdue_nodes: Mapping[int, int] = field(default_factory=dict)
    """Nodes that did not answer a fetch in the time it may take, with the time it was sent."""
    fetch_codes: Mapping[TopicPartition, int] = field(default_factory=dict)
    membership_state: MembershipState | None = None
    membership_reason: str = ""
    error: KafkaError | None = None
    has_records: bool = False
    is_closed: bool = False


def consumer_health(view: HealthView) -> ConsumerHealth:
    """The first thing that is wrong, from the user's end to the broker's."""
    for check in _CHECKS:
        found = check(view)
        if found is not None:
            return found
    return ConsumerHealth(HealthState.FETCHING, "Records are being fetched.")


def _closed(view: HealthView) -> ConsumerHealth | None:
    return ConsumerHealth(HealthState.CLOSED, "The consumer is closed.") if view.is_closed else None


def _failed(view: HealthView) -> ConsumerHealth | None:
    if view.error is None:
        return None
    return ConsumerHealth(HealthState.FAILED, f"The next poll raises {type(view.error).__name__}: {view.error}")


def _unsubscribed(view: HealthView) -> ConsumerHealth | None:
    if view.subscription.type is not SubscriptionType.NONE:
        return None
    return ConsumerHealth(HealthState.NOT_SUBSCRIBED, "Neither subscribe nor assign was called.")


def _poll_not_called(view: HealthView) -> ConsumerHealth | None:
    silent_ms = view.now_ms - view.last_poll_ms
    if view.membership_state is MembershipState.STALLED or silent_ms > view.max_poll_interval_ms:
        return ConsumerHealth(
            HealthState.POLL_NOT_CALLED,
            f"Nobody has polled for {_seconds(silent_ms)}, longer than max.poll.interval.ms allows; poll again.",
        )
    return None


_MEMBERSHIP: Final = {
    MembershipState.UNJOINED: HealthState.NO_ASSIGNMENT,
    MembershipState.JOINING: HealthState.NO_ASSIGNMENT,
    MembershipState.RECONCILING: HealthState.REBALANCING,
    MembershipState.FENCED: HealthState.REBALANCING,
    MembershipState.LEAVING: HealthState.REBALANCING,
    MembershipState.FATAL: HealthState.FAILED,
}


def _group(view: HealthView) -> ConsumerHealth | None:
    if not view.subscription.is_group_managed or view.membership_state is None:
        return None
    state = _MEMBERSHIP.get(view.membership_state)
    has_partitions = bool(view.subscription.partitions)
    if state is None:
        if has_partitions:
            return None
        missing = _topic_missing(view) or _nothing_matches(view)
        if missing is not None:
            return missing
        return ConsumerHealth(
            HealthState.NO_ASSIGNMENT, "The group has more members than partitions; this one has none."
        )
    if state is HealthState.NO_ASSIGNMENT and has_partitions:
        state = HealthState.REBALANCING
    return ConsumerHealth(state, view.membership_reason)


def _records_wait(view: HealthView) -> ConsumerHealth | None:
    if not view.has_records:
        return None
    silent_ms = view.now_ms - view.last_poll_ms
    if silent_ms < SILENCE_MS:
        return ConsumerHealth(HealthState.FETCHING, "Records are there and are being polled.")
    return ConsumerHealth(HealthState.POLL_NOT_CALLED, f"Records wait; nobody has polled for {_seconds(silent_ms)}.")


def _all_paused(view: HealthView) -> ConsumerHealth | None:
    states = view.subscription.partitions
    if not states:
        return ConsumerHealth(HealthState.NO_ASSIGNMENT, "The assignment is empty.")
    if all(state.paused for state in states.values()):
        return ConsumerHealth(HealthState.ALL_PAUSED, f"All partitions are paused: {_names(states)}.")
    return None


def _topic_errors(
    view: HealthView, state: HealthState, sentence: str, codes: frozenset[ErrorCode]
) -> ConsumerHealth | None:
    topics = sorted(
        {
            topic
            for topic in view.subscription.topics | {partition.topic for partition in view.subscription.partitions}
            if (known := view.metadata.topics.get(topic)) is not None and known.error_code in codes
        }
        | {partition.topic for partition, code in view.fetch_codes.items() if code in codes}
    )
    return ConsumerHealth(state, sentence.format(", ".join(topics))) if topics else None


def _not_authorized(view: HealthView) -> ConsumerHealth | None:
    codes = frozenset({ErrorCode.TOPIC_AUTHORIZATION_FAILED})
    return _topic_errors(view, HealthState.NOT_AUTHORIZED, "This client may not read {}.", codes)


def _topic_missing(view: HealthView) -> ConsumerHealth | None:
    codes = frozenset(
        {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.INVALID_TOPIC_EXCEPTION}
    )
    found = _topic_errors(view, HealthState.TOPIC_MISSING, "The cluster has no topic {}: was it deleted?", codes)
    if found is not None:
        return found
    absent = [
        partition
        for partition in view.subscription.partitions
        if (topic := view.metadata.topics.get(partition.topic)) is not None
        and topic.error_code == ErrorCode.NONE
        and partition.partition not in topic.partitions
    ]
    return (
        ConsumerHealth(HealthState.TOPIC_MISSING, f"The cluster has no partition {_names(absent)}.") if absent else None
    )


def _nothing_matches(view: HealthView) -> ConsumerHealth | None:
    pattern = view.subscription.pattern
    if pattern is None or any(pattern.fullmatch(topic) for topic in view.metadata.topics):
        return None
    return ConsumerHealth(HealthState.TOPIC_MISSING, f"The cluster has no topic that matches {pattern.pattern}.")


def _unreachable(view: HealthView) -> ConsumerHealth | None:
    for partition in _active(view):
        leader = view.metadata.leader(*partition)
        if leader is None:
            continue
        outage = view.outages.outage(leader.id)
        if outage is not None:
            age = _seconds(view.now_ms - outage.since_ms)
            return ConsumerHealth(
                HealthState.BROKER_UNREACHABLE, f"Node {leader} cannot be reached since {age} ago: {outage.reason}"
            )
        sent_ms = view.overdue_nodes.get(leader.id)
        if sent_ms is not None:
            age = _seconds(view.now_ms - sent_ms)
            return ConsumerHealth(
                HealthState.BROKER_UNREACHABLE, f"Node {leader} has not answered a fetch that was sent {age} ago."
            )
    return None


def _no_leader(view: HealthView) -> ConsumerHealth | None:
    lost = [partition for partition in _active(view) if view.metadata.leader(*partition) is None]
    return ConsumerHealth(HealthState.NO_LEADER, f"No leader is known of {_names(lost)}.") if lost else None


_NO_POSITION: Final = {
    FetchState.INITIALIZING: "The committed offsets of {} are being fetched.",
    FetchState.AWAIT_RESET: "The offsets to begin at are being looked up for {}.",
    FetchState.AWAIT_VALIDATION: "The positions in {} are being compared with the log of a new leader.",
}


def _no_position(view: HealthView) -> ConsumerHealth | None:
    for state, sentence in _NO_POSITION.items():
        waiting = [partition for partition, each in _active(view).items() if each.fetch_state is state]
        if waiting:
            return ConsumerHealth(HealthState.NO_POSITION, sentence.format(_names(waiting)))
    return None


def _fetch_error(view: HealthView) -> ConsumerHealth | None:
    for partition, code in view.fetch_codes.items():
        if partition in view.subscription.partitions and code != ErrorCode.NONE:
            return ConsumerHealth(HealthState.FETCH_ERROR, f"Fetching from {partition} gives {ErrorCode(code).name}.")
    return None


def _at_end(view: HealthView) -> ConsumerHealth | None:
    active = _active(view)
    if not active or any(state.position is None or state.high_watermark < 0 for state in active.values()):
        return None
    if all(state.position.offset >= state.high_watermark for state in active.values()):  # type: ignore[union-attr]
        return ConsumerHealth(HealthState.AT_END, f"Everything in {_names(active)} was read; nothing new was written.")
    if view.isolation is not IsolationLevel.READ_COMMITTED:
        return None
    behind = [
        partition
        for partition, state in active.items()
        if state.position is not None and state.last_stable_offset <= state.position.offset < state.high_watermark
    ]
    at_end = all(
        state.position is not None and state.position.offset >= state.last_stable_offset for state in active.values()
    )
    if not behind or not at_end:
        return None
    return ConsumerHealth(
        HealthState.BEHIND_TRANSACTION,
        f"A transaction that is still open holds back what was written to {_names(behind)}.",
    )


def _active(view: HealthView) -> dict[TopicPartition, PartitionState]:
    return {partition: state for partition, state in view.subscription.partitions.items() if not state.paused}


def _names(partitions: "Mapping[TopicPartition, object] | list[TopicPartition]") -> str:
    names = [str(partition) for partition in partitions]
    shown = ", ".join(names[:SHOWN_MAX])
    return shown if len(names) <= SHOWN_MAX else f"{shown} and {len(names) - SHOWN_MAX} more"


def _seconds(duration_ms: int) -> str:
    return f"{duration_ms / 1000:.1f} s"


_CHECKS: Final[tuple[Callable[[HealthView], ConsumerHealth | None], ...]] = (
    _closed,
    _failed,
    _unsubscribed,
    _poll_not_called,
    _group,
    _not_authorized,
    _topic_missing,
    _all_paused,
    _records_wait,
    _unreachable,
    _no_leader,
    _no_position,
    _fetch_error,
    _at_end,
)
