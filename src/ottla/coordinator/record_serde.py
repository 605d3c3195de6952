"""Coordinator records as keys and values of the log: the type before the key, the version before the value.

Both are int16. The key's body has no versions; Apache calls its type the key's version.
"""

from collections.abc import Mapping
from struct import Struct
from typing import Final

from ottla.common.errors import InvalidRequestError, KafkaError
from ottla.coordinator.record import CoordinatorRecord
from ottla.protocol.codec import decode_from, encode_parts
from ottla.protocol.file_slice import FileSlice
from ottla.protocol.message import Message

_INT16: Final = Struct(">h")


class RecordParseError(KafkaError):
    """A record in a coordinator's partition that cannot be read; Kafka has no code for it (-1)."""


class UnknownRecordTypeError(KafkaError):
    """A record of a type that this coordinator does not know: another version's, which is not its business."""

    def __init__(self, record_type: int) -> None:
        super().__init__(f"Found an unknown record type {record_type}")
        self.record_type = record_type


class RecordSerde:
    """Reads and writes the records of one coordinator; ``types`` are its key and value classes by record type."""

    __slots__ = ("_types",)

    def __init__(self, types: Mapping[int, tuple[type[Message], type[Message]]]) -> None:
        self._types = dict(types)

    @staticmethod
    def encode(record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
        """Key and value; a tombstone has no value."""
        key, value = record.key, record.value
        encoded_key = _encode(key, key.schema.api_key, 0)
        return encoded_key, None if value is None else _encode(value, record.version, record.version)

    def decode(self, key: bytes | None, value: bytes | None) -> CoordinatorRecord:
        """The record; UnknownRecordTypeError for one to skip, RecordParseError for one that is broken."""
        if key is None or len(key) < _INT16.size:
            raise RecordParseError("A record without a key")
        record_type: int = _INT16.unpack_from(key)[0]
        classes = self._types.get(record_type)
        if classes is None:
            raise UnknownRecordTypeError(record_type)
        try:
            message, _ = decode_from(classes[0], memoryview(key), _INT16.size, 0)
            if value is None:
                return CoordinatorRecord(message, None)
            if len(value) < _INT16.size:
                raise RecordParseError(f"A value of record type {record_type} without a version")
            version: int = _INT16.unpack_from(value)[0]
            if version not in classes[1].schema.versions:
                raise RecordParseError(f"Unknown version {version} of {classes[1].__name__}")
            # Fields of later versions may follow, as in Apache Kafka: what is left over is left alone.
            body, _ = decode_from(classes[1], memoryview(value), _INT16.size, version)
        except InvalidRequestError as error:
            raise RecordParseError(f"A record of type {record_type} cannot be read: {error}") from error
        return CoordinatorRecord(message, body, version)


def _encode(message: Message, prefix: int, version: int) -> bytes:
    parts = encode_parts(message, version, _INT16.pack(prefix))
    if len(parts) == 1 and not isinstance(part := parts[0], FileSlice):
        return bytes(part)
    raise AssertionError("coordinator records hold no parts of files")
