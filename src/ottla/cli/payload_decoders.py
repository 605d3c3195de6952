"""What a dump makes of keys and values: text, numbers, or the records of coordinators and controllers."""

from collections.abc import Callable
from typing import Final, NamedTuple

from ottla.cli.errors import CommandError
from ottla.common.errors import KafkaError
from ottla.records.record import Record

PACKAGE: Final = "org.apache.kafka.tools.api."
STRING: Final = f"{PACKAGE}StringDecoder"
_NUMBERS: Final = {"IntegerDecoder": 4, "LongDecoder": 8}


class Contents(NamedTuple):
    """A record's key and value for people; None is left out."""

    key: str | None
    value: str | None


Decoder = Callable[[Record], Contents]


def plain_decoder(key_class: str, value_class: str) -> Decoder:
    """Keys and values by themselves, each by a decoder of Kafka's (or ``hex``, which is ours)."""
    key, value = _bytes_decoder(key_class), _bytes_decoder(value_class)

    def decode(record: Record) -> Contents:
        return Contents(
            None if record.key is None else key(record.key), None if record.value is None else value(record.value)
        )

    return decode


def _bytes_decoder(name: str) -> Callable[[bytes], str]:
    short = name.removeprefix(PACKAGE)
    if short == "StringDecoder":
        return lambda data: data.decode(errors="replace")
    if short in _NUMBERS:
        size = _NUMBERS[short]
        return lambda data: str(int.from_bytes(data[:size], "big", signed=True))
    if short in ("hex", "DefaultDecoder"):
        return bytes.hex
    raise CommandError(
        f"There is no decoder {name} here", hint=f"there are StringDecoder, {', '.join(_NUMBERS)} and hex"
    )


def coordinator_decoder(coordinator: str) -> Decoder:
    """The records of the ``group`` or ``transaction`` coordinator."""
    from ottla.cli.coordinator_json import coordinator_serde, group_value_json
    from ottla.cli.message_json import compact, message_json
    from ottla.coordinator.record_serde import UnknownRecordTypeError

    serde = coordinator_serde(coordinator)
    value_json = group_value_json if coordinator == "group" else message_json

    def decode(record: Record) -> Contents:
        if record.key is None:
            raise CommandError(
                f"Failed to decode message at offset {record.offset} using the specified decoder (message had a "
                "missing key)"
            )
        try:
            decoded = serde.decode(record.key, record.value)
        except UnknownRecordTypeError as error:
            return Contents(f"Unknown record type {error.record_type} at offset {record.offset}, skipping.", None)
        except KafkaError as error:
            return Contents(f"Error at offset {record.offset}, skipping. {error}", None)
        key = {"type": str(decoded.key.schema.api_key), "data": message_json(decoded.key, 0)}
        if decoded.value is None:
            return Contents(compact(key), "<DELETE>")
        value = {"version": str(decoded.version), "data": value_json(decoded.value, decoded.version)}
        return Contents(compact(key), compact(value))

    return decode


def metadata_decoder() -> Decoder:
    """The records of the metadata log, which have no keys."""
    from ottla.cli.message_json import compact
    from ottla.cli.metadata_json import metadata_record_json

    def decode(record: Record) -> Contents:
        try:
            return Contents(None, compact(metadata_record_json(record.value or b"")))
        except KafkaError as error:
            return Contents(None, f"Error at {record.offset}, skipping. {error}")

    return decode
