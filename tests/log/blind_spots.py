"""What recovery cannot see of a flip in a batch header: the list in docs/recovery.md, as code.

The CRC covers a batch from its attributes on. Base offset and leader epoch before it are only as safe as their
neighbours make them.
"""

from ottla.records.batch import CRC_POSITION, LOG_OVERHEAD, RecordBatch
from tests.log.damage_template import StoredBatch, Template

EPOCH_BYTES = range(LOG_OVERHEAD, LOG_OVERHEAD + 4)
BASE_OFFSET_BYTES = range(8)
UNCOVERED_BYTES = range(CRC_POSITION + 4)
"""All header bytes that the CRC does not cover, and the CRC itself."""

LAST_OFFSET = "base offset raised in the last batch"
LAST_EPOCH = "leader epoch raised in the last batch"
EPOCH_CHANGE = "leader epoch moved next to a change of epochs"
GAP = "base offset moved within a gap"

COSTS_ONE_MORE = "base offset lowered into the batch before it, which lies behind a gap"
"""Caught, but the batch before goes, too: either of the two can be the damaged one."""


def blind_spot(made: Template, damaged: StoredBatch, byte: int, bit: int) -> str | None:
    """The name of the blind spot that a flip of this bit of this batch falls in; None if recovery must catch it."""
    data = bytearray(damaged.data)
    data[byte] ^= 1 << bit
    before = made.batches[damaged.number - 1].view if damaged.number else None
    after = made.batches[damaged.number + 1].view if damaged.number + 1 < len(made.batches) else None
    if byte in BASE_OFFSET_BYTES:
        moved = int.from_bytes(data[:8], signed=True)
        lowest = max(damaged.segment_base_offset, before.next_offset if before is not None else 0)
        if moved < lowest or moved + damaged.view.last_offset_delta - damaged.segment_base_offset >= 1 << 31:
            return None
        if after is None:
            return LAST_OFFSET if moved > damaged.view.base_offset else GAP
        return GAP if moved + damaged.view.last_offset_delta < after.base_offset else None
    if byte in EPOCH_BYTES:
        moved = int.from_bytes(data[12:16], signed=True)
        lowest = before.partition_leader_epoch if before is not None else -1
        if moved < lowest:
            return None
        if after is None:
            return LAST_EPOCH
        return EPOCH_CHANGE if moved <= after.partition_leader_epoch else None
    return None


def costs_one_more(made: Template, damaged: StoredBatch, byte: int, bit: int) -> bool:
    """Whether recovery takes the batch before for the damaged one: it jumped, and this one fits before its jump."""
    if byte not in BASE_OFFSET_BYTES or damaged.number < 2:
        return False
    data = bytearray(damaged.data)
    data[byte] ^= 1 << bit
    moved = int.from_bytes(data[:8], signed=True)
    before, jump = made.batches[damaged.number - 2].view, made.batches[damaged.number - 1].view
    return jump.base_offset > before.next_offset and before.last_offset + len_of(jump) < moved < jump.next_offset


def len_of(batch: RecordBatch) -> int:
    """How many offsets a batch takes."""
    return batch.last_offset_delta + 1
