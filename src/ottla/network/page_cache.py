"""Whether a range of a file can be sent without waiting for the disk, and a way to make it so."""

import errno
import os
from typing import Final

from ottla.protocol.file_slice import ReadableFile

PAGE_BYTES: Final = 4096
_READ_BYTES: Final = 256 * 1024
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
    """Bring a range into the page cache; blocks, without the GIL."""
    descriptor = file.fileno()
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, position, size, os.POSIX_FADV_WILLNEED)
    end = position + size
    scratch = memoryview(bytearray(min(size, _READ_BYTES)))
    while position < end:
        read = os.preadv(descriptor, [scratch[: end - position]], position)
        if read == 0:
            return
        position += read
