"""Control records: transaction markers and KRaft's own, and the batches that carry them."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from ottla.common.errors import InvalidRecordError
from ottla.records.batch import NO_PARTITION_LEADER_EPOCH
from ottla.records.builder import build_batch
from ottla.records.control_messages import (
    Endpoint,
    KRaftControlMessage,
    KRaftVersionRecord,
    LeaderChangeMessage,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    Voter,
    VotersRecord,
)
from ottla.records.control_type import ControlRecordType
from ottla.records.record import Record, SimpleRecord

__all__ = [
    "ControlRecordType",
    "EndTransactionMarker",
    "Endpoint",
    "KRaftControlMessage",
    "KRaftVersionRecord",
    "LeaderChangeMessage",
    "SnapshotFooterRecord",
    "SnapshotHeaderRecord",
    "Voter",
    "VotersRecord",
    "control_batch",
    "control_type",
    "decode_control_record",
    "end_transaction_batch",
]

_MARKER: Final = struct.Struct(">hi")
_MARKER_VERSION: Final = 0
_MARKER_TYPES: Final = frozenset((ControlRecordType.ABORT, ControlRecordType.COMMIT))


@dataclass(frozen=True, slots=True)
class EndTransactionMarker:
    """The end of a transaction on one partition, in the epoch of the coordinator that decided it."""

    type: ControlRecordType
    coordinator_epoch: int

    def __post_init__(self) -> None:
        if self.type not in _MARKER_TYPES:
            raise InvalidRecordError(f"Invalid control record type for end transaction marker {self.type.name}")

    def encode(self) -> bytes:
        """The record's value: ``version i16 | coordinator epoch i32``."""
        return _MARKER.pack(_MARKER_VERSION, self.coordinator_epoch)

    @classmethod
    def decode(cls, record: Record) -> Self:
        """Read a control record; raises InvalidRecordError if it is no transaction marker.

        Values of later versions are read as this one: they may only grow at the end.
        """
        marker_type = ControlRecordType.parse(record.key)
        value = record.value or b""
        if len(value) < _MARKER.size:
            raise InvalidRecordError(f"End transaction marker has {len(value)} bytes, it needs {_MARKER.size}")
        version, coordinator_epoch = _MARKER.unpack_from(value)
        if version < _MARKER_VERSION:
            raise InvalidRecordError(
                f"Invalid version found for end transaction marker: {version}. May indicate data corruption"
            )
        return cls(marker_type, coordinator_epoch)


_MESSAGES: Final[dict[ControlRecordType, type[KRaftControlMessage]]] = {
    ControlRecordType.LEADER_CHANGE: LeaderChangeMessage,
    ControlRecordType.SNAPSHOT_HEADER: SnapshotHeaderRecord,
    ControlRecordType.SNAPSHOT_FOOTER: SnapshotFooterRecord,
    ControlRecordType.KRAFT_VERSION: KRaftVersionRecord,
    ControlRecordType.KRAFT_VOTERS: VotersRecord,
}


def control_type(record: Record) -> ControlRecordType:
    """What kind of control record this is; raises InvalidRecordError if its key is not a control record's."""
    return ControlRecordType.parse(record.key)


def decode_control_record(record: Record) -> EndTransactionMarker | KRaftControlMessage | None:
    """What the record says, or None if its type is unknown; raises InvalidRecordError for a malformed one."""
    record_type = control_type(record)
    if record_type in _MARKER_TYPES:
        return EndTransactionMarker.decode(record)
    message = _MESSAGES.get(record_type)
    return message.decode(record.value or b"") if message is not None else None


def end_transaction_batch(
    marker: EndTransactionMarker,
    *,
    timestamp: int,
    producer_id: int,
    producer_epoch: int,
    base_offset: int = 0,
    leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
) -> bytearray:
    """The batch that ends a producer's transaction: transactional, control, one record, no sequence."""
    return build_batch(
        (SimpleRecord(timestamp, marker.type.record_key, marker.encode()),),
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )


def control_batch(
    messages: Sequence[KRaftControlMessage], *, base_offset: int, timestamp: int, leader_epoch: int
) -> bytearray:
    """A batch of KRaft control records, one after the other: control, no producer, all with the same timestamp."""
    return build_batch(
        (SimpleRecord(timestamp, message.type.record_key, message.encode()) for message in messages),
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        control=True,
    )
