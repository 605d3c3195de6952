"""Errors that tell of the machine's load, not of its disk: they pass when somebody else lets go of something."""

import errno
from typing import Final

_SHORTAGES: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN})
"""Open files of this process, open files of the machine, memory, processes."""
SHORTAGE_WAIT_MS: Final = 100
SHORTAGE_TRIES: Final = 50
"""How often, and how many times, a call is tried again that nobody can repeat instead."""


def is_shortage(error: BaseException) -> bool:
    """Whether the same call may work a moment later. An fsync never fails with one of these: see ``posix``."""
    return isinstance(error, OSError) and error.errno in _SHORTAGES
