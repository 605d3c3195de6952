"""What the benchmarks write: logs of plain batches in a directory of their own."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ottla.config.topic import LogConfig
from ottla.log.loader import load_log
from ottla.log.log import Log
from ottla.log.log_context import LogContext
from ottla.records.builder import build_batch
from ottla.records.record import SimpleRecord
from ottla.runtime.inline import InlineRuntime

_OVERHEAD_BYTES = 80
"""Header and framing of a batch of one record, about."""


def now_ms() -> int:
    """The time that records carry; a log refuses those from far ahead."""
    return int(time.time() * 1000)


def batch_of(size_bytes: int) -> bytearray:
    """One batch of about this size: a single record of random bytes."""
    return build_batch([SimpleRecord(now_ms(), b"key", os.urandom(size_bytes - _OVERHEAD_BYTES))])


@contextmanager
def scratch_directory() -> Iterator[str]:
    """A directory beside the checkout's own files, on the disk that is to be measured; gone afterwards."""
    path = tempfile.mkdtemp(prefix="bench-", dir=".")
    try:
        yield os.path.abspath(path)
    finally:
        shutil.rmtree(path, ignore_errors=True)


def open_log(directory: str, *, clean_shutdown: bool = False, config: LogConfig | None = None) -> Log:
    """A log as a broker opens it."""
    return load_log(LogContext(InlineRuntime()), directory, config or LogConfig(), clean_shutdown=clean_shutdown)
