"""What the system knows of this process, under the names that Prometheus' own clients use. Linux only."""

import os
import resource
from collections.abc import Callable
from time import process_time
from typing import Final

from ottla.metrics.names import metric_name
from ottla.metrics.registry import Registry

_PAGE_BYTES: Final = resource.getpagesize()
_STATM: Final = "/proc/self/statm"
_DESCRIPTORS: Final = "/proc/self/fd"
_IO: Final = "/proc/self/io"


def register_process(registry: Registry) -> None:
    """Show memory, processor time, files and disk; nothing of it where there is no /proc."""
    if not os.path.exists(_STATM):
        return
    rows: tuple[tuple[str, str, Callable[[], float]], ...] = (
        ("process_resident_memory_bytes", "Resident memory", _resident_memory_bytes),
        ("process_cpu_seconds_total", "Processor time, of the user and of the system", process_time),
        ("process_open_fds", "Open file descriptors", _open_descriptors),
        ("process_max_fds", "How many there may be", lambda: resource.getrlimit(resource.RLIMIT_NOFILE)[0]),
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


def _open_descriptors() -> int:
    # Linux 6.2 and newer tell the number at once; counting tens of thousands of them takes milliseconds.
    return os.stat(_DESCRIPTORS).st_size or len(os.listdir(_DESCRIPTORS))


def _io(name: str) -> int:
    """0 where the system does not let a process see it, as in some containers."""
    try:
        with open(_IO, encoding="ascii") as lines:
            return int(dict(line.split(": ") for line in lines)[name])
    except OSError:
        return 0
