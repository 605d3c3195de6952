"""Memory that is freed and soon wanted again is better kept: page faults were a third of a scan's CPU time.

Answers and columns are blocks of megabytes, which glibc gives back to the kernel one by one, to get pages for the next
that fault anew. Elsewhere (macOS, musl) nothing is changed.
"""

import ctypes
from typing import Final

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""malloc.h's numbers of what mallopt sets."""
BLOCK_BYTES_MAX: Final = 32 * 1024 * 1024
"""Blocks up to this size come from the heap; it is the most that glibc allows."""
KEPT_BYTES_MAX: Final = 32 * 1024 * 1024
"""What may be free at the end of the heap before it is given back."""


def keep_freed_memory() -> bool:
    """Have this process keep some of what it frees; whether its C library can be told."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    return bool(mallopt(_MMAP_THRESHOLD, BLOCK_BYTES_MAX) and mallopt(_TRIM_THRESHOLD, KEPT_BYTES_MAX))
