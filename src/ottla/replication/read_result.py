"""What a fetch asks of a partition, and what reading it gave."""

from typing import TYPE_CHECKING, Final, NamedTuple

from ottla.log.readable_log import FetchIsolation

if TYPE_CHECKING:
    from ottla.common.topic_partition import TopicPartition
    from ottla.common.uuid import Uuid
    from ottla.log.log_offset_metadata import LogOffsetMetadata
    from ottla.log.txn_index import AbortedTxn
    from ottla.protocol.file_slice import FileSlice
    from ottla.replication.partition import Partition

CONSUMER_REPLICA_ID: Final = -1
DEBUGGING_REPLICA_ID: Final = -2
FUTURE_LOCAL_REPLICA_ID: Final = -3
NO_EPOCH: Final = -1
NO_PREFERRED_READ_REPLICA: Final = -1

_NEVER_ANSWERED: Final = -2
"""Differs from every offset, the unknown one (-1) included."""


class FetchParams(NamedTuple):
    """What a fetch asks for all its partitions together."""

    replica_id: int = CONSUMER_REPLICA_ID
    replica_epoch: int = -1
    max_wait_ms: int = 0
    min_bytes: int = 1
    max_bytes: int = 0x7FFFFFFF
    isolation: FetchIsolation = FetchIsolation.HIGH_WATERMARK
    fetch_only_leader: bool = True
    """False for debuggers, and for consumers that may read from followers (Fetch v11 and later)."""

    @property
    def is_from_follower(self) -> bool:
        """Whether a broker copies."""
        return self.replica_id >= 0


class FetchPartition:
    """One partition of a fetch. A fetch session keeps these from one request to the next.

    ``topic_partition`` is None while nobody knows the name of ``topic_id``; ``topic_id`` is None where the request
    names topics. ``high_watermark`` and ``local_log_start_offset`` are what the session answered last, and ``hosted``
    is the partition that it was answered from.
    """

    __slots__ = (
        "current_leader_epoch",
        "fetch_offset",
        "high_watermark",
        "hosted",
        "index",
        "last_fetched_epoch",
        "local_log_start_offset",
        "log_start_offset",
        "max_bytes",
        "topic_id",
        "topic_partition",
    )

    def __init__(
        self,
        topic_partition: "TopicPartition | None",
        fetch_offset: int,
        max_bytes: int,
        *,
        topic_id: "Uuid | None" = None,
        index: int | None = None,
        log_start_offset: int = -1,
        current_leader_epoch: int = NO_EPOCH,
        last_fetched_epoch: int = NO_EPOCH,
    ) -> None:
        assert topic_partition is not None or (topic_id is not None and index is not None)
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.index: int = index if topic_partition is None else topic_partition.partition  # type: ignore[assignment]
        self.fetch_offset = fetch_offset
        self.max_bytes = max_bytes
        self.log_start_offset = log_start_offset
        self.current_leader_epoch = current_leader_epoch
        self.last_fetched_epoch = last_fetched_epoch
        self.high_watermark = _NEVER_ANSWERED
        self.local_log_start_offset = _NEVER_ANSWERED
        self.hosted: Partition | None = None

    def update_request(self, other: "FetchPartition") -> None:
        """Take over what a later request of the same session asks."""
        self.fetch_offset = other.fetch_offset
        self.max_bytes = other.max_bytes
        self.log_start_offset = other.log_start_offset
        self.current_leader_epoch = other.current_leader_epoch
        self.last_fetched_epoch = other.last_fetched_epoch

    def __repr__(self) -> str:
        return f"FetchPartition({self.topic_partition or (self.topic_id, self.index)}, offset {self.fetch_offset})"


class EpochEndOffset(NamedTuple):
    """Where a leader epoch ends; -1 where that is unknown."""

    error_code: int
    leader_epoch: int = NO_EPOCH
    end_offset: int = -1


class ReadResult:
    """What reading one partition gave: the fields of a fetch response, and where the read began."""

    __slots__ = (
        "aborted_transactions",
        "diverging_epoch",
        "error_code",
        "high_watermark",
        "last_stable_offset",
        "log_end_offset",
        "log_start_offset",
        "preferred_read_replica",
        "records",
        "start",
    )

    def __init__(
        self,
        error_code: int = 0,
        high_watermark: int = -1,
        last_stable_offset: int = -1,
        log_start_offset: int = -1,
        log_end_offset: int = -1,
    ) -> None:
        self.error_code = error_code
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self.records: FileSlice | None = None
        self.aborted_transactions: list[AbortedTxn] | None = None
        self.start: LogOffsetMetadata | None = None
        self.diverging_epoch: EpochEndOffset | None = None
        self.preferred_read_replica = NO_PREFERRED_READ_REPLICA

    @property
    def size_bytes(self) -> int:
        """The bytes of its records."""
        return self.records.size if self.records is not None else 0

    def __repr__(self) -> str:
        return (
            f"ReadResult(error {self.error_code}, {self.size_bytes} bytes, high watermark {self.high_watermark}, "
            f"log start {self.log_start_offset})"
        )


UNCHANGED: Final = ReadResult()
"""Stands for a partition of a session that has nothing new: not an error, no records, the offsets answered last."""
