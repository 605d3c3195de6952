"""The producers of a Python worker, which Spark gives one task after another: one for each set of properties."""

import atexit
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from ottla.clients.sync import Producer
from ottla.spark.freed_memory import keep_freed_memory

_PRODUCERS_MAX: Final = 4
"""Those that were used least recently are closed beyond that."""

Key = tuple[tuple[str, str], ...]


class ProducerCache:
    """Open producers of this process. One that a task left with an error is closed, so that the next begins anew."""

    def __init__(self, make: Callable[[Mapping[str, str]], Producer] = Producer, *, patience_ms: int = 0) -> None:
        """``patience_ms`` is how long a failed task's producer may take to close, and abort its transaction."""
        self._make = make
        self._patience_ms = patience_ms
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._idle: OrderedDict[Key, Producer] = OrderedDict()

    @contextmanager
    def borrow(self, properties: Mapping[str, str]) -> Iterator[Producer]:
        """A started producer for this task alone; it is kept for the next one if nothing goes wrong."""
        key = tuple(sorted(properties.items()))
        producer = self._take(key)
        if producer is None:
            keep_freed_memory()
            producer = self._make(properties)
            try:
                producer.start()
            except BaseException:
                producer.close(timeout_ms=0)
                raise
        try:
            yield producer
        except BaseException:
            producer.close(timeout_ms=self._patience_ms)
            raise
        self._give_back(key, producer)

    def close(self) -> None:
        """Close those that nobody uses."""
        with self._lock:
            idle, self._idle = self._idle, OrderedDict()
            is_own = self._pid == os.getpid()
        for producer in idle.values() if is_own else ():
            producer.close()

    def _take(self, key: Key) -> Producer | None:
        with self._lock:
            if self._pid != os.getpid():  # forked: the threads and sockets are the parent's
                self._pid, self._idle = os.getpid(), OrderedDict()
            return self._idle.pop(key, None)

    def _give_back(self, key: Key, producer: Producer) -> None:
        surplus = []
        with self._lock:
            before = self._idle.pop(key, None)
            if before is not None:
                surplus.append(before)
            self._idle[key] = producer
            while len(self._idle) > _PRODUCERS_MAX:
                surplus.append(self._idle.popitem(last=False)[1])
        for each in surplus:
            each.close()


PRODUCERS: Final = ProducerCache()
"""One for the process."""
atexit.register(PRODUCERS.close)
