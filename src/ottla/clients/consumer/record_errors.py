"""Errors of a consumer that are about one place in a partition, which ``seek`` gets past."""

from collections.abc import Mapping

from ottla.clients.consumer.consumer_record import ConsumerRecord
from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
from ottla.clients.errors import LogTruncationError, OffsetOutOfRangeError, SerializationError
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition


class RecordDeserializationError(SerializationError):
    """A deserializer refused a record. Every poll raises it again until ``seek(partition, offset + 1)`` passes it."""

    def __init__(self, record: ConsumerRecord[bytes, bytes], part: str, cause: BaseException) -> None:
        self.partition = record.topic_partition
        self.offset = record.offset
        self.part = part
        """``key`` or ``value``."""
        self.record = record
        """The record as it was read, for those who put it aside: its key and value are bytes."""
        super().__init__(
            f"Error deserializing the {part} of {self.partition} at offset {self.offset}: {cause}. "
            f"To continue past the record, seek to offset {self.offset + 1}"
        )


class CorruptFetchError(KafkaError):
    """Bytes at this place are no valid record batch; ``offset`` is where the next records would begin."""

    code = 2

    def __init__(self, partition: TopicPartition, offset: int, cause: BaseException) -> None:
        super().__init__(
            f"Received a corrupt record batch from {partition} at offset {offset}: {cause}. To continue, seek past it"
        )
        self.partition = partition
        self.offset = offset


class PositionOutOfRangeError(OffsetOutOfRangeError):
    """Positions that the log does not have, and no ``auto.offset.reset`` that says where to go on."""

    def __init__(self, offsets: Mapping[TopicPartition, int]) -> None:
        places = ", ".join(f"{partition} at {offset}" for partition, offset in offsets.items())
        super().__init__(f"Fetch position out of range and no reset policy: {places}; seek to a valid offset")
        self.offsets = dict(offsets)


class PositionTruncatedError(LogTruncationError):
    """Records that were read are gone; ``divergent_offset`` is where the log and what was read part, if known."""

    def __init__(self, partition: TopicPartition, offset: int, divergent: OffsetAndMetadata | None) -> None:
        where = "an unknown offset" if divergent is None else f"offset {divergent.offset}"
        super().__init__(
            f"Log truncation detected for {partition}: read up to offset {offset}, the log diverges at {where}; "
            "seek to continue"
        )
        self.partition = partition
        self.offset = offset
        self.divergent = divergent
