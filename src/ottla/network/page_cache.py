"""Whether a range of a file can be sent without waiting for the disk, and a way to make it so."""

import errno
import os
from typing import Final

from ottla.protocol.file_slice import ReadableFile

PAGE_BYTES: Final = 4096
_TOUCH_BYTES: Final = 64 * 1024
_NOWAIT: Final[int | None] = getattr(os, "RWF_NOWAIT", None)
_SOCKETS_ONLY: Final = {errno.ENOTSOCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL}
"""How a machine says that its sendfile writes to nothing but sockets, or does not read from such a file."""
_DISK_ERRORS: Final = {errno.EIO, errno.EBADMSG, errno.ESTALE, getattr(errno, "EUCLEAN", errno.EIO)}
"""Unreadable, damaged, gone from its server, damaged. A socket gives none: in sendfile, it was the file."""
_page = bytearray(PAGE_BYTES)


def is_disk_error(error: OSError) -> bool:
    """Whether a disk has failed, rather than a socket, a descriptor that was closed meanwhile, or this process."""
    return error.errno in _DISK_ERRORS


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
    """Bring a range into the page cache; blocks, without the GIL. What the file does not have is left out.

    The kernel takes it for reading in sequence and begins to read what follows, so that whoever scans a file finds the
    next range there or on its way. Sending a file into nothing touches every page and copies none: it takes half of the
    CPU of asking for pages (``posix_fadvise``) and waiting for them.
    """
    descriptor = file.fileno()
    sink = os.open(os.devnull, os.O_WRONLY)
    try:
        end = position + size
        while position < end and (read := os.sendfile(sink, descriptor, position, end - position)):
            position += read
    except OSError as error:
        if error.errno not in _SOCKETS_ONLY:
            raise
        _touch(descriptor, position, size)
    finally:
        os.close(sink)


def _touch(descriptor: int, position: int, size: int) -> None:
    """Load by reading a byte here and there; what lies between comes along."""
    last = position + size - 1
    for touched in (*range(position, last, _TOUCH_BYTES), last):
        os.pread(descriptor, 1, touched)
