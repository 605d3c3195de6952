"""Leader epochs from what the log holds: during recovery, and when their checkpoint is damaged.

The batches decide. The checkpoint has no checksum, and a truncation before a crash may have left entries in it that
are too many; but a batch's epoch is not covered by the CRC either, so the two are compared where batches contradict
each other.
"""

import logging
from collections.abc import Iterable

from ottla.common.errors import CorruptRecordError
from ottla.log.leader_epochs import EpochEntry, LeaderEpochCache
from ottla.log.segment import LogSegment

logger = logging.getLogger(__name__)


class RecoveringEpochs:
    """The epochs of a log while its segments are scanned.

    Only a scan that goes on ``to_log_end`` may replace entries: what follows the replaced one is found again.
    """

    def __init__(self, epochs: LeaderEpochCache, *, to_log_end: bool) -> None:
        self._epochs = epochs
        self._to_log_end = to_log_end

    def agrees(self, epoch: int, offset: int) -> bool:
        """Whether ``offset`` was written in ``epoch`` as far as the checkpoint knows."""
        return self._epochs.epoch_for_offset(offset) == epoch

    def begin(self, epoch: int, base_offset: int, offset_before: int | None) -> None:
        """Take over that a batch has another epoch than the one that ends at ``offset_before`` (None: not known).

        What lies before the first entry is no contradiction: it is below the log's start, or found again afterwards.
        """
        epochs = self._epochs
        latest = epochs.latest_epoch
        if epoch < 0:
            return
        if latest is None or epoch > latest:
            epochs.assign(epoch, base_offset)
        elif self._to_log_end and epochs.epoch_for_offset(base_offset) not in (None, epoch):
            epochs.truncate_from_end(base_offset)
            epochs.assign(epoch, base_offset)
        elif self._to_log_end and offset_before is not None and self.agrees(epoch, offset_before):
            entry = epochs.entry(epoch)
            assert entry is not None, f"epoch {epoch} has no entry in {epochs.path}"
            epochs.truncate_from_end(entry.start_offset)
            epochs.assign(epoch, base_offset)

    def truncate_from_end(self, end_offset: int) -> None:
        """Forget the epochs that begin at or after ``end_offset``."""
        self._epochs.truncate_from_end(end_offset)


def rebuild_epochs(epochs: LeaderEpochCache, segments: Iterable[LogSegment]) -> None:
    """Assign the epochs of all batches anew, by their headers; damage ends a segment's part."""
    epochs.assign_all(_read_epochs(segments, 1 << 63))


def restore_first_epochs(epochs: LeaderEpochCache, segments: Iterable[LogSegment], log_start_offset: int) -> None:
    """Find the epochs between the start of the log and the first one known.

    The start had moved further, and the epochs below were forgotten; then a crash took the new start, but not that.
    """
    known = epochs.entries
    first_known_offset = known[0].start_offset if known else 1 << 63
    if first_known_offset <= log_start_offset:
        return
    found = _read_epochs(segments, first_known_offset)
    if found:
        epochs.clear()
        epochs.assign_all([*found, *known])


def _read_epochs(segments: Iterable[LogSegment], end_offset: int) -> list[EpochEntry]:
    """The epochs of the batches below ``end_offset``."""
    found: list[EpochEntry] = []
    latest_epoch = -1
    for segment in segments:
        if segment.base_offset >= end_offset:
            break
        try:
            for batch in segment.read_batches():
                if batch.base_offset >= end_offset:
                    break
                if batch.partition_leader_epoch > latest_epoch:
                    latest_epoch = batch.partition_leader_epoch
                    found.append(EpochEntry(latest_epoch, batch.base_offset))
        except CorruptRecordError as error:
            logger.warning("Leader epochs after a damaged batch are not found again: %s", error)
    return found
