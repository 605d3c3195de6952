"""Commits of a consumer: sync with retries, async in order, automatic at an interval; and what is committed."""

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Final, NamedTuple, cast

from ottla.clients.back_off import BackOff
from ottla.clients.cluster.cluster_client import ClusterClient
from ottla.clients.consumer.coordinator_channel import CoordinatorChannel
from ottla.clients.consumer.coordinator_metrics import CoordinatorMetrics
from ottla.clients.consumer.member_machine import CommitWaitsError, MemberMachine
from ottla.clients.consumer.membership import CommitCallback
from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
from ottla.clients.consumer.offset_requests import (
    Outcome,
    Verdict,
    commit_request,
    fetch_request,
    judge_commit,
    read_committed,
)
from ottla.clients.errors import IllegalStateError, KafkaTimeoutError
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.config.client_configs import ConsumerConfig

logger = logging.getLogger(__name__)

WAITING_MAX: Final = 1000
"""Asynchronous commits that may wait for their turn, or their callbacks for a poll."""

_DELETED: Final = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})

Offsets = Mapping[TopicPartition, OffsetAndMetadata]


class _AsyncCommit(NamedTuple):
    offsets: Offsets
    callback: CommitCallback | None
    is_automatic: bool = False


class _FinishedCommit(NamedTuple):
    commit: _AsyncCommit
    error: KafkaError | None


class CommitManager:
    """Only one asynchronous commit is under way, so they keep their order; sync commits wait for those before them."""

    def __init__(
        self,
        client: ClusterClient,
        config: ConsumerConfig,
        machine: MemberMachine,
        channel: CoordinatorChannel,
        metrics: CoordinatorMetrics,
        *,
        settled: Callable[[int], Awaitable[None]],
        on_finished: Callable[[], None],
        on_committed: Callable[[Offsets], None],
    ) -> None:
        """``settled`` waits, so many ms at most, until the member has changed; ``on_finished``: a callback is due.

        ``on_committed`` hears of all that was committed.
        """
        self._client = client
        self._config = config
        self._machine = machine
        self._channel = channel
        self._metrics = metrics
        self._settled = settled
        self._on_finished = on_finished
        self._on_committed = on_committed
        self._clock = client.runtime.clock
        self._waiting: deque[_AsyncCommit] = deque()
        self._finished: deque[_FinishedCommit] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._is_auto_under_way = False
        self._auto_due_ms = self._clock.monotonic_ms() + config.auto_commit_interval_ms

    @property
    def has_finished(self) -> bool:
        """Whether callbacks wait to be run."""
        return bool(self._finished)

    async def commit(
        self, offsets: Offsets, timeout_ms: int | None = None, *, drop_deleted_topics: bool = False
    ) -> None:
        """Commit and wait, trying again what may work later until the time is up."""
        timeout_ms = self._config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        deadline_ms = self._clock.monotonic_ms() + timeout_ms
        await self.flush(timeout_ms)
        if not offsets:
            return
        back_off = self._back_off()
        while True:
            if drop_deleted_topics:
                offsets = self._without_deleted(offsets)
            outcome = await self._try_commit(offsets, deadline_ms) if offsets else Outcome(Verdict.DONE)
            if outcome.verdict is Verdict.DONE:
                return
            await self._pause_or_raise(outcome, back_off, deadline_ms, timeout_ms)

    async def _pause_or_raise(self, outcome: Outcome, back_off: BackOff, deadline_ms: int, timeout_ms: int) -> None:
        assert outcome.error is not None, "what is not done has an error"
        if outcome.verdict in (Verdict.FAILED, Verdict.REFUSED):
            raise outcome.error
        pause_ms = back_off.next_ms(self._client.runtime.rng)
        if self._clock.monotonic_ms() + pause_ms >= deadline_ms:
            raise KafkaTimeoutError(
                f"offsets of the group {self._channel.group_id} were not answered for in {timeout_ms} ms: "
                f"{outcome.error}"
            ) from outcome.error
        if isinstance(outcome.error, CommitWaitsError):
            await self._settled(deadline_ms - self._clock.monotonic_ms())
        else:
            await self._client.runtime.sleep_ms(pause_ms)

    async def _try_commit(self, offsets: Offsets, deadline_ms: int) -> Outcome:
        """One attempt."""
        refusal = self._machine.commit_error(offsets.keys())
        if refusal is not None:
            waits = isinstance(refusal, CommitWaitsError)
            return Outcome(Verdict.RETRY if waits else Verdict.REFUSED, refusal)
        member = self._machine.group_metadata
        request, max_version = commit_request(member, offsets, self._client.metadata)
        sent_ms = self._clock.monotonic_ms()
        remaining_ms = max(deadline_ms - sent_ms, 1)
        try:
            response = await self._channel.ask(
                request,
                timeout_ms=min(remaining_ms, self._client.config.request_timeout_ms),
                find_timeout_ms=remaining_ms,
                max_version=max_version,
            )
        except KafkaError as error:
            return Outcome(Verdict.RETRY if error.retriable else Verdict.FAILED, error)
        self._metrics.commits.took(self._clock.monotonic_ms() - sent_ms)
        outcome = judge_commit(response, self._client.metadata)
        if outcome.verdict is Verdict.FIND_COORDINATOR:
            self._channel.lost(str(outcome.error))
        elif outcome.verdict is Verdict.RETRY:
            self._client.request_update()
        elif outcome.verdict is Verdict.DONE:
            self._on_committed(offsets)
        elif outcome.verdict is Verdict.REFUSED:
            assert outcome.error is not None, "refused with a reason"
            refusal = self._machine.commit_refused(member, outcome.error.code)
            self._on_finished()
            return Outcome(Verdict.RETRY if isinstance(refusal, CommitWaitsError) else Verdict.REFUSED, refusal)
        return outcome

    def commit_async(self, offsets: Offsets, callback: CommitCallback | None = None) -> None:
        """Commit in the background; IllegalStateError when far too many wait already."""
        if len(self._waiting) + len(self._finished) >= WAITING_MAX:
            raise IllegalStateError(f"{WAITING_MAX} asynchronous commits wait already: poll, or commit less often")
        self._enqueue(_AsyncCommit(dict(offsets), callback))

    def _enqueue(self, commit: _AsyncCommit) -> None:
        self._waiting.append(commit)
        if self._worker is None:
            self._worker = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        try:
            while self._waiting:
                commit = self._waiting[0]
                deadline_ms = self._clock.monotonic_ms() + self._config.default_api_timeout_ms
                outcome = Outcome(Verdict.DONE)
                if commit.offsets:
                    outcome = await self._try_commit(commit.offsets, deadline_ms)
                self._waiting.popleft()
                self._finish(commit, outcome.error)
        finally:
            self._worker = None

    def _finish(self, commit: _AsyncCommit, error: KafkaError | None) -> None:
        if commit.is_automatic:
            self._is_auto_under_way = False
            if error is not None:
                logger.warning("Automatic commit for the group %s failed: %s", self._channel.group_id, error)
                if error.retriable:
                    self._auto_due_ms = self._clock.monotonic_ms() + self._client.config.retry_backoff_ms
        elif commit.callback is not None:
            self._finished.append(_FinishedCommit(commit, error))
            self._on_finished()
        elif error is not None:
            logger.error("Asynchronous commit for the group %s failed: %s", self._channel.group_id, error)

    async def run_callbacks(self) -> None:
        """Tell the user of asynchronous commits that have ended; what a callback raises is raised."""
        while self._finished:
            (offsets, callback, _), error = self._finished.popleft()
            assert callback is not None, "only those with a callback wait"
            answer = callback(offsets, error)
            if inspect.isawaitable(answer):
                await cast("Awaitable[object]", answer)

    def maybe_auto_commit(self, now_ms: int, consumed: Callable[[], Offsets]) -> None:
        """The user polls, so what it got before is processed: commit that if it is time."""
        if now_ms < self._auto_due_ms or not self._config.enable_auto_commit or self._is_auto_under_way:
            return
        self._auto_due_ms = now_ms + self._config.auto_commit_interval_ms
        offsets = consumed()
        if offsets and self._machine.commit_error(offsets.keys()) is None:
            self._is_auto_under_way = True
            self._enqueue(_AsyncCommit(dict(offsets), None, is_automatic=True))

    async def auto_commit_now(self, consumed: Offsets, timeout_ms: int) -> None:
        """Before partitions go: commit, and let neither a failure nor a deleted topic hold that up."""
        if not self._config.enable_auto_commit or not consumed:
            return
        try:
            await self.commit(consumed, timeout_ms, drop_deleted_topics=True)
        except KafkaError as error:
            logger.warning("Commit for the group %s before giving up partitions: %s", self._channel.group_id, error)

    def _without_deleted(self, offsets: Offsets) -> Offsets:
        """The metadata follows all topics of which partitions are owned: one that is not in it does not exist."""
        topics = self._client.metadata.topics
        existing = {name for name, topic in topics.items() if topic.error_code not in _DELETED}
        return {partition: offset for partition, offset in offsets.items() if partition.topic in existing}

    async def flush(self, timeout_ms: int) -> None:
        """Wait for the asynchronous commits that are under way, at most so long."""
        if self._worker is not None:
            await asyncio.wait([self._worker], timeout=timeout_ms / 1000)

    async def fetch_committed(
        self, partitions: Collection[TopicPartition], timeout_ms: int | None, *, with_epoch: bool
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What is committed; waits for transactions whose offsets are not decided."""
        if not partitions:
            return {}
        timeout_ms = self._config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        deadline_ms = self._clock.monotonic_ms() + timeout_ms
        back_off = self._back_off()
        while True:
            outcome, found = await self._try_fetch(partitions, deadline_ms, with_epoch=with_epoch)
            if outcome.verdict is Verdict.DONE:
                return {partition: found.get(partition) for partition in partitions}
            if outcome.verdict is Verdict.REFUSED and with_epoch:
                outcome = outcome._replace(verdict=Verdict.RETRY)  # a heartbeat will tell who we are now
            await self._pause_or_raise(outcome, back_off, deadline_ms, timeout_ms)

    async def _try_fetch(
        self, partitions: Collection[TopicPartition], deadline_ms: int, *, with_epoch: bool
    ) -> tuple[Outcome, dict[TopicPartition, OffsetAndMetadata | None]]:
        member = self._machine.group_metadata
        with_epoch = with_epoch and bool(member.member_id)
        request, max_version = fetch_request(member, partitions, self._client.metadata, with_epoch=with_epoch)
        remaining_ms = max(deadline_ms - self._clock.monotonic_ms(), 1)
        try:
            response = await self._channel.ask(
                request,
                timeout_ms=min(remaining_ms, self._client.config.request_timeout_ms),
                find_timeout_ms=remaining_ms,
                max_version=max_version,
            )
        except KafkaError as error:
            return Outcome(Verdict.RETRY if error.retriable else Verdict.FAILED, error), {}
        outcome, found = read_committed(response, self._client.metadata)
        if outcome.verdict is Verdict.FIND_COORDINATOR:
            self._channel.lost(str(outcome.error))
        elif outcome.verdict is Verdict.RETRY:
            self._client.request_update()
        return outcome, found

    def _back_off(self) -> BackOff:
        return BackOff(self._client.config.retry_backoff_ms, self._client.config.retry_backoff_max_ms)
