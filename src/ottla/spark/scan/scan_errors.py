"""Why a range of offsets cannot be read, in sentences for the person whose query ends."""

from ottla.common.errors import KafkaError
from ottla.spark.scan.offset_range import OffsetRange

_ADVICE = "set failOnDataLoss=false to go on with what is there"


class ScanError(KafkaError):
    """A task cannot read what it was told to."""


class DataLossError(ScanError):
    """Records that the query was to read are gone."""

    code = 1

    @classmethod
    def of_start(cls, wanted: OffsetRange, position: int, log_start_offset: int) -> "DataLossError":
        """The log begins after the position: retention, compaction or somebody's delete has been there."""
        return cls(
            f"Records of {wanted.topic}-{wanted.partition} from offset {position} on are gone, its log begins at "
            f"{log_start_offset} now; {_ADVICE}"
        )

    @classmethod
    def of_end(cls, wanted: OffsetRange, position: int, log_end_offset: int) -> "DataLossError":
        """The log ends before the range: it was truncated, or the topic was made anew."""
        return cls(
            f"Records of {wanted.topic}-{wanted.partition} from offset {position} to {wanted.end_offset} are gone, its "
            f"log ends at {log_end_offset} now: it was truncated, or the topic was made anew; {_ADVICE}"
        )

    @classmethod
    def of_topic(cls, wanted: OffsetRange, position: int) -> "DataLossError":
        """There is no such partition any more."""
        return cls(
            f"{wanted.topic}-{wanted.partition} was to be read from offset {position} to {wanted.end_offset}, and does "
            f"not exist any more; {_ADVICE}"
        )


class CorruptBatchError(ScanError):
    """Bytes in the log that are no batch of records, or of a format from before 2017."""

    code = 2

    def __init__(self, topic: str, partition: int, offset: int, cause: BaseException) -> None:
        super().__init__(f"The record batch of {topic}-{partition} at offset {offset} cannot be read: {cause}")
