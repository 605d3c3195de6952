"""Fetch sessions (KIP-227): the partitions of a fetcher, remembered, so that it names only those that change.

A session is made by a full fetch (epoch 0) → used by incremental fetches, each with the next epoch → closed by its
fetcher (a full fetch, or the epoch -1 to have none), emptied, or evicted for another one when the cache is full.
"""

import logging
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

from ottla.common.uuid import Uuid
from ottla.metrics.names import metric_name
from ottla.metrics.registry import Registry
from ottla.replication.read_result import FetchPartition

if TYPE_CHECKING:
    from random import Random

logger = logging.getLogger(__name__)

INVALID_SESSION_ID: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS: Final = 120_000
CACHED_PARTITIONS_MAX: Final = 500_000
"""What all sessions may remember. Apache bounds their number alone, and a request may name partitions without end."""

_EPOCH_MAX: Final = (1 << 31) - 1
_SESSION_ID_MAX: Final = (1 << 31) - 1
_metric: Final = partial(metric_name, "kafka.server", "FetchSessionCache")

PartitionKey = tuple[Uuid | str, int]
"""A partition as its session knows it: by topic id where requests have ids, else by name."""


def next_epoch(epoch: int) -> int:
    """The epoch of the next request; after the largest one comes 1, since 0 begins a session."""
    if epoch < 0:
        return FINAL_EPOCH
    return 1 if epoch == _EPOCH_MAX else epoch + 1


def partition_key(fetch: FetchPartition, uses_topic_ids: bool) -> PartitionKey:
    """How a session knows a partition."""
    if uses_topic_ids:
        assert fetch.topic_id is not None, f"{fetch} has no topic id"
        return fetch.topic_id, fetch.index
    assert fetch.topic_partition is not None, f"{fetch} has no topic"
    return fetch.topic_partition


class FetchSession:
    """One fetcher's partitions, those first that have waited longest for their turn."""

    __slots__ = (
        "cached_size",
        "creation_ms",
        "epoch",
        "evictable_by_all",
        "evictable_by_privileged",
        "id",
        "last_used_ms",
        "partitions",
        "privileged",
        "unresolved",
        "uses_topic_ids",
    )

    def __init__(
        self, session_id: int, partitions: Iterable[FetchPartition], now_ms: int, *, privileged: bool, topic_ids: bool
    ) -> None:
        """``privileged`` sessions are those of followers."""
        self.id = session_id
        self.privileged = privileged
        self.uses_topic_ids = topic_ids
        self.creation_ms = now_ms
        self.last_used_ms = now_ms
        self.epoch = next_epoch(INITIAL_EPOCH)
        self.partitions = {partition_key(fetch, topic_ids): fetch for fetch in partitions}
        self.unresolved = {key for key, fetch in self.partitions.items() if fetch.topic_partition is None}
        """The partitions whose topic's name is not known yet."""
        self.cached_size = 0
        self.evictable_by_all = self.evictable_by_privileged = False

    def update(self, fetches: Iterable[FetchPartition], forgotten: Iterable[PartitionKey]) -> None:
        """Take over what an incremental request adds, changes and forgets."""
        partitions = self.partitions
        for fetch in fetches:
            key = partition_key(fetch, self.uses_topic_ids)
            known = partitions.get(key)
            if known is not None:
                known.update_request(fetch)
                continue
            partitions[key] = fetch
            if fetch.topic_partition is None:
                self.unresolved.add(key)
        for key in forgotten:
            partitions.pop(key, None)
            self.unresolved.discard(key)

    def move_to_end(self, fetch: FetchPartition) -> None:
        """Let the others go first: this partition has just been given records."""
        key = partition_key(fetch, self.uses_topic_ids)
        self.partitions[key] = self.partitions.pop(key)

    def __repr__(self) -> str:
        return f"FetchSession({self.id}, epoch {self.epoch}, {len(self.partitions)} partitions)"


class FetchSessionCache:
    """All sessions of a broker, ``max.incremental.fetch.session.cache.slots`` at most."""

    def __init__(
        self,
        slots_max: int,
        eviction_ms: int = MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS,
        *,
        rng: "Random",
        registry: Registry,
    ) -> None:
        self._slots_max = slots_max
        self._eviction_ms = eviction_ms
        self._rng = rng
        self._sessions: dict[int, FetchSession] = {}
        """By id; the one first that was used the longest time ago."""
        self.total_partitions = 0
        registry.gauge(_metric("NumIncrementalFetchSessions"), "Fetch sessions", lambda: len(self._sessions))
        registry.gauge(
            _metric("NumIncrementalFetchPartitionsCached"),
            "Partitions in fetch sessions",
            lambda: self.total_partitions,
        )
        self._evictions = registry.counter(
            _metric("IncrementalFetchSessionEvictionsPerSec"), "Fetch sessions that gave way to others"
        )

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, session_id: int) -> FetchSession | None:
        """The session of this id."""
        return self._sessions.get(session_id)

    def maybe_create(
        self, partitions: Iterable[FetchPartition], now_ms: int, *, privileged: bool, uses_topic_ids: bool
    ) -> int:
        """Make a session if there is room, or can be; returns its id, or INVALID_SESSION_ID."""
        fetches = list(partitions)
        if self.total_partitions + len(fetches) > CACHED_PARTITIONS_MAX:
            logger.debug("No fetch session created for %d partitions: there is no room for them.", len(fetches))
            return INVALID_SESSION_ID
        if len(self._sessions) >= self._slots_max and not self._try_evict(privileged, len(fetches), now_ms):
            logger.debug("No fetch session created for privileged=%s, size=%d.", privileged, len(fetches))
            return INVALID_SESSION_ID
        session_id = self._new_session_id()
        session = FetchSession(session_id, fetches, now_ms, privileged=privileged, topic_ids=uses_topic_ids)
        self.touch(session, now_ms)
        return session_id

    def _new_session_id(self) -> int:
        while True:
            session_id = self._rng.randint(1, _SESSION_ID_MAX)
            if session_id not in self._sessions:
                return session_id

    def _try_evict(self, privileged: bool, size: int, now_ms: int) -> bool:
        """Make room for a session of this kind and size.

        It takes the place of one that has been idle for ``eviction_ms``; else, of the least valuable one that is not
        more valuable than itself. Followers' sessions are worth more than consumers', larger ones more than smaller,
        and one that is younger than ``eviction_ms`` gives way to a follower's only, if it is a consumer's.
        """
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None:
            return False
        if now_ms - oldest.last_used_ms > self._eviction_ms:
            return self._evict(oldest)
        candidates = [
            session
            for session in self._sessions.values()
            if (session.evictable_by_privileged if privileged else session.evictable_by_all)
        ]
        if not candidates:
            return False
        cheapest = min(candidates, key=_value)
        return _value(cheapest) <= (privileged, size, 0) and self._evict(cheapest)

    def _evict(self, session: FetchSession) -> bool:
        logger.debug("Evicting %s", session)
        self.remove(session.id)
        self._evictions.value += 1
        return True

    def remove(self, session_id: int) -> FetchSession | None:
        """Close a session; returns it if there was one."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self.total_partitions -= session.cached_size
        return session

    def touch(self, session: FetchSession, now_ms: int) -> None:
        """Note that a session is used, and how large it is now; one that outgrows the cache is closed."""
        self.total_partitions += len(session.partitions) - session.cached_size
        session.cached_size = len(session.partitions)
        session.last_used_ms = now_ms
        session.evictable_by_all = now_ms - session.creation_ms > self._eviction_ms
        session.evictable_by_privileged = session.evictable_by_all or not session.privileged
        self._sessions.pop(session.id, None)
        self._sessions[session.id] = session
        if self.total_partitions > CACHED_PARTITIONS_MAX:
            self._evict(session)


def _value(session: FetchSession) -> tuple[bool, int, int]:
    return session.privileged, session.cached_size, session.id
