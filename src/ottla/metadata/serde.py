"""Metadata records as the values of the log: frame version, api key and version as varints, then the message."""

from collections.abc import Callable
from typing import Final

from ottla.common.errors import InvalidRequestError, KafkaError
from ottla.metadata.metadata_version import MINIMUM_VERSION, MetadataVersion
from ottla.metadata.records import (
    RECORD_CLASSES,
    BrokerRegistrationChangeRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
)
from ottla.protocol.codec import decode, encode
from ottla.protocol.varint import read_uvarint, uvarint

FRAME_VERSION: Final = 1


class MetadataParseError(KafkaError):
    """Bytes in the metadata log that are no record of Kafka 4.3; Kafka has no code for it (-1)."""


_BY_LEVEL: Final[dict[type[MetadataRecord], Callable[[MetadataVersion], int]]] = {
    RegisterBrokerRecord: lambda level: level.register_broker_record_version,
    PartitionRecord: lambda level: level.partition_record_version,
    PartitionChangeRecord: lambda level: level.partition_record_version,
}


def record_version(record: MetadataRecord, metadata_version: MetadataVersion) -> int:
    """The version in which Apache's controller writes ``record`` at a level; all but four are always version 0."""
    version_at = _BY_LEVEL.get(type(record))
    if version_at is not None:
        return version_at(metadata_version)
    return _change_record_version(record) if isinstance(record, BrokerRegistrationChangeRecord) else 0


def _change_record_version(record: BrokerRegistrationChangeRecord) -> int:
    """The lowest version that has every field that is set."""
    if record.cordoned_log_dirs is not None:
        return 3
    if record.log_dirs:
        return 2
    return 1 if record.in_controlled_shutdown else 0


def encode_record(record: MetadataRecord, version: int) -> bytes:
    """The value of a log record, in a version of the message."""
    return b"".join((uvarint(FRAME_VERSION), uvarint(record.schema.api_key), uvarint(version), encode(record, version)))


def decode_record(data: bytes | memoryview) -> MetadataRecord:
    """The record; raises MetadataParseError for anything else."""
    try:
        frame_version, position = read_uvarint(data, 0)
        api_key, position = read_uvarint(data, position)
        version, position = read_uvarint(data, position)
    except (IndexError, InvalidRequestError) as error:
        raise MetadataParseError("Error while reading the frame of a metadata record") from error
    if frame_version != FRAME_VERSION:
        raise MetadataParseError(
            f"Could not deserialize metadata record due to unknown frame version {frame_version} "
            f"(only frame version {FRAME_VERSION} is supported)"
        )
    record_class = RECORD_CLASSES.get(api_key)
    if record_class is None:
        raise MetadataParseError(f"Unknown metadata record type {api_key}")
    if version not in record_class.schema.versions:
        raise MetadataParseError(f"Unsupported version {version} of {record_class.__name__}")
    try:
        return decode(record_class, memoryview(data)[position:], version)
    except InvalidRequestError as error:
        raise MetadataParseError(f"Failed to deserialize record with type {api_key}: {error}") from error


class MetadataRecordSerde:
    """What the quorum writes and reads records with, at the metadata.version that ``level`` gives at that moment.

    A controller gives its uncommitted image's level; a snapshot takes the level of its own image.
    """

    __slots__ = ("_level",)

    def __init__(self, level: Callable[[], MetadataVersion]) -> None:
        self._level = level

    def write(self, record: MetadataRecord) -> bytes:
        """The value of a log record."""
        # The first records of a log come before there is a level, and none of them depends on it.
        level = self._level() if type(record) in _BY_LEVEL else MINIMUM_VERSION
        return encode_record(record, record_version(record, level))

    def read(self, data: bytes | memoryview) -> MetadataRecord:
        """The record; raises MetadataParseError for anything else."""
        return decode_record(data)
