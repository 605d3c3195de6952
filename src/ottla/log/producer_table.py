"""The producers and transactions of one partition: the pure part, which knows neither files nor clocks.

An append goes through in two phases, with the write between them::

    pending = table.check(batches, origin, …)   # raises, or tells what will change; changes nothing itself
    if pending.duplicate is not None: answer with it
    … write the batches …
    table.apply(pending)
    for txn in pending.completed_txns:
        last_stable_offset = table.last_stable_offset(txn)
        … index the transaction …
        table.complete_txn(txn)
    table.update_map_end_offset(next_offset)

``check`` wants batches that have their offsets, and nothing else may change the table until ``apply``; to forget a
pending update is to undo it. A log that is being loaded does the same with ``AppendOrigin.REPLICATION`` and no write.
``find_duplicate``, ``prepare_update`` and ``update`` are the steps inside, one producer at a time.

Producers stay until they expire, transactions until their marker is below the high watermark.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from ottla.common.errors import InvalidProducerEpochError, InvalidTxnStateError
from ottla.common.topic_partition import TopicPartition
from ottla.log.log_offset_metadata import UNKNOWN_FILE_POSITION, UNKNOWN_OFFSET, LogOffsetMetadata
from ottla.log.producer_append import TV_UNKNOWN, ProducerAppendInfo
from ottla.log.producer_config import ProducerStateManagerConfig
from ottla.log.producer_entry import BatchMetadata, ProducerEntry
from ottla.log.producer_update import NextBatch, PendingUpdate, ProducerUpdates
from ottla.log.transaction import CompletedTxn, TxnMetadata, TxnsByFirstOffset
from ottla.log.verification import SENTINEL, VerificationGuard, VerificationStateEntry
from ottla.records.append_origin import AppendOrigin
from ottla.records.batch import CONTROL_FLAG, NO_PRODUCER_ID, TRANSACTIONAL_FLAG, RecordBatch

LATE_TRANSACTION_BUFFER_MS: Final = 5 * 60 * 1000
"""How long past the longest timeout a transaction may stay open before it counts as hanging."""

_CLIENT: Final = AppendOrigin.CLIENT
_COORDINATOR: Final = AppendOrigin.COORDINATOR
_TXN_OR_CONTROL: Final = TRANSACTIONAL_FLAG | CONTROL_FLAG
_SEQUENCE_LIMIT: Final = 1 << 31


class ProducerTable:
    """Who has written what to a partition, and what of it is still undecided."""

    def __init__(self, partition: TopicPartition, config: ProducerStateManagerConfig | None = None) -> None:
        self.partition = partition
        self.config = config or ProducerStateManagerConfig()
        self.map_end_offset = 0
        """The state covers all batches below this offset."""
        self._producers: dict[int, ProducerEntry] = {}
        self._verification_states: dict[int, VerificationStateEntry] = {}
        self._ongoing_txns = TxnsByFirstOffset()
        self.unreplicated_txns = TxnsByFirstOffset()
        self.earlier_batches: Callable[[ProducerEntry, RecordBatch], Sequence[BatchMetadata]] | None = None
        """How to find what an entry from a snapshot lacks (:func:`ottla.log.producer_recall.earlier_batches`)."""

    @property
    def active_producers(self) -> Mapping[int, ProducerEntry]:
        """All producers that are remembered, by id."""
        return MappingProxyType(self._producers)

    @property
    def is_empty(self) -> bool:
        """Whether there is neither a producer nor a transaction that awaits replication."""
        return not self._producers and not self.unreplicated_txns

    def last_entry(self, producer_id: int) -> ProducerEntry | None:
        """What is known of a producer."""
        return self._producers.get(producer_id)

    # Appends: check, then apply

    def check(
        self,
        batches: Sequence[RecordBatch],
        origin: AppendOrigin,
        *,
        segment_base_offset: int = UNKNOWN_OFFSET,
        position: int = UNKNOWN_FILE_POSITION,
        verification_guard: VerificationGuard = SENTINEL,
        transaction_version: int = TV_UNKNOWN,
    ) -> PendingUpdate:
        """Check an append that will lie at ``position`` of a segment; the first duplicate ends the check.

        Raises OutOfOrderSequenceError, InvalidProducerEpochError, InvalidTxnStateError or
        TransactionCoordinatorFencedError.
        """
        if len(batches) == 1 and origin is _CLIENT:
            pending = self._check_next(batches[0])
            if pending is not None:
                return pending
        updates = ProducerUpdates()
        for batch in batches:
            if batch.producer_id > NO_PRODUCER_ID:
                if origin is _CLIENT:
                    updates.duplicate = self.find_duplicate(batch)
                    if updates.duplicate is not None:
                        break
                if batch.is_transactional and (origin is _CLIENT or origin is _COORDINATOR):
                    self._check_verified(batch, verification_guard)
                first_offset = LogOffsetMetadata(batch.base_offset, segment_base_offset, position)
                self._collect(batch, origin, updates, first_offset, transaction_version)
            if position != UNKNOWN_FILE_POSITION:
                position += batch.size_in_bytes
        return updates

    def _check_next(self, batch: RecordBatch) -> NextBatch | None:
        """The way of nearly all batches of a client: all checks at a glance, or None for the long way.

        The batch has its producer's epoch and next sequence; it is data in a transaction if and only if one is open;
        its sequences do not wrap around and end like none of the last five (where others than clients have written
        unchecked, a batch can be in sequence and still repeat one); no verification waits.
        """
        entry = self._producers.get(batch.producer_id)
        if entry is None or not entry.batches:
            return None
        known = entry.batches
        base_sequence = batch.base_sequence
        offset_delta = batch.last_offset_delta
        last_sequence = base_sequence + offset_delta
        expected_flags = 0 if entry.current_txn_first_offset is None else TRANSACTIONAL_FLAG
        if (
            base_sequence != known[-1][0] + 1
            or last_sequence >= _SEQUENCE_LIMIT
            or batch.producer_epoch != entry.producer_epoch
            or batch.attributes & _TXN_OR_CONTROL != expected_flags
            or batch.producer_id in self._verification_states
        ):
            return None
        for one in known:
            if one[0] == last_sequence:
                return None
        return NextBatch(
            entry, BatchMetadata(last_sequence, batch.base_offset + offset_delta, offset_delta, batch.max_timestamp)
        )

    def _check_verified(self, batch: RecordBatch, guard: VerificationGuard) -> None:
        """Refuse a transaction that the coordinator may not know: neither open here nor with a question's guard."""
        if self.has_ongoing_transaction(batch.producer_id, batch.producer_epoch):
            return
        self._check_epoch_not_stale(batch.producer_id, batch.producer_epoch)
        if (
            self.config.transaction_verification_enabled
            and not batch.is_control
            and not self.verification_guard(batch.producer_id).verify(guard)
        ):
            raise InvalidTxnStateError("Record was not part of an ongoing transaction")

    def _check_epoch_not_stale(self, producer_id: int, epoch: int) -> None:
        entry = self._producers.get(producer_id)
        if entry is not None and epoch < entry.producer_epoch:
            raise InvalidProducerEpochError(
                f"Epoch of producer {producer_id} is {epoch}, which is smaller than the last seen epoch "
                f"{entry.producer_epoch}"
            )

    def _collect(
        self,
        batch: RecordBatch,
        origin: AppendOrigin,
        updates: ProducerUpdates,
        first_offset: LogOffsetMetadata,
        transaction_version: int,
    ) -> None:
        producer_id = batch.producer_id
        info = updates.infos.get(producer_id)
        if info is None:
            info = updates.infos[producer_id] = self.prepare_update(producer_id, origin)
        completed_txn = info.append(batch, first_offset, transaction_version)
        if completed_txn is not None:
            updates.completed_txns.append(completed_txn)
        verification = self._verification_states.get(producer_id)
        if verification is not None and batch.is_transactional and verification.is_settled_by(batch):
            updates.settled_verifications.add(producer_id)

    def apply(self, pending: PendingUpdate) -> None:
        """Take over the changes of an append that has been written."""
        if type(pending) is NextBatch:
            entry, batch = pending.entry, pending.batch
            entry.retain(batch)
            entry.last_timestamp = batch[3]
            return
        assert type(pending) is ProducerUpdates
        for info in pending.infos.values():
            self.update(info)
        for producer_id in pending.settled_verifications:
            self.clear_verification_state_entry(producer_id)

    def find_duplicate(self, batch: RecordBatch) -> BatchMetadata | None:
        """The batch in the log that this one of a client repeats, among its producer's last five.

        Those that a snapshot did not keep are recalled when one of them is looked for.
        """
        entry = self._producers.get(batch.producer_id)
        if entry is None:
            return None
        duplicate = entry.find_duplicate(batch)
        if duplicate is None and self.earlier_batches is not None and entry.may_have_forgotten(batch):
            entry.recall(self.earlier_batches(entry, batch))
            duplicate = entry.find_duplicate(batch)
        return duplicate

    def prepare_update(self, producer_id: int, origin: AppendOrigin) -> ProducerAppendInfo:
        """Begin one producer's part of an append."""
        current = self._producers.get(producer_id) or ProducerEntry(producer_id)
        verification = self._verification_states.get(producer_id)
        return ProducerAppendInfo(self.partition, producer_id, current, origin, verification)

    def update(self, info: ProducerAppendInfo) -> None:
        """Take over the changes to one producer."""
        producer_id = info.producer_id
        assert producer_id > NO_PRODUCER_ID, f"invalid producer id {producer_id} passed to update of {self.partition}"
        entry = self._producers.get(producer_id)
        if entry is None:
            self._producers[producer_id] = info.updated
        else:
            entry.update(info.updated)
        for txn in info.started_transactions:
            self._ongoing_txns.put(txn)

    def update_map_end_offset(self, offset: int) -> None:
        """State that the log has been followed up to ``offset`` (exclusive)."""
        self.map_end_offset = offset

    # Transactions

    def first_unstable_offset(self) -> LogOffsetMetadata | None:
        """Where the oldest transaction begins that is undecided, or whose marker is not below the high watermark."""
        undecided = self._ongoing_txns.first
        unreplicated = self.unreplicated_txns.first
        if undecided is None or unreplicated is None:
            first = undecided or unreplicated
            return None if first is None else first.first_offset
        return min(undecided.first_offset, unreplicated.first_offset, key=_message_offset)

    def first_undecided_offset(self) -> int | None:
        """Where the oldest transaction without a marker begins."""
        first = self._ongoing_txns.first
        return None if first is None else first.first_offset.message_offset

    def last_stable_offset(self, completed_txn: CompletedTxn) -> int:
        """The last stable offset once this transaction is complete, which the transaction index records with it."""
        for txn in self._ongoing_txns:
            if txn.producer_id != completed_txn.producer_id:
                return txn.first_offset.message_offset
        return completed_txn.last_offset + 1

    def complete_txn(self, completed_txn: CompletedTxn) -> None:
        """Mark a transaction decided; it stays unstable until the high watermark passes its marker."""
        txn = self._ongoing_txns.pop(completed_txn.first_offset)
        assert txn is not None, f"{completed_txn} of {self.partition} was not started"
        self.unreplicated_txns.put(txn._replace(last_offset=completed_txn.last_offset))

    def on_high_watermark_updated(self, high_watermark: int) -> None:
        """Let go of transactions whose markers all replicas have."""
        if self.unreplicated_txns:
            self.unreplicated_txns.remove_completed_before(high_watermark)

    def has_late_transaction(self, now_ms: int) -> bool:
        """Whether the oldest open transaction has been silent for so long that nobody can be about to end it."""
        first = self._ongoing_txns.first
        entry = None if first is None else self._producers.get(first.producer_id)
        if entry is None or entry.last_timestamp <= 0:
            return False
        return now_ms - entry.last_timestamp > self.config.max_transaction_timeout_ms + LATE_TRANSACTION_BUFFER_MS

    # Verification

    def has_ongoing_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """Whether a producer of this very epoch has a transaction open here."""
        entry = self._producers.get(producer_id)
        return (
            entry is not None and entry.current_txn_first_offset is not None and entry.producer_epoch == producer_epoch
        )

    def maybe_start_transaction_verification(
        self, producer_id: int, sequence: int, epoch: int, supports_epoch_bump: bool, now_ms: int
    ) -> VerificationGuard:
        """The guard for a question to the coordinator; the sentinel when the open transaction makes it needless."""
        self._check_epoch_not_stale(producer_id, epoch)
        if self.has_ongoing_transaction(producer_id, epoch):
            return SENTINEL
        return self.maybe_create_verification_state_entry(
            producer_id, sequence, epoch, supports_epoch_bump, now_ms
        ).verification_guard

    def maybe_create_verification_state_entry(
        self, producer_id: int, sequence: int, epoch: int, supports_epoch_bump: bool, now_ms: int
    ) -> VerificationStateEntry:
        """The verification under way for a producer, begun now if there is none, with sequence and epoch noted."""
        entry = self._verification_states.get(producer_id)
        if entry is None:
            entry = VerificationStateEntry(now_ms, sequence, epoch, supports_epoch_bump)
            self._verification_states[producer_id] = entry
        entry.maybe_update_lowest_sequence_and_epoch(sequence, epoch)
        return entry

    def verification_state_entry(self, producer_id: int) -> VerificationStateEntry | None:
        """The verification under way for a producer."""
        return self._verification_states.get(producer_id)

    def verification_guard(self, producer_id: int) -> VerificationGuard:
        """The guard of the verification under way for a producer, or the sentinel."""
        entry = self._verification_states.get(producer_id)
        return SENTINEL if entry is None else entry.verification_guard

    def clear_verification_state_entry(self, producer_id: int) -> None:
        """End the verification of a producer."""
        self._verification_states.pop(producer_id, None)

    # Coming and going

    def load_producer_entries(self, entries: Iterable[ProducerEntry], now_ms: int) -> None:
        """Take over entries as a snapshot has them, but for the expired."""
        for entry in entries:
            if not self._is_expired(entry, now_ms):
                self._producers[entry.producer_id] = entry
                if entry.current_txn_first_offset is not None:
                    first_offset = LogOffsetMetadata(entry.current_txn_first_offset)
                    self._ongoing_txns.put(TxnMetadata(entry.producer_id, first_offset))

    def remove_expired_producers(self, now_ms: int) -> None:
        """Forget producers that have been idle for too long, and questions that were never answered."""
        for entry in [entry for entry in self._producers.values() if self._is_expired(entry, now_ms)]:
            del self._producers[entry.producer_id]
        oldest_ms = now_ms - self.config.producer_id_expiration_ms
        for producer_id in [pid for pid, entry in self._verification_states.items() if entry.timestamp_ms <= oldest_ms]:
            del self._verification_states[producer_id]

    def _is_expired(self, entry: ProducerEntry, now_ms: int) -> bool:
        """An open transaction keeps its producer, however long it takes."""
        return (
            entry.current_txn_first_offset is None
            and now_ms - entry.last_timestamp >= self.config.producer_id_expiration_ms
        )

    def clear(self) -> None:
        """Forget all producers and transactions; verifications, which are not about what the log holds, go on."""
        self._producers.clear()
        self._ongoing_txns.clear()
        self.unreplicated_txns.clear()


def _message_offset(offset: LogOffsetMetadata) -> int:
    return offset.message_offset
