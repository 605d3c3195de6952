"""What a Python worker does with memory that it has freed: it keeps some while a task runs, and none after a large one.

Answers and columns are blocks of megabytes, which glibc gives back to the kernel one by one, to get pages for the next
that fault anew: a third of a scan's CPU time. But a worker lives on when its task has ended, and what a scan keeps is
of no use to a write. Elsewhere (macOS, musl) nothing is changed.
"""

import ctypes
import sys
from typing import Any, Final

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""malloc.h's numbers of what mallopt sets."""
BLOCK_BYTES_MAX: Final = 32 * 1024 * 1024
"""Blocks up to this size come from the heap; it is the most that glibc allows."""
KEPT_BYTES_MAX: Final = 32 * 1024 * 1024
"""What may be free at the end of the heap before it is given back."""
_LARGE_BYTES: Final = 16 * 1024 * 1024
"""A task that moved less leaves little behind, and is as short as a micro-batch: looking for it would be felt."""


def share_one_heap() -> bool:
    """Have all threads of this process, and of those that it forks, use one heap; whether its C library can be told.

    To be called before there are threads: each would get a heap of its own, with holes of its own, 15 MB in a worker.
    """
    return _set(_ARENA_MAX, 1)


def keep_freed_memory() -> bool:
    """Have this process keep some of what it frees; whether its C library can be told."""
    share_one_heap()
    return _set(_MMAP_THRESHOLD, BLOCK_BYTES_MAX) and _set(_TRIM_THRESHOLD, KEPT_BYTES_MAX)


def give_back_freed_memory(moved_bytes: int) -> None:
    """At the end of a task that moved so many bytes: give the kernel all that is free, if that may be much."""
    if moved_bytes < _LARGE_BYTES:
        return
    if (pyarrow := sys.modules.get("pyarrow")) is not None:
        pyarrow.default_memory_pool().release_unused()
    if (malloc_trim := _function("malloc_trim")) is not None:
        malloc_trim(0)


def _set(parameter: int, value: int) -> bool:
    mallopt = _function("mallopt")
    return mallopt is not None and bool(mallopt(parameter, value))


def _function(name: str) -> Any:
    """A function of the C library, or None."""
    try:
        return getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError):
        return None
