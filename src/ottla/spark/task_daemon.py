"""Spark's Python daemon on one machine: what tasks need is imported once, before it forks the workers that run them.

Spark's own imports nothing, and each worker the same again: 0.3 to 0.5 s of CPU, and 60 MB that they can share. Named
by ``spark.python.daemon.module``; Spark starts one for each of its worker modules, of which only one runs tasks.
"""

import gc
import importlib
import sys
from contextlib import suppress
from typing import Final

from ottla.spark.freed_memory import share_one_heap
from ottla.spark.kept_modules import MODULES

TASKS: Final = "pyspark.worker"
_NEEDED: Final = (
    TASKS,
    "pyarrow.compute",
    "ottla.spark.scan.range_reader",
    "ottla.spark.sink.plain_sink",
    "ottla.clients.producer.record_arrow",
    "ottla.clients.producer.send_batch",
    "ottla.clients.sync.batch_delivery",
    "encodings.idna",  # a connection asks for it
)
_WANTED: Final = "pandas"
"""PyArrow imports it, if it is there, when a task that writes says what it wrote."""


def import_what_tasks_need() -> None:
    """Both ways of our rows, and what PySpark puts around them; the collector does not look at it again."""
    gc.disable()
    for name in _NEEDED:
        importlib.import_module(name)
    with suppress(ImportError):
        importlib.import_module(_WANTED)
    MODULES.keep()
    gc.enable()


if __name__ == "__main__":
    from pyspark.daemon import manager

    if sys.argv[1:] == [TASKS]:
        share_one_heap()
        import_what_tasks_need()
    manager()
