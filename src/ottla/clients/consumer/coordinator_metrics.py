"""What a member of a group counts. Names are Apache's (``consumer-coordinator-metrics``), with dashes."""

from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.protocol.message import Message
from ottla.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from ottla.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from ottla.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

_NEVER: Final = -1


class Timing:
    """How often something happened, and how long it took."""

    __slots__ = ("count", "max_ms", "total_ms")

    def __init__(self) -> None:
        self.count = 0
        self.total_ms = 0
        self.max_ms = 0

    def took(self, duration_ms: int) -> None:
        """It happened."""
        self.count += 1
        self.total_ms += duration_ms
        self.max_ms = max(self.max_ms, duration_ms)

    @property
    def average_ms(self) -> float:
        """0 if it never happened."""
        return self.total_ms / self.count if self.count else 0.0


class CoordinatorMetrics:
    """Plain numbers; rates are over the life of the member.

    A rebalance lasts from the first JoinGroup to the SyncGroup that succeeds, attempts that failed between included;
    with KIP-848, from a new target to the moment the member has it.
    """

    __slots__ = (
        "_last_heartbeat_ms",
        "_last_rebalance_ms",
        "_rebalance_since_ms",
        "_started_ms",
        "assigned",
        "commits",
        "failed_rebalances",
        "heartbeats",
        "joins",
        "lost",
        "rebalances",
        "revoked",
        "syncs",
    )

    def __init__(self, now_ms: int) -> None:
        self._started_ms = now_ms
        self._last_heartbeat_ms = _NEVER
        self._last_rebalance_ms = _NEVER
        self._rebalance_since_ms = _NEVER
        self.heartbeats = Timing()
        self.joins = Timing()
        self.syncs = Timing()
        self.commits = Timing()
        self.rebalances = Timing()
        self.assigned = Timing()
        """Of the listener, as the next two."""
        self.revoked = Timing()
        self.lost = Timing()
        self.failed_rebalances = 0

    def sent(self, request: Message, now_ms: int) -> None:
        """A request of the member is on its way."""
        if isinstance(request, JoinGroupRequest):
            self.rebalance_began(now_ms)
        elif isinstance(request, HeartbeatRequest | ConsumerGroupHeartbeatRequest):
            self._last_heartbeat_ms = now_ms

    def answered(self, request: Message, response: Message, sent_ms: int, now_ms: int) -> None:
        """Its answer is here. As with Apache, every attempt to join or sync that brings an error is a failed rebalance,
        the one by which a new member learns its id, too.
        """
        if isinstance(request, HeartbeatRequest | ConsumerGroupHeartbeatRequest):
            self.heartbeats.took(now_ms - sent_ms)
        elif isinstance(response, JoinGroupResponse | SyncGroupResponse):
            if response.error_code != ErrorCode.NONE:
                self.failed_rebalances += 1
            elif isinstance(response, JoinGroupResponse):
                self.joins.took(now_ms - sent_ms)
            else:
                self.syncs.took(now_ms - sent_ms)
                if self.is_rebalancing:
                    self.rebalance_ended(now_ms)

    def failed(self, request: Message) -> None:
        """It got no answer."""
        if isinstance(request, JoinGroupRequest | SyncGroupRequest):
            self.failed_rebalances += 1

    @property
    def is_rebalancing(self) -> bool:
        """Whether a rebalance has begun and not ended."""
        return self._rebalance_since_ms != _NEVER

    def rebalance_began(self, now_ms: int) -> None:
        """Unless one is under way already."""
        if not self.is_rebalancing:
            self._rebalance_since_ms = now_ms

    def rebalance_ended(self, now_ms: int) -> None:
        """The assignment is there."""
        assert self.is_rebalancing, "what ends has begun"
        self.rebalances.took(now_ms - self._rebalance_since_ms)
        self._rebalance_since_ms = _NEVER
        self._last_rebalance_ms = now_ms

    def rebalance_given_up(self) -> None:
        """The member is out of the group, or goes."""
        self._rebalance_since_ms = _NEVER

    def snapshot(self, now_ms: int) -> dict[str, float]:
        """All figures now; the seconds since something that never happened are -1, as with Apache."""
        seconds = max(now_ms - self._started_ms, 1) / 1000
        figures: dict[str, float] = {
            "heartbeat-response-time-max": self.heartbeats.max_ms,
            "last-heartbeat-seconds-ago": _seconds_since(self._last_heartbeat_ms, now_ms),
            "rebalance-latency-total": self.rebalances.total_ms,
            "rebalance-total": self.rebalances.count,
            "rebalance-rate-per-hour": self.rebalances.count * 3600 / seconds,
            "failed-rebalance-total": self.failed_rebalances,
            "failed-rebalance-rate-per-hour": self.failed_rebalances * 3600 / seconds,
            "last-rebalance-seconds-ago": _seconds_since(self._last_rebalance_ms, now_ms),
        }
        for name, timing in (("heartbeat", self.heartbeats), ("join", self.joins), ("sync", self.syncs)):
            figures |= {f"{name}-total": timing.count, f"{name}-rate": timing.count / seconds}
        figures |= {"commit-total": self.commits.count, "commit-rate": self.commits.count / seconds}
        for name, timing in (
            ("join-time", self.joins),
            ("sync-time", self.syncs),
            ("commit-latency", self.commits),
            ("rebalance-latency", self.rebalances),
            ("partition-assigned-latency", self.assigned),
            ("partition-revoked-latency", self.revoked),
            ("partition-lost-latency", self.lost),
        ):
            figures |= {f"{name}-avg": timing.average_ms, f"{name}-max": timing.max_ms}
        return figures


def _seconds_since(at_ms: int, now_ms: int) -> float:
    return _NEVER if at_ms == _NEVER else (now_ms - at_ms) / 1000
