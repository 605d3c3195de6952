"""Records on their way from the threads that send to the loop that the producer lives on.

Waking the loop costs more than a send, so it is woken once for many: whoever finds it asleep wakes it, and what comes
while it is awake waits in a short queue, from which the loop feeds the producer in order.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Final, NamedTuple

from ottla.clients.errors import BufferExhaustedError
from ottla.clients.producer.delivery import Delivery as AsyncDelivery
from ottla.clients.producer.interceptors import ProducerRecord
from ottla.clients.sync.delivery import Delivery

_QUEUE_RECORDS_MAX: Final = 1_000
_RESUME_RECORDS: Final = 500

Send = Callable[[ProducerRecord], Coroutine[Any, Any, AsyncDelivery]]


class _HandedOver(NamedTuple):
    record: ProducerRecord
    size_bytes: int
    delivery: Delivery


class Handover:
    """Bounded in records and bytes; a thread that finds it full waits, ``max_block_ms`` at most.

    ``wake`` has ``pump`` run in the loop, from the first record until the queue is empty; one at a time.
    """

    def __init__(self, send: Send, wake: Callable[[], None], *, max_bytes: int, max_block_ms: int) -> None:
        self._send = send
        self._wake = wake
        self._max_bytes = max_bytes
        self._max_block_s = max_block_ms / 1000
        self._queue: deque[_HandedOver] = deque()
        self._queued_bytes = 0
        self._lock = threading.Lock()
        self._has_room = threading.Condition(self._lock)
        self._waiting_count = 0
        self._is_pumping = False
        self._put_count = 0
        self._taken_count = 0
        self._waiters: deque[tuple[int, asyncio.Future[None]]] = deque()
        """In the order of the counts that they wait for."""

    def put(self, record: ProducerRecord, delivery: Delivery) -> None:
        """Hand a record of bytes over; BufferExhaustedError if there is no room for it in time."""
        size_bytes = len(record.key or b"") + len(record.value or b"")
        with self._lock:
            if self._is_full():
                self._wait_for_room()
            self._queue.append(_HandedOver(record, size_bytes, delivery))
            self._queued_bytes += size_bytes
            self._put_count += 1
            if not self._is_pumping:
                self._wake()  # before it is noted: an interrupt in between may wake the loop once more, but never less
                self._is_pumping = True

    async def pump(self) -> None:
        """Feed the producer until nothing is left. What it refuses is told to the record's delivery."""
        while True:
            with self._lock:
                if not self._queue:
                    self._is_pumping = False
                    return
                record, size_bytes, delivery = self._queue.popleft()
                self._queued_bytes -= size_bytes
                if self._waiting_count and len(self._queue) <= _RESUME_RECORDS:
                    self._has_room.notify_all()
            try:
                delivery.taken(await self._send(record))
            except Exception as error:  # noqa: BLE001  also a partitioner's, which must not stop the records behind
                delivery.refused(error)
            self._taken_count += 1
            while self._waiters and self._waiters[0][0] <= self._taken_count:
                _, waiter = self._waiters.popleft()
                if not waiter.done():
                    waiter.set_result(None)

    async def caught_up(self) -> None:
        """Wait, in the loop, until the producer has got all that was put before; not for what others put meanwhile."""
        with self._lock:
            put_count = self._put_count
        if self._taken_count < put_count:
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append((put_count, waiter))
            await waiter

    def _is_full(self) -> bool:
        return bool(self._queue) and (len(self._queue) >= _QUEUE_RECORDS_MAX or self._queued_bytes >= self._max_bytes)

    def _wait_for_room(self) -> None:
        self._waiting_count += 1
        try:
            if not self._has_room.wait_for(lambda: not self._is_full(), self._max_block_s):
                raise BufferExhaustedError(
                    f"Failed to hand over a record within the configured max blocking time "
                    f"{self._max_block_s * 1000:.0f} ms: {len(self._queue)} are waiting."
                )
        finally:
            self._waiting_count -= 1
