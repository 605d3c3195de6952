"""What a consumer is made of, wired together, and the one place where it waits."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from ottla.clients.cluster.cluster_client import ClusterClient
from ottla.clients.cluster.metadata import ClusterMetadata
from ottla.clients.consumer.consumer_metrics import ConsumerMetrics
from ottla.clients.consumer.fetch_buffer import FetchBuffer
from ottla.clients.consumer.fetcher import Fetcher
from ottla.clients.consumer.group_partitions import GroupPartitions
from ottla.clients.consumer.health import HealthView
from ottla.clients.consumer.membership import Membership, MembershipState, Subscription
from ottla.clients.consumer.offset_lookup import FATAL_CODES, IsolationLevel
from ottla.clients.consumer.offset_reset_policy import OffsetResetPolicy
from ottla.clients.consumer.record_decoder import RecordDecoder
from ottla.clients.consumer.subscription_state import SubscriptionState, SubscriptionType
from ottla.clients.errors import ClientClosedError, IllegalStateError, InvalidGroupIdError, error_for
from ottla.common.topic_partition import TopicPartition
from ottla.config.client_configs import ConsumerConfig

if TYPE_CHECKING:
    from ottla.clients.security import TokenProvider
    from ottla.runtime.port import Runtime

OVERDUE_MS: Final = 1_000
"""How much later than ``fetch.max.wait.ms`` an answer may come before somebody wonders."""

WAIT_MAX_MS: Final = 1_000
"""How long a poll that waits for records leaves the group without a sign of life."""

MakeMembership = Callable[[ClusterClient, ConsumerConfig, GroupPartitions], Membership]


class ConsumerCore:
    """New → ``start`` → started → ``close``. Everything runs on the loop that started it."""

    def __init__(
        self,
        config: ConsumerConfig,
        decoder: RecordDecoder,
        make_membership: MakeMembership,
        runtime: "Runtime | None",
        token_provider: "TokenProvider | None" = None,
    ) -> None:
        self.config = config
        self.isolation = IsolationLevel[config.isolation_level.upper()]
        self.subscription = SubscriptionState(OffsetResetPolicy.parse(config.auto_offset_reset))
        self.buffer = FetchBuffer(self.subscription, decoder)
        self.owner = GroupPartitions(self.subscription, self.buffer, changed=self.changed, wake_up=self.wake_up)
        self._make_membership = make_membership
        self._runtime = runtime
        self._token_provider = token_provider
        self._waiters: list[asyncio.Future[None]] = []
        self._wanted: Subscription | None = None
        self._has_news = False
        """Whether the membership has not heard of the newest subscription."""
        self._leaving: Awaitable[None] | None = None
        self._is_woken = False
        self._is_polling = False
        self._last_turn_ms = 0
        self._wait_max_ms = max(min(WAIT_MAX_MS, config.auto_commit_interval_ms, config.max_poll_interval_ms // 3), 1)
        self.is_closing = False
        """From the call of ``close`` on nobody polls; the listener may still use the consumer until it is closed."""
        self.is_closed = False
        self._end: asyncio.Future[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.cluster: ClusterClient
        self.fetcher: Fetcher | None = None
        self.membership: Membership | None = None
        self.metrics: ConsumerMetrics

    # Life

    async def start(self) -> None:
        """Connect; see ClusterClient."""
        assert self.fetcher is None, "a consumer is started once"
        self._loop = asyncio.get_running_loop()
        config = self.config
        self.cluster = ClusterClient(
            config.common,
            self._runtime,
            allow_auto_topic_creation=config.allow_auto_create_topics,
            token_provider=self._token_provider,
        )
        self.metrics = ConsumerMetrics(self.now_ms())
        try:
            await self.cluster.start(timeout_ms=config.default_api_timeout_ms)
        except BaseException:
            self.is_closing = self.is_closed = True
            await self.cluster.close()
            raise
        self.fetcher = Fetcher(
            self.cluster, config, self.subscription, self.buffer, self.metrics, on_event=self._on_event
        )
        if config.group_id is not None:
            self.membership = self._make_membership(self.cluster, config, self.owner)
            self.fetcher.positions.fetch_committed = self.membership.fetch_committed
        self.cluster.on_update(self._on_metadata)
        self.changed()

    async def close(self, timeout_ms: int | None) -> None:
        """Commit if that is wanted, leave the group, and let go of everything; closing again waits for that."""
        if self._end is not None:
            await asyncio.shield(self._end)
            return
        self._end = asyncio.get_running_loop().create_future()
        self.is_closing = True
        self._on_event()
        try:
            await self._close(timeout_ms)
        finally:
            self._end.set_result(None)

    async def _close(self, timeout_ms: int | None) -> None:
        self.buffer.release()
        self.buffer.settle()
        try:
            if self._leaving is not None:
                await self._leaving
        finally:
            await self._let_go(timeout_ms)

    async def _let_go(self, timeout_ms: int | None) -> None:
        try:
            if self.membership is not None:
                await self.membership.close(timeout_ms=timeout_ms)
        finally:
            self.is_closed = True
            if self.fetcher is not None:
                await self.fetcher.close()
                await self.cluster.close()
            self.buffer.clear()
            self._on_event()

    def now_ms(self) -> int:
        """The clock that waits are measured by."""
        return self.cluster.runtime.clock.monotonic_ms()

    def check_usable(self) -> Fetcher:
        """Raise unless the consumer is started and not closed."""
        if self.is_closed:
            raise ClientClosedError("The consumer is closed")
        if self.fetcher is None:
            raise IllegalStateError("The consumer is not started: use it as `async with Consumer(…) as consumer:`")
        self._check_loop()
        return self.fetcher

    def _check_loop(self) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            loop = None
        if loop is not self._loop is not None:
            raise IllegalStateError("The consumer lives on the event loop that started it, and is used there only")

    def _check_polling(self) -> Fetcher:
        fetcher = self.check_usable()
        if self.is_closing:
            raise ClientClosedError("The consumer is being closed")
        if self.subscription.type is SubscriptionType.NONE:
            raise IllegalStateError("The consumer is not subscribed to any topics or assigned any partitions")
        return fetcher

    def group(self) -> Membership:
        """The membership; InvalidGroupIdError without a ``group.id``."""
        self.check_usable()
        if self.membership is None:
            raise InvalidGroupIdError("Groups and commits need a group.id in the configuration")
        return self.membership

    # What is read

    def subscribed(self, wanted: Subscription) -> None:
        """The user subscribed; the group hears of it at the next poll."""
        self._wanted = wanted
        self._has_news = True
        self.changed()

    def assigned(self) -> None:
        """The user assigned partitions."""
        self._clear_error()
        self.buffer.release()
        self.buffer.retain_assigned()
        self._wanted = None
        self._has_news = self.config.group_id is not None
        self.changed()

    def unsubscribed(self) -> Awaitable[None]:
        """The user wants nothing any more; what this returns ends when the group was left, in a listener at once."""
        self._clear_error()
        self.buffer.release()
        self.buffer.settle()
        self._has_news = False
        self._wanted = None
        if self._leaving is not None:
            self.subscription.want_nothing()
            return self._leaving
        is_member = self.membership is not None and self.membership.state is not MembershipState.UNJOINED
        if self.membership is not None and is_member and self.subscription.is_group_managed:
            self.subscription.want_nothing()
            self._leaving = self.cluster.runtime.spawn(self._leave(self.membership))
            if not self.membership.is_telling:  # a listener that waited for this would wait for itself
                return self._leaving
        else:
            self.subscription.unsubscribe()
            self.buffer.clear()
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    def _clear_error(self) -> None:
        if self.fetcher is not None:
            self.fetcher.clear_error()

    async def _leave(self, membership: Membership) -> None:
        try:
            await membership.leave()
        finally:
            self._leaving = None
            if self._wanted is None:
                self.subscription.unsubscribe()
            else:  # subscribed to something else meanwhile
                self.subscription.assign_from_group(())
            self.buffer.clear()

    def changed(self) -> None:
        """Something else is to be fetched."""
        if self.fetcher is None or self.is_closed:
            return
        if self.subscription.type is SubscriptionType.ASSIGNED:
            self.cluster.want_topics({partition.topic for partition in self.subscription.partitions})
        self.fetcher.wake()

    def resumed(self) -> None:
        """Partitions that were paused are not any more: what waits of them may be handed out."""
        self.changed()
        self._on_event()

    def moved(self, partition: TopicPartition) -> None:
        """The user moved a position."""
        self.subscription.release(partition)
        self.buffer.drop(partition)
        self._clear_error()
        self.changed()

    def fetch_more(self) -> None:
        """The buffer has room."""
        if self.fetcher is not None:
            self.fetcher.fetch_more()

    def _on_metadata(self, image: ClusterMetadata) -> None:
        """Tell the user which topics cannot be read, which will not mend by itself."""
        if self.fetcher is None:
            return
        for topic in sorted(self.subscription.topics | {partition.topic for partition in self.subscription.partitions}):
            known = image.topics.get(topic)
            if known is not None and known.error_code in FATAL_CODES:
                self.fetcher.on_error(error_for(known.error_code, f"Cannot read the topic {topic}"))

    # Each poll

    @contextmanager
    def polling(self) -> Iterator[None]:
        """One task at a time asks for records."""
        self._check_loop()
        if self._is_polling:
            raise IllegalStateError("Another task is polling this consumer; one does at a time")
        self._is_polling = True
        try:
            yield
        finally:
            self._is_polling = False

    def attention(self) -> bool:
        """Note that the user polls; whether ``attend`` has something to do before records are handed out."""
        fetcher = self.fetcher
        if fetcher is None or self.is_closing:
            return True
        now_ms = self.now_ms()
        metrics = self.metrics
        metrics.polls += 1
        metrics.last_poll_ms = now_ms
        return (
            (self.membership is not None and self.membership.poll(now_ms))
            or now_ms != self._last_turn_ms
            or self._has_news
            or self._leaving is not None
            or fetcher.has_news
        )

    async def attend(self, timeout_ms: int | None = None) -> None:
        """Let the loop have its turn, run what the group has for the user, raise what the user must know.

        The user's own code apart, it takes no longer than ``timeout_ms``.
        """
        fetcher = self._check_polling()
        now_ms = self.now_ms()
        if now_ms != self._last_turn_ms:
            self._last_turn_ms = now_ms
            await asyncio.sleep(0)
            self._check_polling()
        if self._leaving is not None:
            await self._leaving
        membership = self.membership
        if membership is not None:
            if self._has_news:
                self._has_news = False
                await self._tell(membership, now_ms)
            if membership.poll(now_ms):
                self.buffer.settle()
                await membership.process(timeout_ms)
        fetcher.raise_error()

    async def _tell(self, membership: Membership, now_ms: int) -> None:
        if self._wanted is not None and membership.state is not MembershipState.UNJOINED:
            membership.update_subscription(self._wanted)
        else:
            await membership.start(self._wanted, now_ms)

    # Waiting

    async def wait(self, timeout_ms: int | None) -> None:
        """Wait until something may have changed for the user, the time is up, or the group must hear of the user."""
        if self._is_woken:
            self._is_woken = False
            await asyncio.sleep(0)
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            most_ms = self._wait_max_ms if timeout_ms is None else min(max(timeout_ms, 0), self._wait_max_ms)
            async with asyncio.timeout(most_ms / 1000):
                await waiter
        except TimeoutError:
            pass
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            self._is_woken = False

    def wake_up(self) -> None:
        """End the wait of whoever polls, now or next."""
        self._is_woken = True
        self._on_event()

    def _on_event(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    # Looking at it

    def figures(self) -> dict[str, float]:
        """What was counted, by Apache's names."""
        self.check_usable()
        now_ms = self.now_ms()
        figures = self.metrics.snapshot(self.subscription, self.buffer, self.isolation, now_ms)
        return figures if self.membership is None else figures | self.membership.metrics.snapshot(now_ms)

    def health_view(self) -> HealthView:
        """What ``consumer_health`` looks at."""
        fetcher = self.check_usable() if not self.is_closed else self.fetcher
        now_ms = self.now_ms()
        membership = self.membership
        assert fetcher is not None
        return HealthView(
            self.subscription,
            self.cluster.metadata,
            fetcher.outages,
            self.isolation,
            now_ms,
            self.metrics.last_poll_ms,
            self.config.max_poll_interval_ms,
            overdue_nodes=fetcher.overdue(now_ms - self.config.fetch_max_wait_ms - OVERDUE_MS),
            fetch_codes=fetcher.answers.last_codes,
            membership_state=None if membership is None else membership.state,
            membership_reason="" if membership is None else membership.reason,
            error=fetcher.error,
            has_records=self.buffer.front() is not None,
            is_closed=self.is_closed,
        )
