"""Where a consumer's records come from: the buffer, with everything that a poll does besides."""

from collections.abc import Iterator
from typing import Generic, TypeVar

from ottla.clients.consumer.consumer_core import ConsumerCore
from ottla.clients.consumer.consumer_record import ConsumerRecord
from ottla.clients.consumer.interceptors import Interceptors
from ottla.clients.consumer.pace import Pace
from ottla.clients.errors import IllegalStateError

K = TypeVar("K")
V = TypeVar("V")


class RecordSource(Generic[K, V]):
    """Hands records out, many at a time or one by one; one task asks at a time."""

    __slots__ = ("_buffer", "_core", "_interceptors", "_is_polling", "_pace")

    def __init__(self, core: ConsumerCore, interceptors: Interceptors) -> None:
        self._core = core
        self._buffer = core.buffer
        self._interceptors = interceptors
        self._pace = Pace(core.config.max_poll_records)
        self._is_polling = False

    async def take(self, max_records: int, timeout_ms: int) -> list[ConsumerRecord[K, V]]:
        """What there is, at most so many, as soon as there is any; nothing when the time is up."""
        core, buffer = self._core, self._buffer
        if self._is_polling:
            raise IllegalStateError("Another task is polling this consumer; one does at a time")
        self._is_polling = True
        try:
            deadline_ms: int | None = None
            while True:
                if core.attention():
                    await core.attend()
                records = buffer.take(max_records)
                if buffer.has_room:
                    core.fetch_more()
                if records:
                    return self._interceptors.on_consume(records) if self._interceptors.has_consume else records
                now_ms = core.now_ms()
                if deadline_ms is None:
                    deadline_ms = now_ms + timeout_ms
                if now_ms >= deadline_ms:
                    return records
                await core.wait(deadline_ms - now_ms)
        finally:
            self._is_polling = False

    async def gather(self, max_records: int, timeout_ms: int) -> list[ConsumerRecord[K, V]]:
        """Exactly so many, or what came when the time is up."""
        self._core.check_usable()
        deadline_ms = self._core.now_ms() + timeout_ms
        records = await self.take(max_records, timeout_ms)
        while len(records) < max_records and (left_ms := deadline_ms - self._core.now_ms()) > 0:
            records += await self.take(max_records - len(records), left_ms)
        return records

    async def next_records(self) -> Iterator[ConsumerRecord[K, V]] | None:
        """The next records of one partition, to be handed out one by one; None when the consumer is closed."""
        core, buffer = self._core, self._buffer
        buffer.settle()
        while not core.is_closed:
            if core.attention():
                await core.attend()
            chunk = buffer.next_chunk(self._pace.next_size(core.metrics.last_poll_ms))
            if buffer.has_room:
                core.fetch_more()
            if chunk is not None:
                return self._interceptors.on_each(chunk.iterator) if self._interceptors.has_consume else chunk.iterator
            self._pace.pause()
            await core.wait(None)
        return None
