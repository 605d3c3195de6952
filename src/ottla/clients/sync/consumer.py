"""The consumer for plain code: the asyncio client's methods without ``await``."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from ottla.clients.consumer.consumer import Consumer as AsyncConsumer
from ottla.clients.consumer.consumer import MakesData, Topic
from ottla.clients.consumer.consumer_record import ConsumerRecord
from ottla.clients.consumer.membership import CommitCallback
from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
from ottla.clients.sync.runner import Runner
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition

if TYPE_CHECKING:
    import pyarrow as pa

K = TypeVar("K")
V = TypeVar("V")
P = ParamSpec("P")
R = TypeVar("R")


def blocking(
    method: Callable[Concatenate[AsyncConsumer[Any, Any], P], Coroutine[Any, Any, R]],
) -> "Callable[Concatenate[Consumer[Any, Any], P], R]":
    """A coroutine method of the asyncio client that returns when it is done; parameters and docstring are the same."""

    @wraps(method)
    def call(self: "Consumer[Any, Any]", /, *args: P.args, **keywords: P.kwargs) -> R:
        return self._runner.run(method(self._consumer, *args, **keywords))

    return call


def in_loop(
    method: Callable[Concatenate[AsyncConsumer[Any, Any], P], R],
) -> "Callable[Concatenate[Consumer[Any, Any], P], R]":
    """A plain method of the asyncio client, called in the loop's thread, where nothing else runs meanwhile."""

    @wraps(method)
    def call(self: "Consumer[Any, Any]", /, *args: P.args, **keywords: P.kwargs) -> R:
        return self._runner.call(lambda: method(self._consumer, *args, **keywords))

    return call


class Consumer(Generic[K, V]):
    """``with Consumer("orders", bootstrap_servers=…, group_id=…) as consumer: for record in consumer: …``.

    What each method does is the same as in the asyncio client, whose methods these are. One thread polls at a time.
    A rebalance listener and the callback of a commit run in a thread of their own while the poll waits, so they may
    call the consumer; interceptors run in the loop's thread and may not.
    """

    __slots__ = ("_consumer", "_is_closed", "_runner")

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

    def __init__(self, *topics: Topic, **keywords: Any) -> None:
        """As the asyncio client's; InvalidConfigError."""
        self._runner = Runner()
        self._is_closed = False
        try:
            given = keywords | {"listener": _in_thread(keywords.get("listener"))}
            self._consumer: AsyncConsumer[K, V] = self._runner.call(lambda: AsyncConsumer(*topics, **given))
        except BaseException:
            self._runner.close()
            raise
        self._runner.close_with(self._consumer.close)

    def start(self) -> None:
        """Connect. KafkaTimeoutError if no bootstrap server answers, AuthenticationError if they refuse."""
        self._runner.run(self._consumer.start())

    def close(self, *, timeout_ms: int | None = None) -> None:
        """Commit what was handed out if auto commit is on, leave the group, and let go of everything."""
        if not self._is_closed and self._runner.is_open:
            self._runner.refuse_own_thread()
            self._is_closed = True
            try:
                self._runner.run(self._consumer.close(timeout_ms=timeout_ms))
            finally:
                self._runner.close()

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[ConsumerRecord[K, V]]:
        """One record after the other, until the consumer is closed; the position is past the one that is handled."""
        while (records := self._runner.run(self._consumer.next_records())) is not None:
            yield from records

    def arrow(self, max_rows: int = 65_536) -> "Iterator[pa.RecordBatch]":
        """Arrow batches; see the asyncio client."""
        batches = self._consumer.arrow(max_rows)
        while (batch := self._runner.run(_next(batches), undo=self._consumer.take_back)) is not None:
            yield batch

    def poll(self, timeout_ms: int = 0) -> list[ConsumerRecord[K, V]]:
        """Up to ``max.poll.records`` records as soon as there are any; none after ``timeout_ms`` without."""
        return self._runner.run(self._consumer.poll(timeout_ms), undo=self._consumer.take_back)

    def consume(self, max_records: int, timeout_ms: int) -> list[ConsumerRecord[K, V]]:
        """As ``poll``, but wait for ``max_records`` of them; fewer when the time is up, or before an error."""
        return self._runner.run(self._consumer.consume(max_records, timeout_ms), undo=self._consumer.take_back)

    def unsubscribe(self) -> None:
        """Give everything back and leave the group."""

        async def leave() -> None:
            await self._consumer.unsubscribe()

        self._runner.run(leave())

    def subscribe(
        self,
        topics: Iterable[str] | str = (),
        *,
        pattern: str | re.Pattern[str] | None = None,
        server_pattern: str | None = None,
        listener: object = None,
    ) -> None:
        """Share these topics, or those whose whole name matches, with the group; it replaces what was subscribed to."""
        heard = _in_thread(listener)
        self._runner.call(
            lambda: self._consumer.subscribe(topics, pattern=pattern, server_pattern=server_pattern, listener=heard)
        )

    def commit_async(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None = None,
        callback: CommitCallback | None = None,
    ) -> None:
        """Commit in the background, once; ``callback`` runs from a later poll or commit, in a thread of its own."""
        told = _callback_in_thread(callback)
        self._runner.call(lambda: self._consumer.commit_async(offsets, told))

    assign = in_loop(AsyncConsumer.assign)
    subscription = in_loop(AsyncConsumer.subscription)
    assignment = in_loop(AsyncConsumer.assignment)
    pause = in_loop(AsyncConsumer.pause)
    resume = in_loop(AsyncConsumer.resume)
    paused = in_loop(AsyncConsumer.paused)
    seek = in_loop(AsyncConsumer.seek)
    group_metadata = in_loop(AsyncConsumer.group_metadata)
    health = in_loop(AsyncConsumer.health)
    metrics = in_loop(AsyncConsumer.metrics)
    seek_to_beginning = blocking(AsyncConsumer.seek_to_beginning)
    seek_to_end = blocking(AsyncConsumer.seek_to_end)
    position = blocking(AsyncConsumer.position)
    lag = blocking(AsyncConsumer.lag)
    offsets_for_times = blocking(AsyncConsumer.offsets_for_times)
    beginning_offsets = blocking(AsyncConsumer.beginning_offsets)
    end_offsets = blocking(AsyncConsumer.end_offsets)
    partitions_for = blocking(AsyncConsumer.partitions_for)
    commit = blocking(AsyncConsumer.commit)
    committed = blocking(AsyncConsumer.committed)


async def _next(batches: "AsyncIterator[pa.RecordBatch]") -> Any:
    return await anext(batches, None)


class _ListenerInThread:
    """A listener for plain code: it may wait for the consumer, whose loop must go on meanwhile."""

    __slots__ = ("_listener",)

    def __init__(self, listener: object) -> None:
        self._listener = listener

    async def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        await self._tell("on_partitions_assigned", partitions)

    async def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        await self._tell("on_partitions_revoked", partitions)

    async def on_partitions_lost(self, partitions: frozenset[TopicPartition]) -> None:
        is_told = hasattr(self._listener, "on_partitions_lost")
        await self._tell("on_partitions_lost" if is_told else "on_partitions_revoked", partitions)

    async def _tell(self, method: str, partitions: frozenset[TopicPartition]) -> None:
        function = getattr(self._listener, method, None)
        if function is not None:
            await asyncio.to_thread(function, partitions)


def _in_thread(listener: object) -> object:
    return None if listener is None else _ListenerInThread(listener)


def _callback_in_thread(callback: CommitCallback | None) -> CommitCallback | None:
    if callback is None:
        return None

    async def tell(offsets: Mapping[TopicPartition, OffsetAndMetadata], error: KafkaError | None) -> None:
        await asyncio.to_thread(callback, offsets, error)

    return tell
