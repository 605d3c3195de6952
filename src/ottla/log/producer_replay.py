"""Producer state from what the log holds: after a start, a truncation, and during recovery."""

import logging
from collections.abc import Sequence

from ottla.common.errors import CorruptRecordError, KafkaError
from ottla.log.producer_state import ProducerStateManager
from ottla.log.segment import LogSegment
from ottla.log.segments import LogSegments
from ottla.log.transaction import CompletedTxn
from ottla.log.txn_index import AbortedTxn
from ottla.records.append_origin import AppendOrigin
from ottla.records.batch import RecordBatch

logger = logging.getLogger(__name__)


def rebuild_producer_state(
    state: ProducerStateManager,
    segments: LogSegments,
    log_start_offset: int,
    end_offset: int,
    now_ms: int,
    *,
    clean_start: bool = False,
) -> None:
    """Bring ``state`` to ``end_offset``: from the latest snapshot below it, then by the batches after that.

    Snapshots are taken for the last two segments and the end, so that a truncation or a lost snapshot costs one
    segment at most. A log that was stopped cleanly and has no snapshot at all never had a producer.
    """
    wanted = {*segments.base_offsets[-2:], end_offset}
    if clean_start and state.latest_snapshot_offset() is None:
        for offset in sorted(wanted):
            state.update_map_end_offset(offset)
            state.take_snapshot()
        return
    was_empty = state.is_empty and state.map_end_offset >= end_offset
    state.truncate_and_reload(log_start_offset, end_offset, now_ms)
    if state.map_end_offset < end_offset and not was_empty:
        for segment in segments.between(state.map_end_offset, end_offset):
            start_offset = max(segment.base_offset, state.map_end_offset, log_start_offset)
            state.update_map_end_offset(start_offset)
            if segment.base_offset in wanted:
                state.take_snapshot()
            _load(state, segment, start_offset, end_offset)
    state.update_map_end_offset(end_offset)
    state.take_snapshot()


def _load(state: ProducerStateManager, segment: LogSegment, start_offset: int, end_offset: int) -> None:
    found = segment.find_batch(start_offset)
    if found is None:
        return
    try:
        for batch in segment.read_batches(found.position):
            if batch.base_offset >= end_offset:
                return
            if batch.producer_id >= 0:
                for txn in _apply(state, batch):
                    state.complete_txn(txn)
    except CorruptRecordError as error:
        logger.warning("Producer state of %s lacks what follows a damaged batch: %s", state.partition, error)


class RecoveringProducers:
    """Producer state that follows recovery batch by batch and rebuilds the transaction index on the way."""

    def __init__(self, state: ProducerStateManager) -> None:
        self.state = state

    def replay(self, batch: RecordBatch, segment: LogSegment) -> None:
        """Apply one batch; an aborted transaction goes into the segment's index."""
        for txn in _apply(self.state, batch):
            if txn.is_aborted:
                segment.txn_index.append(
                    AbortedTxn(txn.producer_id, txn.first_offset, txn.last_offset, self.state.last_stable_offset(txn))
                )
            self.state.complete_txn(txn)

    def update_map_end_offset(self, offset: int) -> None:
        """Note how far the log was read."""
        self.state.update_map_end_offset(offset)


def _apply(state: ProducerStateManager, batch: RecordBatch) -> Sequence[CompletedTxn]:
    """The transactions that a batch completes. One that makes no sense is passed over: whoever replays a log that was
    damaged on the disk must come to an end all the same.
    """
    try:
        pending = state.check((batch,), AppendOrigin.REPLICATION)
    except KafkaError as error:
        logger.warning("Producer state of %s passes over %s: %s", state.partition, batch, error)
        return ()
    state.apply(pending)
    return pending.completed_txns
