"""Between raft and the metadata loader: committed batches and snapshots become published images."""

from typing import Final

from ottla.metadata.loader import MetadataLoader
from ottla.metadata.records import MetadataRecord
from ottla.raft.batch import CommittedBatch
from ottla.raft.snapshot_reader import SnapshotReader

_NO_LEADER: Final = -1


class MetadataListener:
    """A :class:`ottla.raft.listener.RaftListener`."""

    def __init__(self, loader: MetadataLoader) -> None:
        self._loader = loader

    def handle_commit(self, batch: CommittedBatch[MetadataRecord]) -> None:
        """Load a batch, and publish unless a transaction is open."""
        self._loader.handle_commit(batch)

    async def handle_load_snapshot(self, snapshot: SnapshotReader[MetadataRecord]) -> None:
        """Load a snapshot in slices, and publish it as a whole."""
        self._loader.begin_snapshot()
        async for records in snapshot.slices():
            self._loader.load_snapshot(records)
        self._loader.finish_snapshot(
            snapshot.last_contained_log_offset,
            snapshot.last_contained_log_epoch,
            snapshot.last_contained_log_timestamp(),
        )

    def handle_leader_change(self, leader_id: int | None, epoch: int) -> None:
        """Tell the publishers."""
        self._loader.handle_leader_change(_NO_LEADER if leader_id is None else leader_id, epoch)
        self._loader.initialize_publishers()
