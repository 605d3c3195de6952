"""Errors that Kafka has a code for: expected outcomes that a client is told about.

A bug of ours is an ``AssertionError``; these are for what a user, a client or a disk did. ``code`` is the number
that goes over the wire; the message is for people.
"""

from typing import ClassVar, NamedTuple

from ottla.common.error_code import ErrorCode


class RecordError(NamedTuple):
    """Why one record made the broker refuse its whole batch; ``batch_index`` counts records from 0."""

    batch_index: int
    message: str


class KafkaError(Exception):
    """The root of all expected errors; ``code`` is Kafka's error code, ``retriable`` what clients assume of it."""

    code: int = -1
    retriable: ClassVar[bool] = False


class ApiError(KafkaError):
    """Any error of the protocol, for the many that nobody needs to catch by class."""

    def __init__(self, code: ErrorCode, message: str = "") -> None:
        super().__init__(message)
        self.code = code


class OffsetsOutOfOrderError(KafkaError):
    """Replicated batches whose offsets do not increase; Kafka has no code for it (-1)."""


class UnexpectedAppendOffsetError(KafkaError):
    """Replicated batches that begin before the end of the log; Kafka has no code for it (-1).

    A follower whose log is empty recovers: it starts anew at ``first_offset``.
    """

    def __init__(self, message: str, first_offset: int, last_offset: int) -> None:
        super().__init__(message)
        self.first_offset = first_offset
        self.last_offset = last_offset


class OffsetOutOfRangeError(KafkaError):
    """The requested offset lies outside what the partition holds."""

    code = 1


class CorruptRecordError(KafkaError):
    """Bytes that fail their CRC, or are not a record batch."""

    code = 2
    retriable = True


class MessageTooLargeError(KafkaError):
    """A batch exceeds max.message.bytes."""

    code = 10


class RecordListTooLargeError(KafkaError):
    """The batches of one append do not fit in a segment."""

    code = 18


class InvalidTimestampError(KafkaError):
    """A record's timestamp is out of the topic's accepted range.

    ``record_errors`` names the records at fault where they are known, as in ProduceResponse.
    """

    code = 32

    def __init__(self, message: str = "", record_errors: tuple[RecordError, ...] = ()) -> None:
        super().__init__(message)
        self.record_errors = record_errors


class InvalidRequestError(KafkaError):
    """A request that no correct client sends."""

    code = 42


class InvalidConfigError(KafkaError):
    """A configuration value that its key does not allow."""

    code = 40


class UnsupportedForMessageFormatError(KafkaError):
    """The record format on disk or on the wire cannot do what is asked."""

    code = 43


class OutOfOrderSequenceError(KafkaError):
    """An idempotent producer skipped or repeated a sequence number."""

    code = 45


class DuplicateSequenceError(KafkaError):
    """An idempotent batch older than the last five, seen before."""

    code = 46


class InvalidProducerEpochError(KafkaError):
    """A producer with an older epoch than the one the partition knows."""

    code = 47


class InvalidTxnStateError(KafkaError):
    """A transactional write or marker in a state that does not allow it."""

    code = 48


class TransactionCoordinatorFencedError(KafkaError):
    """A marker from a transaction coordinator that has been replaced."""

    code = 52


class KafkaStorageError(KafkaError):
    """A disk error; the log directory goes offline."""

    code = 56
    retriable = True


class ResourceShortageError(KafkaStorageError):
    """No open file or no memory was to be had. The disk is well, nothing was changed, and another try may work."""


class LogDirNotFoundError(KafkaError):
    """The log directory named is not one of this broker's."""

    code = 57


class UnknownProducerIdError(KafkaError):
    """The partition has no state for this producer."""

    code = 59


class FencedLeaderEpochError(KafkaError):
    """The leader epoch in a request is older than the partition's."""

    code = 74
    retriable = True


class UnsupportedCompressionTypeError(KafkaError):
    """A codec that is unknown, or not allowed where it was used."""

    code = 76


class InvalidRecordError(KafkaError):
    """A record that breaks the rules of its batch or its topic.

    ``record_errors`` names the records at fault where they are known, as in ProduceResponse.
    """

    code = 87

    def __init__(self, message: str = "", record_errors: tuple[RecordError, ...] = ()) -> None:
        super().__init__(message)
        self.record_errors = record_errors


class InconsistentTopicIdError(KafkaError):
    """The topic id on disk differs from the one given."""

    code = 103
    retriable = True
