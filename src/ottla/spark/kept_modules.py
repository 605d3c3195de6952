"""What a Python worker has imported is there to stay, and need not be looked at again.

Spark collects garbage after every task that a worker runs. With numba loaded that is a walk over half a million objects
of modules, 50 ms or more: as long as a micro-batch, and a tenth of a scan.
"""

import gc
import sys
from typing import Final


class KeptModules:
    """The collector passes over the modules that were there when ``keep`` was last called."""

    def __init__(self) -> None:
        self._count = 0

    def keep(self) -> None:
        """At the end of a task: freeze all that is there, if modules came since the last time; it costs nothing."""
        if len(sys.modules) > self._count:
            self._count = len(sys.modules)
            gc.freeze()


MODULES: Final = KeptModules()
"""The process's."""
