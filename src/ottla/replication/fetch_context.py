"""What one fetch request means within its session, and which partitions its answer names.

Use: ``context = new_context(cache, …)``; read ``context.fetches``, in their order; answer with
``context.response(results)``, where ``results`` runs parallel to them.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ottla.common.error_code import ErrorCode
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.replication.fetch_session import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    INVALID_SESSION_ID,
    FetchSession,
    FetchSessionCache,
    PartitionKey,
    next_epoch,
    partition_key,
)
from ottla.replication.read_result import NO_PREFERRED_READ_REPLICA, UNCHANGED, FetchPartition, ReadResult

logger = logging.getLogger(__name__)

_TOPIC_IDS_FROM_VERSION = 13


class FetchAnswer(NamedTuple):
    """The top of a fetch response and the partitions that belong in it."""

    error_code: int
    session_id: int
    partitions: Sequence[tuple[FetchPartition, ReadResult]] = ()


class FetchContext(ABC):
    """See the module."""

    __slots__ = ("fetches",)

    def __init__(self, fetches: Sequence[FetchPartition]) -> None:
        self.fetches = fetches

    @abstractmethod
    def response(self, results: Sequence[ReadResult]) -> FetchAnswer:
        """The answer that has these results."""

    def throttled_response(self) -> FetchAnswer:
        """The answer to a fetch that is not served because its client is over its quota."""
        return FetchAnswer(ErrorCode.NONE, INVALID_SESSION_ID)


class SessionErrorContext(FetchContext):
    """A fetch whose session is unknown, or not where the fetcher believes it to be: nothing is read."""

    __slots__ = ("_error_code",)

    def __init__(self, error_code: int) -> None:
        super().__init__(())
        self._error_code = error_code

    def response(self, results: Sequence[ReadResult]) -> FetchAnswer:
        """The error."""
        assert not results, "an erroneous session has no partitions"
        return FetchAnswer(self._error_code, INVALID_SESSION_ID)


class SessionlessContext(FetchContext):
    """A fetch that wants no session, or whose session has no partition left."""

    __slots__ = ()

    def response(self, results: Sequence[ReadResult]) -> FetchAnswer:
        """Everything."""
        return FetchAnswer(ErrorCode.NONE, INVALID_SESSION_ID, list(zip(self.fetches, results, strict=True)))


class FullContext(FetchContext):
    """A fetch that names all its partitions and would like a session for them."""

    __slots__ = ("_cache", "_is_follower", "_now_ms", "_uses_topic_ids")

    def __init__(
        self,
        cache: FetchSessionCache,
        fetches: Sequence[FetchPartition],
        now_ms: int,
        *,
        is_follower: bool,
        uses_topic_ids: bool,
    ) -> None:
        super().__init__(fetches)
        self._cache = cache
        self._now_ms = now_ms
        self._is_follower = is_follower
        self._uses_topic_ids = uses_topic_ids

    def response(self, results: Sequence[ReadResult]) -> FetchAnswer:
        """Everything, with the id of the new session if the cache has room for it."""
        partitions = list(zip(self.fetches, results, strict=True))
        for fetch, result in partitions:
            fetch.high_watermark = result.high_watermark
            fetch.local_log_start_offset = result.log_start_offset
        session_id = self._cache.maybe_create(
            self.fetches, self._now_ms, privileged=self._is_follower, uses_topic_ids=self._uses_topic_ids
        )
        return FetchAnswer(ErrorCode.NONE, session_id, partitions)


class IncrementalContext(FetchContext):
    """A fetch of the partitions of its session, of which it has named only those that changed."""

    __slots__ = ("_expected_epoch", "_session")

    def __init__(self, session: FetchSession) -> None:
        super().__init__(list(session.partitions.values()))
        self._session = session
        self._expected_epoch = session.epoch

    def response(self, results: Sequence[ReadResult]) -> FetchAnswer:
        """The partitions that have something new; those with records go to the end of the session's order."""
        session = self._session
        if self._is_superseded():
            return FetchAnswer(ErrorCode.INVALID_FETCH_SESSION_EPOCH, session.id)
        partitions: list[tuple[FetchPartition, ReadResult]] = []
        for fetch, result in zip(self.fetches, results, strict=True):
            if result is UNCHANGED or not _must_respond(fetch, result):
                continue
            partitions.append((fetch, result))
            if result.records is not None:
                session.move_to_end(fetch)
        return FetchAnswer(ErrorCode.NONE, session.id, partitions)

    def throttled_response(self) -> FetchAnswer:
        """Nothing, but the session stands."""
        superseded = self._is_superseded()
        return FetchAnswer(ErrorCode.INVALID_FETCH_SESSION_EPOCH if superseded else ErrorCode.NONE, self._session.id)

    def _is_superseded(self) -> bool:
        session = self._session
        if session.epoch == self._expected_epoch:
            return False
        logger.info(
            "Incremental fetch session %d expected epoch %d, but got %d. Possible duplicate request.",
            session.id,
            self._expected_epoch,
            session.epoch,
        )
        return True


def _must_respond(fetch: FetchPartition, result: ReadResult) -> bool:
    """Whether a result tells the fetcher anything; what is told is noted as told."""
    must_respond = result.records is not None
    if fetch.high_watermark != result.high_watermark:
        must_respond = True
        fetch.high_watermark = result.high_watermark
    if fetch.local_log_start_offset != result.log_start_offset:
        must_respond = True
        fetch.local_log_start_offset = result.log_start_offset
    if result.error_code:
        fetch.high_watermark = -1  # so that the partition is told again when the error goes away
        return True
    return (
        must_respond or result.preferred_read_replica != NO_PREFERRED_READ_REPLICA or result.diverging_epoch is not None
    )


def new_context(
    cache: FetchSessionCache,
    fetches: Iterable[FetchPartition],
    forgotten: Iterable[PartitionKey],
    *,
    version: int,
    session_id: int,
    session_epoch: int,
    is_follower: bool,
    topic_names: Mapping[Uuid, str],
    now_ms: int,
) -> FetchContext:
    """What a request means: full (epoch 0), without a session (epoch -1), or incremental.

    Of a partition that is named twice the last mention counts. ``topic_names`` resolves the ids that a session has
    not been able to until now. FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH and
    FETCH_SESSION_TOPIC_ID_ERROR (a session keeps to ids or to names) are contexts, too.
    """
    uses_topic_ids = version >= _TOPIC_IDS_FROM_VERSION
    named = {partition_key(fetch, uses_topic_ids): fetch for fetch in fetches}
    if session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
        if session_id != INVALID_SESSION_ID:
            cache.remove(session_id)
        if session_epoch == FINAL_EPOCH:
            return SessionlessContext(list(named.values()))
        return FullContext(cache, list(named.values()), now_ms, is_follower=is_follower, uses_topic_ids=uses_topic_ids)
    session = cache.get(session_id)
    if session is None:
        logger.debug("Session error for %d: no such session ID found.", session_id)
        return SessionErrorContext(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    if session.epoch != session_epoch:
        logger.debug(
            "Session error for %d: expected epoch %d, but got %d instead.", session_id, session.epoch, session_epoch
        )
        return SessionErrorContext(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
    if session.uses_topic_ids != uses_topic_ids:
        logger.debug("Session error for %d: it %s topic ids", session_id, "does not use" if uses_topic_ids else "uses")
        return SessionErrorContext(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
    session.update(named.values(), forgotten)
    if not session.partitions:
        cache.remove(session_id)
        return SessionlessContext(list(named.values()))
    cache.touch(session, now_ms)
    session.epoch = next_epoch(session.epoch)
    if session.unresolved:
        _resolve(session, topic_names)
    return IncrementalContext(session)


def _resolve(session: FetchSession, topic_names: Mapping[Uuid, str]) -> None:
    """Give the partitions their topics' names that have become known."""
    for key in list(session.unresolved):
        fetch = session.partitions[key]
        name = None if fetch.topic_id is None else topic_names.get(fetch.topic_id)
        if name is not None:
            fetch.topic_partition = TopicPartition(name, fetch.index)
            session.unresolved.discard(key)
