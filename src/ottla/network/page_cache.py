"""Whether a range of a file can be sent without waiting for the disk, and a way to make it so."""

import errno
import os
from typing import Final

from ottla.protocol.file_slice import ReadableFile

PAGE_BYTES: Final = 4096
READ_AHEAD_BYTES: Final = 16 * 1024 * 1024
"""How far beyond a cold range the disk is asked to go on."""
_TOUCH_BYTES: Final = 64 * 1024
_NOWAIT: Final[int | None] = getattr(os, "RWF_NOWAIT", None)
_page = bytearray(PAGE_BYTES)


def is_cached(file: ReadableFile, position: int, size: int) -> bool:
    """Whether the first and the last page of a range are in the page cache.

    What lies between them is taken for cached too: ranges are read ahead and written in one go. Where the machine or
    the file system cannot say, the answer is yes, and a cold range then waits in sendfile as it would for anybody.
    """
    if _NOWAIT is None:
        return True
    descriptor = file.fileno()
    last = position + max(size - 1, 0)
    try:
        os.preadv(descriptor, [_page], position, _NOWAIT)
        if last - position >= PAGE_BYTES:
            os.preadv(descriptor, [memoryview(_page)[:1]], last, _NOWAIT)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in {errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS}:
            return True
        raise
    return True


def load(file: ReadableFile, position: int, size: int) -> None:
    """Bring a range into the page cache, and begin to read what follows it; blocks, without the GIL.

    Whoever scans a file comes back for the next range, and finds it there. A byte here and there is enough to wait for
    the rest: what is asked for together arrives in order.
    """
    descriptor = file.fileno()
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, position, size + READ_AHEAD_BYTES, os.POSIX_FADV_WILLNEED)
    last = position + size - 1
    for touched in (*range(position, last, _TOUCH_BYTES), last):
        os.pread(descriptor, 1, touched)
