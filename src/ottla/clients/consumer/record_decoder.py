"""Records out of fetches, as the user's deserializers make them."""

from collections.abc import Callable
from typing import Any, TypeAlias

from ottla.clients.consumer.batch_decoder import decode_batch
from ottla.clients.consumer.completed_fetch import CompletedFetch
from ottla.clients.consumer.consumer_record import ConsumerRecord
from ottla.clients.consumer.record_errors import RecordDeserializationError

Deserialize: TypeAlias = Callable[[str, bytes], Any]


class RecordDecoder:
    """Takes records out of a fetch. None for a deserializer leaves bytes as they are; nulls are never deserialized."""

    __slots__ = ("_key", "_value")

    def __init__(self, key: Deserialize | None = None, value: Deserialize | None = None) -> None:
        self._key = key
        self._value = value

    def take(self, fetch: CompletedFetch, max_records: int) -> list[ConsumerRecord[Any, Any]]:
        """The next records of one batch; empty only at the end of the fetch.

        What precedes a record that cannot be deserialized comes first; then RecordDeserializationError, again and
        again, until the position is moved past it. CorruptFetchError likewise.
        """
        records = fetch.take(max_records, decode_batch)
        if (self._key is None and self._value is None) or not records:
            return records
        made: list[ConsumerRecord[Any, Any]] = []
        for index, record in enumerate(records):
            part = "key"
            try:
                key, value = record.key, record.value
                if key is not None and self._key is not None:
                    key = self._key(record.topic, key)
                part = "value"
                if value is not None and self._value is not None:
                    value = self._value(record.topic, value)
            except Exception as error:  # the user's code: whatever it raises is about this record
                fetch.put_back(len(records) - index)
                if made:
                    return made
                raise RecordDeserializationError(record, part, error) from error
            made.append(record._replace(key=key, value=value))
        return made
