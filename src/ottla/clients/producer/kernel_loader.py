"""When numba is worth its price: it takes most of a second to load, and some seconds to compile for the first time.

Until then, and where it is not installed, records are encoded by Python; the bytes are the same.
"""

import threading
from typing import Final

from ottla.runtime.compiler_code import release_compiler_code

ROWS_MIN: Final = 1_000_000
"""A process that has sent fewer rows in batches does not load it: it saves 0.5 µs a row, and takes 0.4 s and 60 MB."""


class KernelLoader:
    """Unwanted → wanted, once enough rows came → loaded or missing, by ``load``, which takes its time."""

    def __init__(self) -> None:
        self.is_loaded = False
        self._rows = 0
        self._is_asked = False
        self._lock = threading.Lock()

    def note_rows(self, count: int) -> bool:
        """So many rows more; True, once, when it is time to ``load``."""
        if self._is_asked:
            return False
        with self._lock:
            self._rows += count
            if self._rows < ROWS_MIN or self._is_asked:
                return False
            self._is_asked = True
            return True

    def load(self) -> bool:
        """Load and compile, in any thread; False if something is not installed."""
        self._is_asked = True
        try:
            from ottla.clients.producer import record_columns
        except ImportError:
            return False
        record_columns.warm_up()
        release_compiler_code()
        self.is_loaded = True
        return True


KERNELS: Final = KernelLoader()
"""One for the process."""
