"""Which columns of a table become what of a record: SQL expressions, checked before anything runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ottla.common.errors import KafkaError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

HEADERS_TYPE: Final = "array<struct<key:string,value:binary>>"
_INTEGERS: Final = ("tinyint", "smallint", "int", "bigint")


class MappingError(KafkaError):
    """A table that does not become records so; the message says why."""


@dataclass(frozen=True, slots=True)
class RecordMapping:
    """Expressions of Spark's SQL over a table's columns; the plainest is the name of a column.

    ``value`` None: all columns as a JSON object. ``headers``: a column that has them all; ``header``: one by one.
    """

    key: str | None = None
    value: str | None = None
    headers: str | None = None
    header: Mapping[str, str] = field(default_factory=dict)
    partition: str | None = None
    timestamp: str | None = None
    where: str | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        """What of a record the table gives."""
        given = {
            "key": self.key is not None,
            "value": True,
            "headers": self.headers is not None or bool(self.header),
            "partition": self.partition is not None,
            "timestamp": self.timestamp is not None,
        }
        return tuple(name for name, is_given in given.items() if is_given)


LANDED_RAW: Final = RecordMapping(
    key="kafka_key",
    value="value",
    headers="kafka_headers",
    partition="kafka_partition",
    timestamp="kafka_timestamp",
)
"""A table that ``ottla pipeline land --value raw`` made."""


def to_records(table: "DataFrame", mapping: RecordMapping, *others: str) -> "DataFrame":
    """Rows as records: columns key, value, headers, partition, timestamp, as far as the mapping gives them.

    Text and bytes stay as they are, numbers and times become text, structs, arrays and maps JSON. MappingError for an
    expression that Spark does not understand or a type that does not fit. ``others``: columns that stay beside.
    """
    from pyspark.sql import functions as f

    if mapping.where is not None:
        _checked(table, mapping.where, "where")
        table = table.where(mapping.where)
    columns: list[Column] = []
    if mapping.key is not None:
        columns.append(_as_bytes(table, mapping.key, "key").alias("key"))
    if mapping.value is None:
        columns.append(f.to_json(f.struct(*(f.col(f"`{name}`") for name in table.columns))).alias("value"))
    else:
        columns.append(_as_bytes(table, mapping.value, "value").alias("value"))
    if "headers" in mapping.parts:
        columns.append(_headers(table, mapping).alias("headers"))
    if mapping.partition is not None:
        kind = _checked(table, mapping.partition, "partition")
        if kind.simpleString() not in _INTEGERS:
            raise MappingError(
                f"the partition {mapping.partition} is of type {kind.simpleString()}, not a whole number"
            )
        columns.append(f.expr(mapping.partition).cast("int").alias("partition"))
    if mapping.timestamp is not None:
        columns.append(_timestamp(table, mapping.timestamp).alias("timestamp"))
    return table.select(*columns, *others)


def _checked(table: "DataFrame", expression: str, what: str) -> "DataType":
    """The type of an expression over the table."""
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as f

    from ottla.spark.failures import sentence_of

    try:
        return table.select(f.expr(expression).alias("it")).schema["it"].dataType
    except PySparkException as error:
        raise MappingError(f"the {what} {expression!r} is nothing that this table has: {sentence_of(error)}") from error


def _as_bytes(table: "DataFrame", expression: str, what: str) -> "Column":
    from pyspark.sql import functions as f
    from pyspark.sql.types import ArrayType, BinaryType, MapType, StringType, StructType

    kind, column = _checked(table, expression, what), f.expr(expression)
    if isinstance(kind, StringType | BinaryType):
        return column
    return f.to_json(column) if isinstance(kind, StructType | ArrayType | MapType) else column.cast("string")


def _headers(table: "DataFrame", mapping: RecordMapping) -> "Column":
    from pyspark.sql import functions as f

    parts: list[Column] = []
    if mapping.headers is not None:
        kind = _checked(table, mapping.headers, "headers").simpleString()
        if kind != HEADERS_TYPE:
            raise MappingError(f"the headers {mapping.headers} are of type {kind}, not {HEADERS_TYPE}")
        parts.append(f.coalesce(f.expr(mapping.headers), f.array().cast(HEADERS_TYPE)))
    if mapping.header:
        one_by_one = [
            f.struct(
                f.lit(name).alias("key"),
                _as_bytes(table, expression, f"header {name}").cast("binary").alias("value"),
            )
            for name, expression in mapping.header.items()
        ]
        parts.append(f.array(*one_by_one).cast(HEADERS_TYPE))
    return parts[0] if len(parts) == 1 else f.concat(*parts)


def _timestamp(table: "DataFrame", expression: str) -> "Column":
    from pyspark.sql import functions as f

    kind, column = _checked(table, expression, "timestamp").simpleString(), f.expr(expression)
    if kind == "timestamp":
        return column
    if kind in ("timestamp_ntz", "date"):
        return column.cast("timestamp")
    if kind in _INTEGERS:
        return f.timestamp_millis(column)
    raise MappingError(f"the timestamp {expression} is of type {kind}: a time, or milliseconds since 1970, is wanted")
