"""How records become Arrow in this process: by numba's kernels once they are loaded, by Python until then.

Loading takes a second or two (numba itself; the kernels come from its cache on disk), in every Python worker that Spark
forks. A first micro-batch of a few thousand rows is through in a fraction of that without.
"""

import os
import threading
from functools import partial
from typing import TYPE_CHECKING, Final

from ottla.clients.consumer.arrow_reader import MakeBuilder, builder_class
from ottla.clients.consumer.arrow_rows import RowBuilder
from ottla.clients.consumer.arrow_schema import Layout

if TYPE_CHECKING:
    from ottla.clients.consumer.arrow_columns import ColumnBuilder

OFFSETS_WORTH_WAITING: Final = 200_000
"""A task with more waits for the kernels; Python would take longer."""
BYTES_BEFORE_LOADING: Final = 4 * 1024 * 1024
"""A process that has decoded so much by Python loads them beside its tasks."""


class Builders:
    """Plain → loading, in a thread → loaded (the kernels, or the plain builder where numba is missing)."""

    def __init__(self) -> None:
        self._decoded_bytes = 0
        self._loader: threading.Thread | None = None
        self._loaded: type[ColumnBuilder | RowBuilder] | None = None
        self._pid = -1
        self._lock = threading.Lock()

    @property
    def is_loaded(self) -> bool:
        """Whether nothing better will come."""
        return self._loaded is not None

    def expect(self, offsets: int) -> None:
        """A task with so many offsets begins; returns when the kernels are there, if they are worth it."""
        if self._loaded is None and offsets >= OFFSETS_WORTH_WAITING:
            self._start()
            self.wait()

    def choose(self, size_in_bytes: int, layout: Layout) -> MakeBuilder:
        """What builds the batches of an answer of this size."""
        loaded = self._loaded
        if loaded is None:
            self._decoded_bytes += size_in_bytes
            if self._decoded_bytes >= BYTES_BEFORE_LOADING:
                self._start()
        return partial(loaded or RowBuilder, layout=layout)

    def wait(self) -> None:
        """Return when what is loading is loaded."""
        if self._loader is not None:
            self._loader.join()

    def _start(self) -> None:
        with self._lock:
            if self._loader is None or self._pid != os.getpid():  # a thread does not survive a fork
                self._pid = os.getpid()
                self._loader = threading.Thread(target=self._load, name="ottla-kernels", daemon=True)
                self._loader.start()

    def _load(self) -> None:
        self._loaded = builder_class()


BUILDERS: Final = Builders()
"""One for the process."""
