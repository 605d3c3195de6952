"""Which columns of a query's result become what of a record, checked before the job starts. Pure."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ottla.common.errors import InvalidConfigError

HEADERS_TYPE: Final = "array<struct<key:string,value:binary>>"
_TYPES: Final = {
    "key": ("string", "binary"),
    "value": ("string", "binary"),
    "headers": (HEADERS_TYPE,),
    "partition": ("int",),
    "topic": ("string",),
    "timestamp": ("timestamp",),
}


class SinkColumns(NamedTuple):
    """The columns that are written, and the topic of all rows if it is not one of them."""

    record_columns: tuple[str, ...]
    topic: str | None


def check_schema(schema: Any, topic: str | None, *, keeps_timestamps: bool) -> SinkColumns:
    """Find the columns of a record in Spark's schema; others are left alone, as in the stock connector.

    ``topic`` is the option, which goes before the column. A column ``timestamp`` counts only with
    ``keeps_timestamps``. InvalidConfigError, in one sentence, for a schema that cannot be written.
    """
    types = {field.name: field.dataType.simpleString() for field in schema.fields}
    wanted = ["key", "value", "headers", "partition"]
    if keeps_timestamps:
        wanted.append("timestamp")
    if topic is None:
        wanted.append("topic")
    if "value" not in types:
        raise InvalidConfigError(f"The sink needs a column 'value', and the query has {_named(list(types))}")
    if topic is None and "topic" not in types:
        raise InvalidConfigError("The sink needs option 'topic', or a column 'topic' that names each row's")
    if keeps_timestamps and "timestamp" not in types:
        raise InvalidConfigError("Option 'includeTimestamp' needs a column 'timestamp', and the query has none")
    for name in wanted:
        kind = types.get(name)
        if kind is not None and _plain(kind) not in _TYPES[name]:
            raise InvalidConfigError(f"Column '{name}' is of type {kind}, and must be {' or '.join(_TYPES[name])}")
    columns = tuple(name for name in types if name in wanted and name != "topic")
    return SinkColumns(columns, topic)


def _plain(kind: str) -> str:
    """A type without its collation, or its length, which mean nothing here."""
    return "string" if kind.startswith(("string collate ", "varchar(", "char(")) else kind


def _named(names: Sequence[str]) -> str:
    return f"only {', '.join(names)}" if names else "no columns"
