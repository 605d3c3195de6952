"""Avro values a batch at a time, in Spark's Python workers: columns of bytes to columns of structs, and back."""

from collections.abc import Callable
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from ottla.common.errors import KafkaError
from ottla.spark.pipeline.avro_schema import AvroSchema, read_schema

if TYPE_CHECKING:
    import pyarrow as pa

_HEADER_BYTES: Final = 5
_MAGIC: Final = b"\0"
Row = dict[str, Any]
_NOTHING: Final[Row] = {"value": None, "error": None}
_UNFIT: Final = (ArithmeticError, EOFError, LookupError, TypeError, ValueError)
"""What fastavro, the conversions and Arrow raise for values that are not of the schema."""


class AvroEncodingError(KafkaError):
    """A row that cannot be written by the schema."""


class AvroBatches:
    """Called with an Arrow array of bytes: an array of ``struct<value, error>``, one of which is null.

    It is pickled with the schemas' texts, which each worker reads once: that by which the values were written, and
    that by which they are read, if it is another one. ``result`` is the array's type.
    """

    def __init__(self, schema: str, reader_schema: str | None, result: "pa.DataType", *, confluent: bool) -> None:
        self._texts = schema, reader_schema
        self._result = result
        self._confluent = confluent
        self._reader: Callable[[bytes], Row] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _batches, (*self._texts, self._result, self._confluent)

    def __call__(self, values: "pa.Array") -> "pa.Array":
        """Read the values."""
        import pyarrow as pa

        read = self._reader = self._reader or self._make_reader()
        rows = [_NOTHING if value is None else read(value) for value in values.to_pylist()]
        try:
            return pa.array(rows, self._result)
        except _UNFIT:
            return pa.array([self._fitting(row) for row in rows], self._result)

    def _make_reader(self) -> Callable[[bytes], Row]:
        """What reads one value, with all that is the same for each bound to it."""
        from fastavro import schemaless_reader
        from fastavro.read import SchemaResolutionError

        written, reader = self._texts
        written_by, read_by = read_schema(written), read_schema(reader or written)
        given, wanted, load = written_by.parsed, read_by.parsed if reader else None, read_by.type.load
        is_tagged = written_by.is_tagged or read_by.is_tagged
        start = _HEADER_BYTES if self._confluent else 0

        def read(value: bytes) -> Row:
            if start and (len(value) < start or value[:1] != _MAGIC):
                return _bad("the value does not begin with a schema's id")
            stream = BytesIO(value)
            stream.seek(start)
            try:
                found = schemaless_reader(stream, given, wanted, is_tagged, False, "strict", is_tagged)
                if stream.tell() < len(value):
                    return _bad(f"{len(value) - stream.tell()} bytes are left behind the value of the Avro schema")
                return {"value": found if load is None else load(found), "error": None}
            except SchemaResolutionError as error:
                return _bad(f"the value cannot be read by the reader's Avro schema: {error}")
            except _UNFIT as error:
                if stream.tell() == len(value) and isinstance(error, EOFError | IndexError):
                    return _bad("the value ends too early for the Avro schema")
                return _bad(f"the value does not fit the Avro schema: {error}".rstrip(": "))

        return read

    def _fitting(self, row: Row) -> Row:
        """The row, or why it has no place in a column: a number may be larger than its type."""
        import pyarrow as pa

        try:
            pa.array([row], self._result)
        except _UNFIT as error:
            return _bad(f"the value does not fit the Avro schema: {error}")
        return row


class AvroEncoder:
    """Called with an Arrow array of structs: an array of Avro values; AvroEncodingError if one cannot be one.

    ``schema_id``: each begins with that id of its schema, in Confluent's framing.
    """

    def __init__(self, schema: str, schema_id: int | None) -> None:
        self._text = schema
        self._schema_id = schema_id
        self._schema: AvroSchema | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return AvroEncoder, (self._text, self._schema_id)

    def __call__(self, rows: "pa.Array") -> "pa.Array":
        """Write the rows."""
        import pyarrow as pa

        return pa.array([self._written(row) for row in rows.to_pylist()], pa.binary())

    def _written(self, row: dict[str, Any] | None) -> bytes | None:
        from fastavro import schemaless_writer

        if row is None:
            return None
        if self._schema is None:
            self._schema = read_schema(self._text)
        stream = BytesIO()
        if self._schema_id is not None:
            stream.write(_MAGIC + self._schema_id.to_bytes(_HEADER_BYTES - 1, "big"))
        dump = self._schema.type.dump
        try:
            schemaless_writer(stream, self._schema.parsed, row if dump is None else dump(row))
        except _UNFIT as error:
            raise AvroEncodingError(f"a row does not fit the Avro schema of the topic: {error}") from None
        return stream.getvalue()


def _bad(error: str) -> Row:
    return {"value": None, "error": error}


def _batches(schema: str, reader_schema: str | None, result: "pa.DataType", confluent: bool) -> AvroBatches:
    return AvroBatches(schema, reader_schema, result, confluent=confluent)
