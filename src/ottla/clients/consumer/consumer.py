"""The consumer: records of topics, in each partition's order, from where the group left off."""

import re
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Self, TypeAlias, TypeVar, overload

from ottla.clients.consumer.consumer_core import ConsumerCore
from ottla.clients.consumer.consumer_metrics import lags_of
from ottla.clients.consumer.consumer_record import ConsumerRecord
from ottla.clients.consumer.group_factory import make_membership
from ottla.clients.consumer.group_metadata import ConsumerGroupMetadata
from ottla.clients.consumer.health import ConsumerHealth, consumer_health
from ottla.clients.consumer.interceptors import Interceptors
from ottla.clients.consumer.membership import CommitCallback, Subscription
from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata, OffsetAndTimestamp
from ottla.clients.consumer.offset_queries import look_up_offsets
from ottla.clients.consumer.offset_reset_policy import (
    EARLIEST,
    EARLIEST_TIMESTAMP,
    LATEST,
    LATEST_TIMESTAMP,
    OffsetResetPolicy,
)
from ottla.clients.consumer.record_decoder import Deserialize, RecordDecoder
from ottla.clients.consumer.record_source import RecordSource
from ottla.clients.consumer.subscribed_topics import SubscribedTopics
from ottla.clients.errors import IllegalStateError, InvalidConfigError, InvalidGroupIdError, KafkaTimeoutError
from ottla.clients.serialization import as_deserializer, deserialize_bytes
from ottla.common.topic_partition import TopicPartition
from ottla.config.client_configs import ConsumerConfig

if TYPE_CHECKING:
    import pyarrow as pa

    from ottla.clients.cluster.metadata import PartitionMetadata
    from ottla.clients.security import TokenProvider
    from ottla.runtime.port import Runtime

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")
Topic: TypeAlias = str | Mapping[str, object]
MakesData: TypeAlias = Callable[[str, bytes], T] | Callable[[bytes], T]


class Consumer(Generic[K, V]):
    """Reads from any Kafka: ``async with Consumer("orders", bootstrap_servers=…, group_id=…) as consumer: …``.

    Positional arguments are topics to subscribe to, and at most one dict of Kafka's keys; keywords are Kafka's keys
    with underscores. Deserializers are functions of topic and bytes, or of bytes alone; without one, keys and values
    are bytes or None (a null is never deserialized). One task polls at a time, on the loop that started the consumer.
    ``assignors`` are objects in place of ``partition.assignment.strategy``, ``listener`` is told when partitions of the
    topics come and go, and ``token_provider`` gives OAUTHBEARER its tokens.
    """

    @overload
    def __init__(
        self, *topics: Topic, key_deserializer: MakesData[K], value_deserializer: MakesData[V], **settings: Any
    ) -> None: ...

    @overload
    def __init__(
        self: "Consumer[bytes, V]", *topics: Topic, value_deserializer: MakesData[V], **settings: Any
    ) -> None: ...

    @overload
    def __init__(
        self: "Consumer[K, bytes]", *topics: Topic, key_deserializer: MakesData[K], **settings: Any
    ) -> None: ...

    @overload
    def __init__(self: "Consumer[bytes, bytes]", *topics: Topic, **settings: Any) -> None: ...

    def __init__(
        self,
        *topics: Topic,
        key_deserializer: object = None,
        value_deserializer: object = None,
        interceptors: Sequence[object] = (),
        assignors: Sequence[object] = (),
        listener: object = None,
        token_provider: "TokenProvider | None" = None,
        runtime: "Runtime | None" = None,
        **keywords: object,
    ) -> None:
        """Check the configuration (InvalidConfigError); nothing is connected before ``start``."""
        given = [argument for argument in topics if isinstance(argument, Mapping)]
        if len(given) > 1:
            raise InvalidConfigError("A consumer takes at most one dict of configuration")
        self._config = ConsumerConfig.parse(given[0] if given else None, keywords)
        decoder = RecordDecoder(
            _deserializer(key_deserializer, self._config.key_deserializer),
            _deserializer(value_deserializer, self._config.value_deserializer),
        )
        make = partial(make_membership, assignors=tuple(assignors))
        self._core = ConsumerCore(self._config, decoder, make, runtime, token_provider)
        self._subscription = self._core.subscription
        self._buffer = self._core.buffer
        told = Interceptors(interceptors)
        self._core.owner.interceptors = told
        self._source: RecordSource[K, V] = RecordSource(self._core, told)
        names = [argument for argument in topics if isinstance(argument, str)]
        if names:
            self.subscribe(names, listener=listener)

    async def start(self) -> None:
        """Connect. KafkaTimeoutError if no bootstrap server answers, AuthenticationError if they refuse."""
        await self._core.start()

    async def close(self, *, timeout_ms: int | None = None) -> None:
        """Commit what was handed out if auto commit is on, leave the group, and let go of everything."""
        await self._core.close(timeout_ms)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # What is read

    def subscribe(
        self,
        topics: Iterable[str] | str = (),
        *,
        pattern: str | re.Pattern[str] | None = None,
        server_pattern: str | None = None,
        listener: object = None,
    ) -> None:
        """Share these topics, or those whose whole name matches, with the group; it replaces what was subscribed to.

        ``server_pattern`` is matched by the broker (RE2 syntax, ``group.protocol=consumer`` only). ``listener``
        (:class:`RebalanceListener`) hears of partitions that come and go. The group is joined by polling.
        """
        names = frozenset([topics] if isinstance(topics, str) else topics)
        if (bool(names), pattern is not None, server_pattern is not None).count(True) != 1:
            raise IllegalStateError("Subscribe to topics, or to a pattern; unsubscribe to have neither")
        if self._config.group_id is None:
            raise InvalidGroupIdError("To subscribe, set group.id; to read without a group, use assign")
        compiled = re.compile(pattern) if pattern is not None else None
        if compiled is not None or server_pattern is not None:
            self._subscription.subscribe_pattern(compiled)
        else:
            self._subscription.subscribe_topics(names)
        self._core.owner.listener = listener
        self._core.subscribed(Subscription(names, compiled, server_pattern))

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions, whatever others do; it replaces the assignment. Kept ones keep their positions."""
        self._buffer.settle()
        self._subscription.assign([TopicPartition(*partition) for partition in partitions])
        self._core.assigned()

    def unsubscribe(self) -> Awaitable[None]:
        """Give everything back. The group is left in the background; await the result to see that through.

        ``subscribe`` may follow at once, ``assign`` when the group was left.
        """
        return self._core.unsubscribed()

    def subscription(self) -> frozenset[str]:
        """The topics subscribed to; with a pattern, those that match it."""
        if self._subscription.pattern is None:
            return self._subscription.topics
        topics = SubscribedTopics(exclude_internal=self._config.exclude_internal_topics)
        topics.update_metadata(self._core.cluster.metadata)
        topics.subscribe(Subscription(pattern=self._subscription.pattern))
        return topics.names

    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that are read."""
        return frozenset(self._subscription.partitions)

    def pause(self, *partitions: TopicPartition) -> None:
        """Hand out nothing of these until they are resumed; what was fetched of them is kept."""
        self._buffer.settle()
        for partition in partitions:
            self._subscription.pause(partition)

    def resume(self, *partitions: TopicPartition) -> None:
        """Undo ``pause``."""
        for partition in partitions:
            self._subscription.resume(partition)
        self._core.resumed()

    def paused(self) -> frozenset[TopicPartition]:
        """The partitions that are paused."""
        return frozenset(self._subscription.paused())

    # Records

    async def poll(self, timeout_ms: int = 0) -> list[ConsumerRecord[K, V]]:
        """Up to ``max.poll.records`` records as soon as there are any; none after ``timeout_ms`` without.

        Positions move past what is returned. Raises what the group and the brokers have against going on, and
        RecordDeserializationError or CorruptFetchError at a record that cannot be read, until ``seek`` passes it.
        """
        return await self._source.take(self._config.max_poll_records, timeout_ms)

    async def consume(self, max_records: int, timeout_ms: int) -> list[ConsumerRecord[K, V]]:
        """As ``poll``, but wait for ``max_records`` of them; fewer when the time is up, or before an error."""
        return await self._source.gather(max_records, timeout_ms)

    def take_back(self) -> None:
        """What ``poll``, ``consume`` or ``arrow`` gave last did not arrive: hand it out again."""
        self._buffer.take_back()

    def __aiter__(self) -> AsyncIterator[ConsumerRecord[K, V]]:
        return self._iterate()

    async def _iterate(self) -> AsyncGenerator[ConsumerRecord[K, V], None]:
        """One record after the other; the position is past a record while its user handles it.

        An iterator that is cancelled has ended, and has lost nothing: ``aiter`` gives another.
        """
        while (records := await self.next_records()) is not None:
            for record in records:
                yield record

    async def next_records(self) -> Iterator[ConsumerRecord[K, V]] | None:
        """What iterating a consumer iterates: records of one partition, None when the consumer is closed.

        Positions follow the iterator, and the rest of it comes again when something else is called before its end.
        """
        return await self._source.next_records()

    def arrow(self, max_rows: int = 65_536) -> "AsyncIterator[pa.RecordBatch]":
        """Arrow batches of at most ``max_rows`` records of one partition, without a Python object a row.

        Keys and values are bytes, whatever the deserializers. Everything else is as with ``poll``: positions move past
        a batch when it is handed out. Needs pyarrow; fast with numba (``ottla[fast]``).
        """
        from ottla.clients.consumer.arrow_reader import arrow_batches

        return arrow_batches(self._core, max_rows)

    # Positions

    def seek(self, partition: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        """Read on from this offset. Nothing is asked of the broker; an offset it does not have is found by polling."""
        place = offset if isinstance(offset, OffsetAndMetadata) else OffsetAndMetadata(offset)
        if place.offset < 0:
            raise IllegalStateError(f"Cannot seek to the negative offset {place.offset}")
        self._buffer.settle()
        self._subscription.seek(partition, place.offset, place.leader_epoch)
        self._core.moved(partition)

    async def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Read on from the first offset of these, or of all; it is looked up while polling."""
        self._seek_by(EARLIEST, partitions)

    async def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Read on from the end of these, or of all, as it is when it is looked up while polling."""
        self._seek_by(LATEST, partitions)

    def _seek_by(self, policy: OffsetResetPolicy, partitions: Collection[TopicPartition]) -> None:
        self._buffer.settle()
        for partition in partitions or list(self._subscription.partitions):
            self._subscription.request_reset(partition, policy)
            self._core.moved(partition)

    async def position(self, partition: TopicPartition, *, timeout_ms: int | None = None) -> int:
        """The offset of the next record to be handed out; waits while it is looked up."""
        self._core.check_usable()
        timeout_ms = self._config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        deadline_ms = self._core.now_ms() + timeout_ms
        while True:
            self._buffer.checkpoint()
            position = self._subscription.state(partition).position
            if position is not None:
                return position.offset
            self._core.check_usable().raise_error()
            left_ms = deadline_ms - self._core.now_ms()
            if left_ms <= 0:
                raise KafkaTimeoutError(f"The position of {partition} could not be determined within {timeout_ms} ms")
            await self._core.wait(left_ms)

    async def lag(self, partition: TopicPartition, *, timeout_ms: int | None = None) -> int:
        """How many offsets the position is behind the end that may be read; asks the broker if nothing was fetched."""
        position = await self.position(partition, timeout_ms=timeout_ms)
        known = lags_of(self._subscription, self._core.isolation).get(partition)
        if known is not None:
            return known
        return max(0, (await self.end_offsets([partition], timeout_ms=timeout_ms))[partition] - position)

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], *, timeout_ms: int | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first offset at or after each time (milliseconds since the epoch); None where no record is that late."""
        return await self._look_up(timestamps, timeout_ms)

    async def beginning_offsets(
        self, partitions: Collection[TopicPartition], *, timeout_ms: int | None = None
    ) -> dict[TopicPartition, int]:
        """The first offsets that the logs still have."""
        return await self._look_up_ends(partitions, EARLIEST_TIMESTAMP, timeout_ms)

    async def end_offsets(
        self, partitions: Collection[TopicPartition], *, timeout_ms: int | None = None
    ) -> dict[TopicPartition, int]:
        """The offsets after the last records that may be read: high watermarks, or last stable offsets."""
        return await self._look_up_ends(partitions, LATEST_TIMESTAMP, timeout_ms)

    async def _look_up_ends(
        self, partitions: Collection[TopicPartition], timestamp: int, timeout_ms: int | None
    ) -> dict[TopicPartition, int]:
        found = await self._look_up(dict.fromkeys(partitions, timestamp), timeout_ms)
        return {partition: place.offset for partition, place in found.items() if place is not None}

    async def _look_up(
        self, timestamps: Mapping[TopicPartition, int], timeout_ms: int | None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        fetcher = self._core.check_usable()
        return await look_up_offsets(
            self._core.cluster,
            fetcher.positions,
            timestamps,
            timeout_ms=self._config.default_api_timeout_ms if timeout_ms is None else timeout_ms,
            retry_backoff_ms=self._config.common.retry_backoff_ms,
        )

    async def partitions_for(self, topic: str, *, timeout_ms: int | None = None) -> "list[PartitionMetadata]":
        """The topic's partitions; waits until they are known."""
        self._core.check_usable()
        timeout_ms = self._config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        return (await self._core.cluster.require_topics([topic], timeout_ms=timeout_ms)).partitions_for(topic)

    # The group

    async def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None = None,
        *,
        timeout_ms: int | None = None,
    ) -> None:
        """Commit these offsets, or all positions, and wait; what was handed out last counts as read.

        CommitFailedError: the group went on without this member. RebalanceInProgressError: poll, then commit again.
        """
        await self._core.group().commit(self._offsets(offsets), timeout_ms=timeout_ms)

    def commit_async(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None = None,
        callback: CommitCallback | None = None,
    ) -> None:
        """Commit in the background, once; ``callback`` runs from a later poll or commit."""
        self._core.group().commit_async(self._offsets(offsets), callback)

    def _offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        self._buffer.release()
        self._buffer.checkpoint()
        if offsets is None:
            return self._subscription.consumed()
        return {
            partition: OffsetAndMetadata(offset) if isinstance(offset, int) else offset
            for partition, offset in offsets.items()
        }

    async def committed(
        self, *partitions: TopicPartition, timeout_ms: int | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What the group has committed of these; None where it has nothing."""
        return await self._core.group().fetch_committed(partitions, timeout_ms=timeout_ms)

    def group_metadata(self) -> ConsumerGroupMetadata:
        """Who this consumer is in its group, for ``Producer.send_offsets_to_transaction``."""
        return self._core.group().group_metadata

    # Looking at it

    def health(self) -> ConsumerHealth:
        """Why nothing arrives, or that all is well."""
        return consumer_health(self._core.health_view())

    def metrics(self) -> dict[str, float]:
        """Figures by Apache's names; rates and averages are over the consumer's life."""
        return self._core.figures()


def _deserializer(given: object, configured: str | None) -> Deserialize | None:
    """The function for what the user gave; None leaves bytes as they are."""
    deserializer = as_deserializer(given if given is not None else configured)
    return None if deserializer is deserialize_bytes else deserializer
