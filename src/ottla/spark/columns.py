"""The columns of records in Spark: those of Spark's own Kafka connector, their types in Spark and in Arrow."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ottla.common.errors import InvalidConfigError

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType

_SPARK_TYPES: Final = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
    "headers": "array<struct<key:string,value:binary>>",
}
ALL_COLUMNS: Final = tuple(_SPARK_TYPES)
"""Every name, in the order in which a schema has them."""
DEFAULT_COLUMNS: Final = ALL_COLUMNS[:-1]
"""What is read unless the user says otherwise: all but the headers."""


def parse_columns(text: str) -> tuple[str, ...]:
    """The columns in a list with commas, without regard to case, in the order of the schema."""
    by_lower = {name.lower(): name for name in ALL_COLUMNS}
    wanted = [part.strip() for part in text.split(",") if part.strip()]
    for name in wanted:
        if name.lower() not in by_lower:
            raise InvalidConfigError(f"There is no column {name!r} in option 'columns': {', '.join(ALL_COLUMNS)} are")
    if not wanted:
        raise InvalidConfigError(f"Option 'columns' names none of {', '.join(ALL_COLUMNS)}")
    chosen = {by_lower[name.lower()] for name in wanted}
    return tuple(name for name in ALL_COLUMNS if name in chosen)


def schema_of(columns: Sequence[str]) -> "StructType":
    """The schema in Spark; every column may be null there, as in the stock connector."""
    from pyspark.sql import types

    header = types.StructType().add("key", types.StringType()).add("value", types.BinaryType())
    of = {
        "binary": types.BinaryType(),
        "string": types.StringType(),
        "int": types.IntegerType(),
        "bigint": types.LongType(),
        "timestamp": types.TimestampType(),
        _SPARK_TYPES["headers"]: types.ArrayType(header),
    }
    return types.StructType([types.StructField(name, of[_SPARK_TYPES[name]]) for name in columns])


def arrow_schema_of(columns: Sequence[str]) -> "pyarrow.Schema":
    """The schema of the batches that Spark takes as they are; it refuses any other type."""
    import pyarrow

    header = pyarrow.struct([pyarrow.field("key", pyarrow.string()), pyarrow.field("value", pyarrow.binary())])
    of = {
        "binary": pyarrow.binary(),
        "string": pyarrow.string(),
        "int": pyarrow.int32(),
        "bigint": pyarrow.int64(),
        "timestamp": pyarrow.timestamp("us", tz="UTC"),
        _SPARK_TYPES["headers"]: pyarrow.list_(header),
    }
    return pyarrow.schema([pyarrow.field(name, of[_SPARK_TYPES[name]]) for name in columns])
