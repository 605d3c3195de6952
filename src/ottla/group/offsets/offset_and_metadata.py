"""A committed offset, as the coordinator keeps it."""

from typing import NamedTuple

from ottla.common.uuid import ZERO_UUID, Uuid

NO_LEADER_EPOCH = -1
NO_TIMESTAMP_MS = -1


class OffsetAndMetadata(NamedTuple):
    """What a group has read of a partition. There are a million of these: plain numbers say what is absent."""

    committed_offset: int
    leader_epoch: int = NO_LEADER_EPOCH
    metadata: str = ""
    commit_timestamp_ms: int = 0
    expire_timestamp_ms: int = NO_TIMESTAMP_MS
    """When it expires, if the client said so (OffsetCommit 2–4); else the broker's retention decides."""
    topic_id: Uuid = ZERO_UUID
    """The zero id when the commit did not name the topic by its id and none was known."""
    record_offset: int = -1
    """Where its record stands in the log: -1 while it is not written yet. Of two commits the later one wins."""
