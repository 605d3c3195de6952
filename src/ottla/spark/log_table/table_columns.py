"""The columns of ``ottla-log``: those of the source, and what an audit asks of batches and files."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ottla.common.errors import InvalidConfigError
from ottla.spark.columns import ALL_COLUMNS, arrow_schema_of, schema_of

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType

_AUDIT_TYPES: Final = {
    "error": "string",
    "file": "string",
    "segment": "bigint",
    "position": "bigint",
    "batchBytes": "bigint",
    "baseOffset": "bigint",
    "leaderEpoch": "int",
    "codec": "string",
    "producerId": "bigint",
    "producerEpoch": "int",
    "baseSequence": "int",
    "isTransactional": "boolean",
    "isControl": "boolean",
    "controlType": "string",
}
AUDIT_COLUMNS: Final = tuple(_AUDIT_TYPES)
TABLE_COLUMNS: Final = ALL_COLUMNS + AUDIT_COLUMNS
"""Every name, in the order in which a schema has them. All may be null: damaged bytes are a row with an ``error``."""


def parse_table_columns(text: str) -> tuple[str, ...]:
    """The columns in a list with commas, without regard to case, in the order of the schema."""
    by_lower = {name.lower(): name for name in TABLE_COLUMNS}
    chosen = set()
    for part in text.split(","):
        if not (name := part.strip()):
            continue
        if name.lower() not in by_lower:
            raise InvalidConfigError(f"There is no column {name!r} in option 'columns': {', '.join(TABLE_COLUMNS)} are")
        chosen.add(by_lower[name.lower()])
    if not chosen:
        raise InvalidConfigError(f"Option 'columns' names none of {', '.join(TABLE_COLUMNS)}")
    return tuple(name for name in TABLE_COLUMNS if name in chosen)


def table_schema(columns: Sequence[str]) -> "StructType":
    """The schema in Spark."""
    from pyspark.sql import types

    of = {
        "string": types.StringType(),
        "int": types.IntegerType(),
        "bigint": types.LongType(),
        "boolean": types.BooleanType(),
    }
    audit = [types.StructField(name, of[_AUDIT_TYPES[name]]) for name in columns if name in _AUDIT_TYPES]
    return types.StructType([*schema_of([name for name in columns if name not in _AUDIT_TYPES]).fields, *audit])


def table_arrow_schema(columns: Sequence[str]) -> "pyarrow.Schema":
    """The schema of the batches that Spark takes as they are."""
    import pyarrow

    of = {"string": pyarrow.string(), "int": pyarrow.int32(), "bigint": pyarrow.int64(), "boolean": pyarrow.bool_()}
    audit = [pyarrow.field(name, of[_AUDIT_TYPES[name]]) for name in columns if name in _AUDIT_TYPES]
    return pyarrow.schema([*arrow_schema_of([name for name in columns if name not in _AUDIT_TYPES]), *audit])
