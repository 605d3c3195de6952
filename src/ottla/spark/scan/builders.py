"""How records become Arrow in this process: by numba's kernels once they are loaded, by Python until then.

Loading takes a second or two (numba itself; the kernels come from its cache on disk), in every Python worker that Spark
forks. A first micro-batch of a few thousand rows is through in a fraction of that without.
"""

import threading
from functools import partial
from typing import TYPE_CHECKING, Final

from ottla.clients.consumer.arrow_reader import MakeBuilder, builder_class
from ottla.clients.consumer.arrow_rows import RowBuilder
from ottla.clients.consumer.arrow_schema import Layout

if TYPE_CHECKING:
    from ottla.clients.consumer.arrow_columns import ColumnBuilder

OFFSETS_WORTH_LOADING: Final = 200_000
"""A task with more waits for the kernels; Python would take longer."""
OFFSETS_BEFORE_LOADING: Final = 20_000
"""A process that was asked for more in all loads them beside its tasks."""


class Builders:
    """Plain → loading, in a thread → loaded (the kernels, or the plain builder where numba is missing)."""

    def __init__(self) -> None:
        self._offsets = 0
        self._loader: threading.Thread | None = None
        self._loaded: type[ColumnBuilder | RowBuilder] | None = None
        self._lock = threading.Lock()

    @property
    def is_loaded(self) -> bool:
        """Whether nothing better will come."""
        return self._loaded is not None

    def choose(self, offsets: int, layout: Layout) -> MakeBuilder:
        """What builds the batches of a task with so many offsets."""
        if self._loaded is None:
            with self._lock:
                self._offsets += offsets
                is_wanted = self._offsets >= OFFSETS_BEFORE_LOADING
                if is_wanted and self._loader is None:
                    self._loader = threading.Thread(target=self._load, name="ottla-kernels", daemon=True)
                    self._loader.start()
            if offsets >= OFFSETS_WORTH_LOADING:
                self.wait()
        return self.now(layout)

    def now(self, layout: Layout) -> MakeBuilder:
        """The best there is at this moment."""
        return partial(self._loaded or RowBuilder, layout=layout)

    def wait(self) -> None:
        """Return when what is loading is loaded."""
        if self._loader is not None:
            self._loader.join()

    def _load(self) -> None:
        self._loaded = builder_class()


BUILDERS: Final = Builders()
"""One for the process."""
