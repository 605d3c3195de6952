"""What raft tells about itself, under the names of Apache's raft-metrics. Pure."""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from ottla.common.uuid import ZERO_UUID
from ottla.metrics.instruments import RecentRate
from ottla.metrics.names import metric_name
from ottla.metrics.registry import Registry
from ottla.raft.batch import CommittedBatch
from ottla.raft.epoch_states import CandidateState
from ottla.raft.leader_state import LeaderState
from ottla.raft.offset_and_epoch import OffsetAndEpoch
from ottla.raft.quorum_state import QuorumState
from ottla.raft.voter_set import ReplicaKey

_RATE_WINDOW_MS: Final = 30_000


class MetricValue(NamedTuple):
    """One metric: its name in the group raft-metrics, what it is, and how it is read."""

    name: str
    help: str
    read: Callable[[], float]


class RaftMetrics:
    """Reads the quorum when asked; only appends and commits are counted as they happen."""

    def __init__(
        self,
        quorum: Callable[[], QuorumState | None],
        log_end: Callable[[], OffsetAndEpoch],
        voter_count: Callable[[], int],
        now_ms: Callable[[], int],
    ) -> None:
        self._quorum = quorum
        self._log_end = log_end
        self._voter_count = voter_count
        self._now_ms = now_ms
        self.appended_records = 0
        """Records appended as the leader."""
        self._append_rate = RecentRate(_RATE_WINDOW_MS, now_ms())
        self.commit_latency_ms_total = 0.0
        """Milliseconds per record from append to commit, summed over batches."""
        self.commit_latency_ms_max = 0.0
        self.committed_batches = 0

    def record_commit(self, elapsed_ms: int, batch: CommittedBatch[Any]) -> None:
        """A batch is committed, so long after it was appended."""
        latency_ms = elapsed_ms / (batch.last_offset - batch.base_offset + 1)
        self.commit_latency_ms_total += latency_ms
        self.commit_latency_ms_max = max(self.commit_latency_ms_max, latency_ms)
        self.committed_batches += 1

    @property
    def current_state(self) -> str:
        """The text that Apache shows: leader, candidate, prospective, follower, observer, unattached, …"""
        quorum = self._initialized
        if quorum is None:
            return "unattached"
        name = quorum.state.name
        return "observer" if name == "follower" and quorum.is_observer else name

    @property
    def current_leader(self) -> int:
        """The leader's id, -1 if unknown."""
        quorum = self._initialized
        leader_id = quorum.state.leader_id if quorum is not None else None
        return -1 if leader_id is None else leader_id

    @property
    def current_vote(self) -> int:
        """The id voted for, -1 if none."""
        voted = self._voted_key
        return -1 if voted is None else voted.id

    @property
    def current_vote_directory_id(self) -> str:
        """The directory id voted for, the zero id if none."""
        voted = self._voted_key
        return str((voted.directory_id if voted is not None else None) or ZERO_UUID)

    @property
    def current_epoch(self) -> int:
        """The epoch."""
        quorum = self._initialized
        return quorum.state.epoch if quorum is not None else 0

    @property
    def high_watermark(self) -> int:
        """Where what is committed ends, -1 if unknown."""
        quorum = self._initialized
        high_watermark = quorum.state.high_watermark if quorum is not None else None
        return -1 if high_watermark is None else high_watermark

    @property
    def commit_latency_avg_ms(self) -> float:
        """The mean milliseconds per record from append to commit."""
        return self.commit_latency_ms_total / self.committed_batches if self.committed_batches else 0.0

    def values(self) -> Iterator[MetricValue]:
        """All numeric metrics; ``current_state`` and ``current_vote_directory_id`` are texts."""
        yield MetricValue("current-leader", "The quorum leader's id; -1 if unknown", lambda: self.current_leader)
        yield MetricValue("current-vote", "The current voted id; -1 if none", lambda: self.current_vote)
        yield MetricValue("current-epoch", "The current quorum epoch", lambda: self.current_epoch)
        yield MetricValue("high-watermark", "The high watermark; -1 if unknown", lambda: self.high_watermark)
        yield MetricValue("log-end-offset", "The end offset of the raft log", lambda: self._log_end().offset)
        yield MetricValue("log-end-epoch", "The end epoch of the raft log", lambda: self._log_end().epoch)
        yield MetricValue("number-of-voters", "The number of voters", self._voter_count)
        yield MetricValue("number-of-observers", "The observers that the leader tracks", self._observer_count)
        yield MetricValue("append-records-rate", "Records appended a second as leader", self._append_records_rate)
        yield MetricValue("commit-latency-avg", "Mean ms to commit an entry", lambda: self.commit_latency_avg_ms)
        yield MetricValue("commit-latency-max", "Maximum ms to commit an entry", lambda: self.commit_latency_ms_max)

    def register(self, registry: Registry) -> None:
        """Show everything as ``kafka.server:type=raft-metrics``."""
        for name, text, read in self.values():
            registry.gauge(metric_name("kafka.server", "raft-metrics", name), text, read)
        name = metric_name("kafka.server", "raft-metrics", "current-state")
        registry.live_gauges(
            name, "1, with the state that this member is in", lambda: [((("current_state", self.current_state),), 1)]
        )

    def _append_records_rate(self) -> float:
        return self._append_rate.read(self.appended_records, self._now_ms()) * 1000

    @property
    def _initialized(self) -> QuorumState | None:
        quorum = self._quorum()
        return quorum if quorum is not None and quorum.is_initialized else None

    @property
    def _voted_key(self) -> ReplicaKey | None:
        quorum = self._initialized
        if quorum is None:
            return None
        return quorum.local_key if isinstance(quorum.state, LeaderState | CandidateState) else quorum.state.voted_key

    def _observer_count(self) -> int:
        quorum = self._initialized
        return quorum.leader.observer_count if quorum is not None and quorum.leader is not None else 0
