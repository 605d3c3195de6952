"""Avro values a batch at a time, in Spark's Python workers: columns of bytes to columns of structs."""

from typing import TYPE_CHECKING, Any, Final

from ottla.spark.pipeline.avro_schema import AvroType, AvroValueError, decode_value, read_schema

if TYPE_CHECKING:
    import pyarrow as pa

_HEADER_BYTES: Final = 5
_MAGIC: Final = 0


class AvroBatches:
    """Called with an Arrow array of bytes: an array of ``struct<value, error>``, one of which is null.

    It is pickled with the schema's text, which each worker reads once. ``result`` is the array's type.
    """

    def __init__(self, schema: str, result: "pa.DataType", *, confluent: bool) -> None:
        self._text = schema
        self._result = result
        self._confluent = confluent
        self._schema: AvroType | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (self._text, self._result, self._confluent)

    def __call__(self, values: "pa.Array") -> "pa.Array":
        """Read the values."""
        import pyarrow as pa

        if self._schema is None:
            self._schema = read_schema(self._text)
        return pa.array([self._read(self._schema, value) for value in values.to_pylist()], self._result)

    def _read(self, schema: AvroType, value: bytes | None) -> dict[str, Any]:
        if value is None:
            return {"value": None, "error": None}
        if self._confluent:
            if len(value) < _HEADER_BYTES or value[0] != _MAGIC:
                return {"value": None, "error": "the value does not begin with a schema's id"}
            value = value[_HEADER_BYTES:]
        try:
            return {"value": decode_value(schema, value), "error": None}
        except AvroValueError as error:
            return {"value": None, "error": str(error)}


def _made(schema: str, result: "pa.DataType", confluent: bool) -> AvroBatches:
    return AvroBatches(schema, result, confluent=confluent)
