"""The reserved directory ids, and whether a directory is online."""

from collections.abc import Collection
from typing import Final

from ottla.common.uuid import RESERVED, Uuid

MIGRATING: Final = Uuid.from_halves(0, 0)
"""The replica was placed before directories were recorded."""
UNASSIGNED: Final = Uuid.from_halves(0, 1)
"""The replica has no directory yet."""
LOST: Final = Uuid.from_halves(0, 2)
"""The replica's directory is offline and not known."""


def is_reserved(directory: Uuid) -> bool:
    """Whether the id stands for a state rather than for a directory."""
    return directory in RESERVED


def is_online(directory: Uuid, online: Collection[Uuid]) -> bool:
    """Whether a replica in ``directory`` can be read, given its broker's online directories.

    With none registered (a cluster from before 3.7-IV2) every directory but LOST counts as online.
    """
    if directory in (UNASSIGNED, MIGRATING):
        return True
    if directory == LOST:
        return False
    return not online or directory in online
