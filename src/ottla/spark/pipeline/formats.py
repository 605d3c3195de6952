"""What the values of a topic are: ``Json(schema)``, ``Avro(schema)`` or ``Raw()``; each reads them as Spark's columns.

A format gives two expressions over the column of values: the value as a struct, and why it is none. Who reads decides
what becomes of a bad one (dead_letters.py).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from ottla.common.errors import KafkaError
from ottla.spark.pipeline.avro_schema import AvroSchemaError, read_schema
from ottla.spark.pipeline.rescued_fields import rescued

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import StructType

_CORRUPT: Final = "__ottla_corrupt"


class SchemaError(KafkaError):
    """A schema that cannot be read, or that does not fit; the message says what is wrong with it."""


class Parsed(NamedTuple):
    """A value: ``value`` is a struct, ``error`` the reason why the value is bad, null if it is not."""

    value: "Column"
    error: "Column"


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes as they are."""

    name: ClassVar[str] = "raw"


@dataclass(frozen=True, slots=True)
class Json:
    """JSON objects; ``schema`` is Spark's (``"user string not null, at timestamp"``, or a schema as JSON).

    A field that is NOT NULL in it has to be there. A record without a value has no fields; an empty or blank value is
    bad. Without a schema, as for a sink, any object will do. ``rescue`` names a column for the fields that the schema
    lacks (rescued_fields.py); without one they are passed over.
    """

    schema: "str | StructType | None" = None
    rescue: str | None = None
    name: ClassVar[str] = "json"

    def parsed(self, value: "Column") -> Parsed:
        """Read a column of binary values."""
        from pyspark.sql import functions as f
        from pyspark.sql.types import StringType, StructField, StructType

        schema = self.struct()
        permissive = StructType([StructField(each.name, each.dataType, True) for each in schema.fields])
        permissive.add(StructField(_CORRUPT, StringType(), True))
        text = value.cast("string")
        read = f.from_json(text, permissive, {"columnNameOfCorruptRecord": _CORRUPT, "mode": "PERMISSIVE"})
        why = f.when(f.try_parse_json(text).isNull(), f.lit("the value is not JSON")).otherwise(
            f.lit(f"the value does not fit the schema {schema.simpleString()}")
        )
        is_blank = value.isNotNull() & read.isNull()  # Spark takes it for a value that is not there
        error = f.when(read[_CORRUPT].isNotNull() | is_blank, why)
        for each in schema.fields:
            if not each.nullable:
                error = error.when(read[each.name].isNull(), f.lit(f"the field {each.name} is missing"))
        read = read.dropFields(_CORRUPT)
        if self.rescue:
            read = read.withField(f"`{self.rescue}`", rescued(text, schema))
        return Parsed(read, error.otherwise(f.lit(None).cast("string")))

    def struct(self) -> "StructType":
        """The schema as Spark's type; SchemaError if it cannot be read, or if there is none."""
        return struct_of(self.schema)

    def identity(self) -> list[str]:
        """What makes the same values bad for two of them, as far as it is seen without Spark."""
        given = self.schema or ""
        return [self.name, _on_one_line(given) if isinstance(given, str) else given.json()]


@dataclass(frozen=True, slots=True)
class Avro:
    """Avro's binary encoding; ``schema`` is Avro's own, as JSON: that by which the values are written.

    ``reader_schema`` is another by which they are read: fields have other names by aliases, come with their defaults,
    or are left out. ``confluent`` values begin with a zero byte and the schema's id in a registry: read, they are
    passed over; to write them ``schema_id`` is the id.
    """

    schema: str
    confluent: bool = False
    reader_schema: str | None = None
    schema_id: int | None = None
    name: ClassVar[str] = "avro"

    def parsed(self, value: "Column") -> Parsed:
        """Read a column of binary values, in Python and a batch at a time."""
        from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf

        from ottla.spark.pipeline.avro_values import AvroBatches
        from ottla.spark.pyspark_versions import utc_arrow_type

        read_by = read_schema(self.reader_schema or self.schema)
        result = struct_of(f"value {read_by.type.ddl}, error string")
        batches = AvroBatches(self.schema, self.reader_schema, utc_arrow_type(result), confluent=self.confluent)
        both = arrow_udf(batches, result, ArrowUDFType.SCALAR)(value)
        return Parsed(both["value"], both["error"])

    def identity(self) -> list[str]:
        """What makes two of them read alike."""
        alike = [self.name, _on_one_line(self.schema), "confluent" if self.confluent else "plain"]
        return [*alike, _on_one_line(self.reader_schema)] if self.reader_schema else alike

    def written(self, columns: Sequence[str]) -> "Column":
        """Rows with these columns as values; SchemaError if they are not the fields of the schema.

        A field that has a default may be lacking. Columns become the types of their fields, where Spark casts them.
        """
        from pyspark.sql import functions as f
        from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf
        from pyspark.sql.types import BinaryType

        from ottla.spark.pipeline.avro_values import AvroEncoder

        schema = read_schema(self.schema)
        unknown = [name for name in columns if name not in schema.fields]
        lacking = [name for name in schema.fields if name not in columns and name not in schema.optional]
        for names, words in ((unknown, "has no field for the column"), (lacking, "has a field without a column:")):
            if names:
                raise SchemaError(f"the Avro schema {words} {', '.join(names)}")
        if self.confluent and self.schema_id is None:
            raise SchemaError("confluent values are written with the id of their schema: give schema_id")
        fields = [f.col(f"`{name}`").cast(schema.fields[name].ddl).alias(name) for name in columns]
        encode = AvroEncoder(self.schema, self.schema_id if self.confluent else None)
        return arrow_udf(encode, BinaryType(), ArrowUDFType.SCALAR)(f.struct(*fields))

    def check(self) -> None:
        """SchemaError if the schema cannot be read, SparkUnavailableError if this PySpark cannot read by it."""
        from ottla.spark.pyspark_versions import require_arrow_functions

        require_arrow_functions("a topic of Avro values")
        try:
            for schema in filter(None, (self.schema, self.reader_schema)):
                read_schema(schema)
        except AvroSchemaError as error:
            raise SchemaError(str(error)) from None


Format = Raw | Json | Avro


def struct_of(schema: "str | StructType | None") -> "StructType":
    """A schema of Spark's, from its type, its JSON or its DDL; SchemaError if it is none."""
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructType

    if isinstance(schema, StructType):
        return schema
    if schema is None or not schema.strip():
        raise SchemaError("a schema is needed to read JSON: for example Json('user string, at timestamp')")
    try:
        if schema.lstrip().startswith("{"):
            return StructType.fromJson(json.loads(schema))
        read = StructType.fromDDL(schema)
    except (PySparkException, ValueError, KeyError, TypeError) as error:
        raise SchemaError(f"the schema {schema!r} cannot be read: {_first_line(error)}") from None
    if not isinstance(read, StructType):
        raise SchemaError(f"the schema {schema!r} has no fields: for example 'user string, at timestamp'")
    return read


def _on_one_line(schema: str) -> str:
    return " ".join(schema.split())


def _first_line(error: BaseException) -> str:
    from ottla.spark.failures import sentence_of

    return sentence_of(error)


def check_with(format_: Format, where: str) -> None:
    """SchemaError now, before anything starts, if the format's schema cannot be read; ``where`` says whose it is."""
    try:
        if isinstance(format_, Json):
            format_.struct()
        elif isinstance(format_, Avro):
            format_.check()
    except SchemaError as error:
        raise SchemaError(f"{where}: {error}") from None
