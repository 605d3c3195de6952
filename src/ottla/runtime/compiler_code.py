"""The compiler that numba brings, LLVM: 80 MB of code, of which loading kernels touches 50, and running them none."""

import ctypes
import mmap
import sys
from typing import Final

_LIBRARY: Final = "libllvmlite"
_EXECUTABLE: Final = "r-xp"
"""Code alone: what is only read may have been written to when it was loaded."""


def release_compiler_code() -> bool:
    """Give the pages of its code back, when kernels are loaded; whether that could be done.

    They come back from the file when something is compiled again. Only Linux says where they are.
    """
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    done = False
    with open("/proc/self/maps") as mappings:
        for mapping in mappings:
            if _LIBRARY in mapping and _EXECUTABLE in mapping:
                start, end = (int(each, 16) for each in mapping.split(maxsplit=1)[0].split("-"))
                done = libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), mmap.MADV_DONTNEED) == 0
    return done
