"""The commit drivers of a process: Spark's planning and commit processes live as long as a query has batches."""

import atexit
import os
from collections import OrderedDict
from collections.abc import Generator
from typing import Any, Final, TypeVar

from ottla.spark.sink.commit_actions import Action
from ottla.spark.sink.commit_driver import CommitDriver
from ottla.spark.sink.sink_options import SinkOptions

T = TypeVar("T")

_DRIVERS_MAX: Final = 4

Key = tuple[str, str, tuple[tuple[str, str], ...]]


class DriverCache:
    """Open drivers by what they were opened with. One that failed is closed, and the next run opens another."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._open: OrderedDict[Key, CommitDriver] = OrderedDict()

    def run(self, options: SinkOptions, steps: Generator[Action, Any, T]) -> T:
        """Run the protocol's steps with the driver of these options."""
        if self._pid != os.getpid():  # forked: the threads and sockets are the parent's
            self._pid, self._open = os.getpid(), OrderedDict()
        key = (options.sink_id, options.state_topic, tuple(sorted(options.producer.items())))
        driver = self._open.pop(key, None) or CommitDriver(options)
        try:
            result = driver.run(steps)
        except BaseException:
            driver.close()
            raise
        self._open[key] = driver
        while len(self._open) > _DRIVERS_MAX:
            self._open.popitem(last=False)[1].close()
        return result

    def close(self) -> None:
        """Close all."""
        drivers, self._open = self._open, OrderedDict()
        for driver in drivers.values() if self._pid == os.getpid() else ():
            driver.close()


DRIVERS: Final = DriverCache()
"""One for the process."""
atexit.register(DRIVERS.close)
