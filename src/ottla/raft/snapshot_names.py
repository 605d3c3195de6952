"""What the files of snapshots are called: ``<end offset>-<epoch>.checkpoint``, next to the log's segments. Pure."""

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from ottla.raft.offset_and_epoch import OffsetAndEpoch

if TYPE_CHECKING:
    from random import Random

SUFFIX: Final = ".checkpoint"
PARTIAL_SUFFIX: Final = ".checkpoint.part"
"""Follows a random number: the file is being written, or its writer has died."""
DELETED_SUFFIX: Final = ".checkpoint.deleted"
"""The file waits for its deletion."""

BOOTSTRAP_SNAPSHOT_ID: Final = OffsetAndEpoch(0, 0)
"""Holds the voters that a directory was formatted with, and no committed records."""

_NAME = re.compile(r"([0-9]{20})-([0-9]{10})(?:-[0-9]+)?(\.checkpoint(?:\.part|\.deleted)?)", re.ASCII)


class SnapshotName(NamedTuple):
    """A snapshot file, by its name."""

    snapshot_id: OffsetAndEpoch
    is_partial: bool
    is_deleted: bool


def snapshot_file_name(snapshot_id: OffsetAndEpoch, suffix: str = SUFFIX) -> str:
    """The name of a snapshot's file."""
    return f"{snapshot_id.offset:020d}-{snapshot_id.epoch:010d}{suffix}"


def partial_file_name(snapshot_id: OffsetAndEpoch, rng: "Random") -> str:
    """A new name for a snapshot that is being written."""
    return f"{snapshot_id.offset:020d}-{snapshot_id.epoch:010d}-{rng.getrandbits(63)}{PARTIAL_SUFFIX}"


def parse_snapshot_name(name: str) -> SnapshotName | None:
    """What a file's name says; None if the file is no snapshot."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    snapshot_id = OffsetAndEpoch(int(found[1]), int(found[2]))
    return SnapshotName(snapshot_id, found[3] == PARTIAL_SUFFIX, found[3] == DELETED_SUFFIX)
