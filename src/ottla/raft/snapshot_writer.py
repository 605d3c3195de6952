"""Writing a snapshot: under a ``.part`` name until everything is on the disk, then under its own.

A snapshot is a header batch (with kraft.version and voters from version 1 on), data batches, and a footer batch; its
offsets count from 0.
"""

import logging
from collections.abc import Sequence
from typing import Final

from ottla.raft.batch import data_batch
from ottla.raft.offset_and_epoch import OffsetAndEpoch
from ottla.raft.snapshot_names import partial_file_name, snapshot_file_name
from ottla.raft.voter_set import VoterSet
from ottla.records.control import (
    KRaftControlMessage,
    KRaftVersionRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    control_batch,
)
from ottla.runtime.port import Runtime

logger = logging.getLogger(__name__)

BATCH_BYTES: Final = 32 * 1024
"""A data batch is written when it has grown to this: about a millisecond's work. Apache's grow to 8 MiB."""


class SnapshotBatches:
    """Turns values into the batches of a snapshot. Pure."""

    __slots__ = ("_bytes", "_epoch", "_next_offset", "_values")

    def __init__(self, epoch: int) -> None:
        self._epoch = epoch
        self._next_offset = 0
        self._values: list[bytes] = []
        self._bytes = 0

    def header(
        self, last_contained_log_timestamp: int, now_ms: int, *, kraft_version: int = 0, voters: VoterSet | None = None
    ) -> bytearray:
        """The first batch."""
        assert kraft_version or voters is None, f"kraft.version 0 has no voters in a snapshot: {voters}"
        messages: list[KRaftControlMessage] = [
            SnapshotHeaderRecord(last_contained_log_timestamp=last_contained_log_timestamp)
        ]
        if kraft_version:
            messages.append(KRaftVersionRecord(kraft_version=kraft_version))
            if voters is not None:
                messages.append(voters.to_record())
        return self._control(messages, now_ms)

    def add(self, value: bytes, now_ms: int) -> bytearray | None:
        """Take a record's value; returns a batch when one is full."""
        self._values.append(value)
        self._bytes += len(value)
        return self._data(now_ms) if self._bytes >= BATCH_BYTES else None

    def footer(self, now_ms: int) -> bytearray:
        """What was not written yet, and the last batch."""
        rest = self._data(now_ms) if self._values else bytearray()
        return rest + self._control([SnapshotFooterRecord()], now_ms)

    def _data(self, now_ms: int) -> bytearray:
        batch = data_batch(self._values, base_offset=self._next_offset, epoch=self._epoch, append_time_ms=now_ms)
        self._next_offset += len(self._values)
        self._values, self._bytes = [], 0
        return batch

    def _control(self, messages: Sequence[KRaftControlMessage], now_ms: int) -> bytearray:
        batch = control_batch(messages, base_offset=self._next_offset, timestamp=now_ms, leader_epoch=self._epoch)
        self._next_offset += len(messages)
        return batch


class SnapshotWriter:
    """One snapshot: ``append`` values, then ``freeze``; or ``close`` to give up, which leaves nothing behind."""

    def __init__(
        self,
        runtime: Runtime,
        directory: str,
        snapshot_id: OffsetAndEpoch,
        *,
        last_contained_log_timestamp: int,
        kraft_version: int = 0,
        voters: VoterSet | None = None,
    ) -> None:
        """Begin the file in ``directory``, which is there."""
        self.snapshot_id = snapshot_id
        self.size_bytes = 0
        self._runtime = runtime
        self._directory = directory
        self._clock = runtime.clock
        self._part = f"{directory}/{partial_file_name(snapshot_id, runtime.rng)}"
        self._file = runtime.files.open(self._part, create=True)
        self._is_open = True
        self._batches = SnapshotBatches(snapshot_id.epoch)
        self._write(
            self._batches.header(
                last_contained_log_timestamp, self._clock.now_ms(), kraft_version=kraft_version, voters=voters
            )
        )

    def append(self, value: bytes) -> None:
        """Add a record, as its serde wrote it."""
        batch = self._batches.add(value, self._clock.now_ms())
        if batch is not None:
            self._write(batch)

    async def freeze(self) -> None:
        """Finish the snapshot; on return it has its name, durably. The disk is waited for away from the reactor."""
        self._write(self._batches.footer(self._clock.now_ms()))
        await self._runtime.blocking(self._file.sync)
        self._file.close()
        self._is_open = False
        files = self._runtime.files
        files.rename(self._part, f"{self._directory}/{snapshot_file_name(self.snapshot_id)}")
        await self._runtime.blocking(lambda: files.sync_dir(self._directory))

    def close(self) -> None:
        """Let go; a snapshot that is not frozen goes."""
        if self._is_open:
            self._is_open = False
            self._file.close()
            self._runtime.files.remove(self._part)

    def _write(self, batch: bytearray) -> None:
        self._file.pwrite(batch, self.size_bytes)
        self.size_bytes += len(batch)
