"""Keeps fetches in flight, one a node, and puts what comes back into the buffer. A driver without decisions."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from ottla.clients.cluster.cluster_client import ClusterClient
from ottla.clients.consumer.consumer_metrics import ConsumerMetrics
from ottla.clients.consumer.fetch_answers import FetchAnswers
from ottla.clients.consumer.fetch_buffer import FetchBuffer
from ottla.clients.consumer.fetch_planner import NodeFetch, note_leaders, plan_fetches
from ottla.clients.consumer.fetch_session import FetchSession, SessionRequest
from ottla.clients.consumer.node_outages import NodeOutages
from ottla.clients.consumer.offset_lookup import IsolationLevel
from ottla.clients.consumer.position_updater import PositionUpdater
from ottla.clients.consumer.subscription_state import SubscriptionState
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.config.client_configs import ConsumerConfig
from ottla.network.exponential_backoff import ExponentialBackoff
from ottla.network.node import Node
from ottla.protocol.messages.fetch import FetchRequest, FetchResponse, PartitionData

logger = logging.getLogger(__name__)

_CLOSE_TIMEOUT_MS = 1_000


class Fetcher:
    """``wake`` whenever something may have changed: it looks at everything in the loop's next turn, once.

    ``on_event`` is called when there are records or an error for the user.
    """

    def __init__(
        self,
        cluster: ClusterClient,
        config: ConsumerConfig,
        subscription: SubscriptionState,
        buffer: FetchBuffer,
        metrics: ConsumerMetrics,
        *,
        on_event: Callable[[], None],
    ) -> None:
        self._cluster = cluster
        self._clock = cluster.runtime.clock
        self._config = config
        self._subscription = subscription
        self._buffer = buffer
        self._metrics = metrics
        self._on_event = on_event
        self._isolation = IsolationLevel[config.isolation_level.upper()]
        self._loop = asyncio.get_running_loop()
        self._sessions: dict[int, FetchSession] = {}
        self._in_flight: dict[int, tuple[NodeFetch, int]] = {}
        self._partitions_in_flight: set[TopicPartition] = set()
        self._backed_off: dict[TopicPartition, int] = {}
        self._back_off = ExponentialBackoff(config.common.retry_backoff_ms, config.common.retry_backoff_max_ms)
        self._scheduled: asyncio.Handle | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False
        self._error: KafkaError | None = None
        self._bug: Exception | None = None
        self.outages = NodeOutages()
        self.answers = FetchAnswers(
            subscription,
            buffer,
            isolation=self._isolation,
            check_crcs=config.check_crcs,
            replica_lease_ms=config.common.metadata_max_age_ms,
        )
        self.positions = PositionUpdater(
            cluster,
            subscription,
            self,
            isolation=self._isolation,
            request_timeout_ms=config.common.request_timeout_ms,
            retry_backoff_ms=config.common.retry_backoff_ms,
        )
        cluster.on_update(lambda _: self.wake())

    def wake(self) -> None:
        """Look at everything soon."""
        if self._scheduled is None and not self._is_closed:
            self._scheduled = self._loop.call_soon(self._step)

    @property
    def error(self) -> KafkaError | None:
        """What the user must know and was not told yet."""
        return self._error

    @property
    def has_news(self) -> bool:
        """Whether ``raise_error`` has something to raise."""
        return self._error is not None or self._bug is not None

    def raise_error(self) -> None:
        """Tell the user."""
        if self._bug is not None:
            raise self._bug
        if self._error is not None:
            error, self._error = self._error, None
            self.wake()
            raise error

    def on_error(self, error: KafkaError) -> None:
        """Keep the first error for the user; the others come again by themselves."""
        if self._error is None:
            self._error = error
        self._on_event()

    def on_bug(self, bug: Exception) -> None:
        """Fetches have come to an end: every poll says why."""
        self._bug = bug
        self._on_event()

    def clear_error(self) -> None:
        """The user did something about it; if that was not enough, it comes again."""
        self._error = None

    def on_positions_changed(self) -> None:
        """See UpdaterOwner."""
        self._on_event()
        self.wake()

    def overdue(self, before_ms: int) -> dict[int, int]:
        """The nodes whose fetch in flight was sent before this, and when."""
        return {node_id: sent_ms for node_id, (_, sent_ms) in self._in_flight.items() if sent_ms < before_ms}

    def fetch_more(self) -> None:
        """The buffer has room: ask at once, so that the brokers work while the user does."""
        if self._buffer.has_room and not self._is_closed:
            self._step_now()

    def _step(self) -> None:
        self._scheduled = None
        if self._is_closed or self._bug is not None:
            return
        try:
            self._plan()
        except Exception as bug:  # of ours: nothing is fetched from now on, and nobody would know why
            logger.exception("A step of the fetcher failed")
            self.on_bug(bug)

    def _plan(self) -> None:
        now_ms = self._clock.monotonic_ms()
        subscription, metadata = self._subscription, self._cluster.metadata
        note_leaders(subscription, metadata)
        self.positions.step(now_ms)
        self._backed_off = {partition: at_ms for partition, at_ms in self._backed_off.items() if at_ms > now_ms}
        self._buffer.has_room = False
        plan = plan_fetches(
            subscription,
            self._buffer,
            metadata,
            now_ms=now_ms,
            busy_nodes=self._in_flight.keys() | self.outages.backing_off(now_ms),
            in_flight=self._partitions_in_flight | self._backed_off.keys(),
            fetch_max_bytes=self._config.fetch_max_bytes,
            max_partition_fetch_bytes=self._config.max_partition_fetch_bytes,
        )
        for fetch in plan.fetches:
            self._send(fetch, now_ms)
        if plan.leaderless:
            self._cluster.request_update()
        self._arm(now_ms, leaderless=bool(plan.leaderless))

    def _arm(self, now_ms: int, *, leaderless: bool) -> None:
        """Come back when the first of all that is put off is due."""
        times = [*self._backed_off.values(), *self.outages.retry_times(now_ms)]
        if (retry_ms := self.positions.next_retry_ms) is not None:
            times.append(retry_ms)
        if leaderless:
            times.append(now_ms + self._config.common.retry_backoff_ms)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if times:
            self._timer = self._loop.call_later(max(min(times) - now_ms, 1) / 1000, self.wake)

    def _send(self, fetch: NodeFetch, now_ms: int) -> None:
        session = self._sessions.setdefault(fetch.node_id, FetchSession())
        part = session.build(fetch.partitions)
        request = self._request(part, fetch.max_bytes, self._config.fetch_max_wait_ms)
        self._in_flight[fetch.node_id] = (fetch, now_ms)
        self._partitions_in_flight.update(fetch.partitions)
        answer = asyncio.ensure_future(self._cluster.send(fetch.node_id, request, max_version=part.max_version))
        answer.add_done_callback(partial(self._answered, fetch, session, now_ms))

    def _request(self, part: SessionRequest, max_bytes: int, max_wait_ms: int) -> FetchRequest:
        config = self._config
        return FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=config.fetch_min_bytes,
            max_bytes=max_bytes,
            isolation_level=self._isolation,
            session_id=part.session_id,
            session_epoch=part.session_epoch,
            topics=part.topics,
            forgotten_topics_data=part.forgotten,
            rack_id=config.client_rack,
        )

    def _answered(self, fetch: NodeFetch, session: FetchSession, sent_ms: int, answer: "asyncio.Future[Any]") -> None:
        del self._in_flight[fetch.node_id]
        self._partitions_in_flight.difference_update(fetch.partitions)
        if answer.cancelled() or self._is_closed:
            if not answer.cancelled():
                answer.exception()  # seen
            return
        try:
            self._take(fetch, session, sent_ms, answer.result())
        except KafkaError as error:
            self._failed(fetch, session, error)
        except Exception as bug:  # of ours, as in a step
            logger.exception("The answer of node %s could not be taken", fetch.node_id)
            self.on_bug(bug)
        self._step_now()

    def _step_now(self) -> None:
        if self._scheduled is not None:
            self._scheduled.cancel()
        self._step()

    def _failed(self, fetch: NodeFetch, session: FetchSession, error: KafkaError) -> None:
        session.failed()
        now_ms = self._clock.monotonic_ms()
        attempts = self.outages.attempts(fetch.node_id)
        delay_ms = self._back_off.backoff_ms(attempts, self._cluster.runtime.rng)
        self.outages.failed(fetch.node_id, str(error), now_ms, now_ms + delay_ms)
        for partition in fetch.partitions:  # a follower that fails is not insisted on
            if (state := self._subscription.get(partition)) is not None:
                state.preferred_read_replica = -1
        self._cluster.request_update()
        if not error.retriable:
            self.on_error(error)

    def _take(self, fetch: NodeFetch, session: FetchSession, sent_ms: int, response: FetchResponse) -> None:
        now_ms = self._clock.monotonic_ms()
        self.outages.answered(fetch.node_id)
        answered: dict[TopicPartition, PartitionData] = {}
        for topic in response.responses:
            name = topic.topic or session.topic_name(topic.topic_id) or str(topic.topic_id)
            for data in topic.partitions:
                answered[TopicPartition(name, data.partition_index)] = data
        complaint = session.answered(response.error_code, response.session_id, answered)
        if complaint is not None:
            logger.info("Node %s gave %s; asking for everything anew", fetch.node_id, complaint)
            if response.error_code not in (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH):
                self._cluster.request_update()
                self._put_off(fetch.partitions, now_ms)
            return
        summary = self.answers.apply(fetch.node_id, fetch.partitions, answered, now_ms)
        self._metrics.fetched(now_ms - sent_ms, summary.buffered_bytes, response.throttle_time_ms)
        if summary.is_metadata_stale:
            self._learn_leaders(answered, response)
            self._cluster.request_update()
        self._put_off(summary.back_off, now_ms)
        for error in summary.errors:
            self.on_error(error)
        if summary.has_data:
            self._on_event()

    def _learn_leaders(self, answered: Mapping[TopicPartition, PartitionData], response: FetchResponse) -> None:
        """Brokers that do not lead a partition say who does (KIP-951)."""
        leaders = {
            (partition.topic, partition.partition): (leader.leader_id, leader.leader_epoch)
            for partition, data in answered.items()
            if (leader := data.current_leader) is not None and leader.leader_id >= 0
        }
        if leaders:
            nodes = [Node(each.node_id, each.host, each.port) for each in response.node_endpoints]
            self._cluster.learn_leaders(leaders, nodes)

    def _put_off(self, partitions: Iterable[TopicPartition], now_ms: int) -> None:
        until_ms = now_ms + self._config.common.retry_backoff_ms
        self._backed_off.update(dict.fromkeys(partitions, until_ms))

    async def close(self) -> None:
        """Stop, and tell the nodes that their sessions are over, if they can be told at once."""
        self._is_closed = True
        for handle in (self._scheduled, self._timer):
            if handle is not None:
                handle.cancel()
        farewells = []
        for node_id, session in self._sessions.items():
            part = session.final()
            if part is not None and node_id not in self._in_flight and not self.outages.attempts(node_id):
                request = self._request(part, self._config.fetch_max_bytes, 0)
                farewell = self._cluster.send(
                    node_id, request, timeout_ms=_CLOSE_TIMEOUT_MS, max_version=part.max_version
                )
                farewells.append(asyncio.ensure_future(farewell))
        await asyncio.gather(*farewells, return_exceptions=True)
