"""What the system knows of this process, under the names that Prometheus' own clients use. Linux only."""

import os
import resource
from collections.abc import Callable
from time import process_time
from typing import Final

from ottla.metrics.names import metric_name
from ottla.metrics.registry import Registry
from ottla.runtime.open_files import open_files_in_use, open_files_limit

_PAGE_BYTES: Final = resource.getpagesize()
_STATM: Final = "/proc/self/statm"
_IO: Final = "/proc/self/io"


def register_process(registry: Registry) -> None:
    """Show memory, processor time, files and disk; nothing of it where there is no /proc."""
    if not os.path.exists(_STATM):
        return
    rows: tuple[tuple[str, str, Callable[[], float]], ...] = (
        ("process_resident_memory_bytes", "Resident memory", _resident_memory_bytes),
        ("process_cpu_seconds_total", "Processor time, of the user and of the system", process_time),
        ("process_open_fds", "Open file descriptors", open_files_in_use),
        ("process_max_fds", "How many there may be", open_files_limit),
        (metric_name("kafka.server", "KafkaServer", "linux-disk-read-bytes"),
         "Bytes read from disks", lambda: _io("read_bytes")),
        (metric_name("kafka.server", "KafkaServer", "linux-disk-write-bytes"),
         "Bytes written to disks", lambda: _io("write_bytes")),
    )  # fmt: skip
    for name, text, read in rows:
        registry.gauge(name, text, read)


def _resident_memory_bytes() -> int:
    with open(_STATM, encoding="ascii") as statm:
        return int(statm.read().split()[1]) * _PAGE_BYTES


def _io(name: str) -> int:
    """0 where the system does not let a process see it, as in some containers."""
    try:
        with open(_IO, encoding="ascii") as lines:
            return int(dict(line.split(": ") for line in lines)[name])
    except OSError:
        return 0
