"""Reading the control records of a log that was just opened."""

from typing import Final

from ottla.raft.batch import control_messages
from ottla.raft.control_state import ControlState
from ottla.raft.metadata_log import MetadataLog
from ottla.raft.slices import Slices
from ottla.raft.snapshot_reader import RawSnapshot
from ottla.records.batch import batches
from ottla.records.control import KRaftControlMessage
from ottla.runtime.port import Runtime

_READ_BYTES: Final = 1 << 20


async def load_control_state(runtime: Runtime, log: MetadataLog, control: ControlState) -> None:
    """Bring ``control`` up to the end of the log: from the latest snapshot, and from everything after it."""
    offset = log.start_offset
    slices = Slices(runtime)
    latest = log.snapshots.latest_id
    if latest is not None:
        messages: list[KRaftControlMessage | None] = []
        for batch in RawSnapshot(runtime.files, log.snapshots.path(latest)).batches():
            if batch.is_control:
                messages += control_messages(batch)
            await slices.pause_if_due()
        control.handle_snapshot(latest.offset - 1, messages)
        offset = max(latest.offset, offset)
    while (found := log.read(offset, _READ_BYTES, committed=False)) is not None:
        for batch in batches(await runtime.blocking(found.read)):  # recovery has checked them
            if batch.is_control and batch.base_offset >= offset:
                control.handle_log_batch(batch.base_offset, control_messages(batch))
            offset = batch.next_offset
            await slices.pause_if_due()
