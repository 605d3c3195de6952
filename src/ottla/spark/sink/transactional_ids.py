"""The transactional ids of a sink's tasks: few, used again and again, and never while a decision may need them. Pure.

``<sink id>-<worker>-<number>``. A worker is a Python process in one run of a query. Within a run batches follow upon
each other, and the tasks of one start when all decided transactions of the one before are committed: so a worker may
use its numbers again with each batch, and what it aborts thereby nobody will decide. Another run has other workers.
"""

import re
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

_RUNS_MAX: Final = 64


class TransactionalIds:
    """One for a process; ``new_worker`` gives twelve hexadecimal digits that no other process has."""

    def __init__(self, new_worker: Callable[[], str]) -> None:
        self._new_worker = new_worker
        self._runs: OrderedDict[tuple[str, str], _Run] = OrderedDict()

    def take(self, sink_id: str, run_id: str, batch_id: int) -> str:
        """An id for one attempt of a task of this batch."""
        run = self._runs.pop((sink_id, run_id), None)
        if run is None:
            run = _Run(self._new_worker())
        self._runs[sink_id, run_id] = run
        while len(self._runs) > _RUNS_MAX:
            self._runs.popitem(last=False)
        return f"{sink_id}-{run.worker}-{run.take(batch_id)}"


class _Run:
    __slots__ = ("_batch_id", "_next", "worker")

    def __init__(self, worker: str) -> None:
        self.worker = worker
        self._batch_id = -1
        self._next = 0

    def take(self, batch_id: int) -> int:
        """A number that is not used in the newest batch; a late task of an older one gets such a number too."""
        if batch_id > self._batch_id:
            self._batch_id, self._next = batch_id, 0
        self._next += 1
        return self._next - 1


def pattern_of(sink_id: str) -> str:
    """The ids of a sink, as a regular expression in RE2's and Python's syntax."""
    return f"^{re.escape(sink_id)}-[0-9a-f]{{12}}-[0-9]+$"
