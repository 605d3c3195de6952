"""What an append reads its batch's records for: their rules, the header's truth, another codec.

Reading costs by what a batch decompresses to, which a few bytes decide. So the count (:mod:`ottla.records.validator`)
and the size (``AppendPolicy.decompressed_bytes_max``) are bounded before it begins. What is more than a turn allows
(:mod:`ottla.records.inline_reading`) an :class:`InlineInspector` puts off, to be done away from the reactor: an
:class:`Inspection` made elsewhere is as good as one made in place, under the same policy.
"""

from collections.abc import Callable
from typing import NamedTuple

from ottla.records.append_policy import AppendPolicy
from ottla.records.batch import COMPRESSION_MASK, CONTROL_FLAG, Buffer, RecordBatch
from ottla.records.batch_rewrite import rewrite_batch
from ottla.records.compression import decompress
from ottla.records.inline_reading import InlineReading
from ottla.records.record_checks import check_records


class Inspection(NamedTuple):
    """What reading a batch's records has shown: they keep the rules."""

    policy: AppendPolicy
    """The rules."""
    max_timestamp: int
    """What the header should say: the records' largest, or the time of the append where the topic wants that."""
    rewritten: Buffer | None
    """The batch as it is to be stored, where setting its header right is not enough."""

    def recall(self, batch: RecordBatch, policy: AppendPolicy, now_ms: int) -> "Inspection":
        """An :data:`Inspect` for the same batch again; raises InspectionPutOff when the topic's rules have changed."""
        if policy != self.policy:
            raise InspectionPutOff(batch, policy, now_ms)
        return self


Inspect = Callable[[RecordBatch, AppendPolicy, int], Inspection]
"""How an append has its records read, by (batch, policy, now_ms)."""


class InspectionPutOff(Exception):  # noqa: N818 - no error: the append is to be tried again, with an Inspection
    """The records are more than can be read in place: in this turn, or, if they ``fit_no_turn``, in any."""

    def __init__(self, batch: RecordBatch, policy: AppendPolicy, now_ms: int, *, fit_no_turn: bool = True) -> None:
        super().__init__(f"{batch} is to be read later, or away from the reactor")
        self.batch = batch
        self.policy = policy
        self.now_ms = now_ms
        self.fit_no_turn = fit_no_turn


class InlineInspector:
    """Reads records in place, up to bounds that the batches of one turn share."""

    __slots__ = ("_reading",)

    def __init__(self) -> None:
        self._reading = InlineReading()

    def inspect(self, batch: RecordBatch, policy: AppendPolicy, now_ms: int) -> Inspection:
        """An :data:`Inspect` that raises InspectionPutOff for what is too much."""
        data = self._reading.payload(
            batch, max_bytes=policy.decompressed_bytes_max, is_recompressed=_target_codec(batch, policy) != 0
        )
        if data is None:
            raise InspectionPutOff(batch, policy, now_ms, fit_no_turn=self._reading.is_whole)
        return _inspect_records(batch, data, policy, now_ms)


def inspect_inline(batch: RecordBatch, policy: AppendPolicy, now_ms: int) -> Inspection:
    """An InlineInspector for one batch: an :data:`Inspect`."""
    return InlineInspector().inspect(batch, policy, now_ms)


def inspect(batch: RecordBatch, policy: AppendPolicy, now_ms: int) -> Inspection:
    """Read the records here and now, however many they are: an :data:`Inspect`.

    Raises what :func:`ottla.records.record_checks.check_records` raises, CorruptRecordError for what does not
    decompress, and MessageTooLargeError for what decompresses, or is then compressed, to too much.
    """
    return _inspect_records(batch, _records_of(batch, policy.decompressed_bytes_max), policy, now_ms)


def inspect_bytes(batch: bytes, policy: AppendPolicy, now_ms: int) -> Inspection:
    """:func:`inspect` in another process."""
    return inspect(RecordBatch(batch), policy, now_ms)


def _records_of(batch: RecordBatch, max_bytes: int) -> bytes:
    codec = batch.attributes & COMPRESSION_MASK
    return decompress(codec, batch.payload, max_bytes) if codec else bytes(batch.payload)


def _target_codec(batch: RecordBatch, policy: AppendPolicy) -> int:
    codec = batch.attributes & COMPRESSION_MASK
    if policy.target_compression is None or (not codec and batch.attributes & CONTROL_FLAG):
        return codec  # control records stay uncompressed, as they are written
    return policy.target_compression


def _inspect_records(batch: RecordBatch, data: bytes, policy: AppendPolicy, now_ms: int) -> Inspection:
    codec, target = batch.attributes & COMPRESSION_MASK, _target_codec(batch, policy)
    # What is compressed is stored as it came unless its codec changes: then its offsets have to be right.
    max_timestamp, consecutive = check_records(batch, data, policy, now_ms, gaps_allowed=not codec or codec != target)
    if policy.log_append_time:
        max_timestamp = now_ms
    if consecutive and target == codec:
        return Inspection(policy, max_timestamp, None)
    rewritten = rewrite_batch(
        batch,
        data if consecutive else None,
        codec=target,
        level=policy.level if target == policy.target_compression else None,
        log_append_time=policy.log_append_time,
        max_timestamp=max_timestamp,
    )
    policy.ensure_fits(len(rewritten))
    return Inspection(policy, max_timestamp, rewritten)
