"""Where a consumer's records come from: the buffer, with everything that a poll does besides."""

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from ottla.clients.consumer.consumer_core import ConsumerCore
from ottla.clients.consumer.consumer_record import ConsumerRecord
from ottla.clients.consumer.interceptors import Interceptors
from ottla.clients.consumer.pace import Pace
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition

K = TypeVar("K")
V = TypeVar("V")


class RecordSource(Generic[K, V]):
    """Hands records out, many at a time or one by one; one task asks at a time."""

    __slots__ = ("_buffer", "_core", "_interceptors", "_pace")

    def __init__(self, core: ConsumerCore, interceptors: Interceptors) -> None:
        self._core = core
        self._buffer = core.buffer
        self._interceptors = interceptors
        self._pace = Pace(core.config.max_poll_records)

    async def take(self, max_records: int, timeout_ms: int) -> list[ConsumerRecord[K, V]]:
        """What there is, at most so many, as soon as there is any; nothing when the time is up."""
        with self._core.polling():
            self._buffer.release()
            return await self._take(max_records, timeout_ms)

    async def _take(self, max_records: int, timeout_ms: int) -> list[ConsumerRecord[K, V]]:
        core, buffer = self._core, self._buffer
        deadline_ms: int | None = None
        left_ms = timeout_ms
        while True:
            if core.attention():
                await core.attend(left_ms)
            records = buffer.take(max_records)
            if buffer.has_room:
                core.fetch_more()
            if records:
                return self._interceptors.on_consume(records) if self._interceptors.has_consume else records
            now_ms = core.now_ms()
            if deadline_ms is None:
                deadline_ms = now_ms + timeout_ms
            left_ms = deadline_ms - now_ms
            if left_ms <= 0:
                return records
            await core.wait(left_ms)

    async def gather(self, max_records: int, timeout_ms: int) -> list[ConsumerRecord[K, V]]:
        """Exactly so many, or what came when the time is up or before an error, which the next call raises then.

        What was gathered is not committed before it is handed out, comes again if the caller is cancelled, and is left
        out if its partition is sought or taken away meanwhile.
        """
        fetcher, buffer = self._core.check_usable(), self._buffer
        deadline_ms = self._core.now_ms() + timeout_ms
        records: list[ConsumerRecord[K, V]] = []
        marks: Mapping[TopicPartition, object] = {}
        with self._core.polling(), buffer.gathering():
            try:
                while True:
                    left_ms = max(deadline_ms - self._core.now_ms(), 0)
                    more = await self._take(max_records - len(records), left_ms)
                    records = _still_wanted(records, marks, buffer.marks()) + more
                    marks = buffer.marks()
                    if len(records) >= max_records or self._core.now_ms() >= deadline_ms:
                        return records
            except KafkaError as error:
                records = _still_wanted(records, marks, buffer.marks())
                if not records:
                    raise
                fetcher.on_error(error)
                return records
            except BaseException:
                buffer.take_back()
                raise

    async def next_records(self) -> Iterator[ConsumerRecord[K, V]] | None:
        """The next records of one partition, to be handed out one by one; None when the consumer is closed."""
        core, buffer = self._core, self._buffer
        with core.polling():
            buffer.release()
            buffer.settle()
            while not core.is_closing:
                if core.attention():
                    await core.attend()
                chunk = buffer.next_chunk(self._pace.next_size(core.metrics.last_poll_ms))
                if buffer.has_room:
                    core.fetch_more()
                if chunk is not None:
                    given = chunk.iterator
                    return self._interceptors.on_each(given) if self._interceptors.has_consume else given
                self._pace.pause()
                await core.wait(None)
        return None


def _still_wanted(
    records: list[ConsumerRecord[K, V]], before: Mapping[TopicPartition, object], now: Mapping[TopicPartition, object]
) -> list[ConsumerRecord[K, V]]:
    """Without those of partitions that were sought or taken away meanwhile."""
    gone = {partition for partition, mark in before.items() if now.get(partition) is not mark}
    return [record for record in records if record.topic_partition not in gone] if gone else records
