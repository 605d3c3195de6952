"""How the console consumer prints a record: Kafka's formatters, by the names of their classes."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ottla.cli.errors import CommandError

if TYPE_CHECKING:
    from ottla.clients import ConsumerRecord

Formatter = Callable[["ConsumerRecord[bytes, bytes]"], bytes]
"""The bytes to print for a record."""

PACKAGE: Final = "org.apache.kafka.tools.consumer."
DEFAULT: Final = f"{PACKAGE}DefaultMessageFormatter"

_OFFSET_TYPES: Final = frozenset({0, 1})
_GROUP_METADATA_TYPES: Final = frozenset({2})


def formatter(name: str, properties: Mapping[str, str]) -> Formatter:
    """The formatter that Kafka calls ``name``, with or without its package."""
    match name.removeprefix(PACKAGE):
        case "DefaultMessageFormatter" | "LoggingMessageFormatter":
            return default_formatter(properties)
        case "NoOpMessageFormatter":
            return lambda _record: b""
        case "OffsetsMessageFormatter":
            return _coordinator_formatter("group", _OFFSET_TYPES)
        case "GroupMetadataMessageFormatter":
            return _coordinator_formatter("group", _GROUP_METADATA_TYPES)
        case "TransactionLogMessageFormatter":
            return _coordinator_formatter("transaction", frozenset({0}))
    raise CommandError(
        f"There is no formatter {name} here",
        hint="there are Default-, NoOp-, Logging-, Offsets-, GroupMetadata- and TransactionLogMessageFormatter",
    )


def default_formatter(properties: Mapping[str, str]) -> Formatter:
    """What is wanted of a record, with separators between: print.key, print.offset, …, null.literal."""
    fields = _fields(properties)
    between = properties.get("key.separator", "\t").encode()
    end = properties.get("line.separator", "\n").encode()

    def write(record: "ConsumerRecord[bytes, bytes]") -> bytes:
        return between.join([field(record) for field in fields]) + end

    def nothing(_record: "ConsumerRecord[bytes, bytes]") -> bytes:
        return b""

    return write if fields else nothing


def _fields(properties: Mapping[str, str]) -> list[Formatter]:
    def wanted(name: str, default: str = "false") -> bool:
        return properties.get(f"print.{name}", default).strip().lower() == "true"

    null = properties.get("null.literal", "null").encode()
    key = _deserialized(properties.get("key.deserializer"), null)
    value = _deserialized(properties.get("value.deserializer"), null)
    header = _deserialized(properties.get("headers.deserializer"), null)
    between_headers = properties.get("headers.separator", ",").encode()

    def headers(record: "ConsumerRecord[bytes, bytes]") -> bytes:
        each = (b"%s:%s" % (name.encode(), header(record.topic, content)) for name, content in record.headers)
        return between_headers.join(each) if record.headers else b"NO_HEADERS"

    every: list[tuple[bool, Formatter]] = [
        (wanted("timestamp"), _timestamp),
        (wanted("partition"), lambda record: b"Partition:%d" % record.partition),
        (wanted("offset"), lambda record: b"Offset:%d" % record.offset),
        (wanted("delivery"), lambda _record: b"Delivery:NOT_PRESENT"),
        (wanted("epoch"), _epoch),
        (wanted("headers"), headers),
        (wanted("key"), lambda record: key(record.topic, record.key)),
        (wanted("value", "true"), lambda record: value(record.topic, record.value)),
    ]
    return [write for is_wanted, write in every if is_wanted]


def _timestamp(record: "ConsumerRecord[bytes, bytes]") -> bytes:
    if record.timestamp_ms < 0:
        return b"NO_TIMESTAMP"
    kind = b"LogAppendTime" if record.timestamp_type else b"CreateTime"
    return b"%s:%d" % (kind, record.timestamp_ms)


def _epoch(record: "ConsumerRecord[bytes, bytes]") -> bytes:
    return b"Epoch:%d" % record.leader_epoch if record.leader_epoch >= 0 else b"Epoch:NOT_PRESENT"


def _deserialized(name: str | None, null: bytes) -> Callable[[str, bytes | None], bytes]:
    """How bytes are printed: as they are, or as what a deserializer makes of them."""
    if name is None:
        return lambda _topic, data: null if data is None else data
    from ottla.clients.serialization import as_deserializer

    deserialize = as_deserializer(name)
    assert deserialize is not None

    def write(topic: str, data: bytes | None) -> bytes:
        return null if data is None else _java_text(deserialize(topic, data)).encode()

    return write


def _java_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return str(value)


def _coordinator_formatter(coordinator: str, types: frozenset[int]) -> Formatter:
    """Records of a coordinator as JSON, without line ends, as Kafka's formatters print them."""
    from ottla.cli.coordinator_json import coordinator_record

    def write(record: "ConsumerRecord[bytes, bytes]") -> bytes:
        return coordinator_record(coordinator, types, record.key, record.value)

    return write
