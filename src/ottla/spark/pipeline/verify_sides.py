"""The sides of a comparison: a topic or a table, in units, as frames of records."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import unquote

from ottla.spark.pipeline.cluster_topics import spans_of
from ottla.spark.pipeline.formats import Json, struct_of
from ottla.spark.pipeline.hadoop_files import HadoopFiles
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.landing import DIRECTORY, DOCUMENT, Landing
from ottla.spark.pipeline.preflight import cluster_id
from ottla.spark.pipeline.record_hash import PARTS
from ottla.spark.pipeline.record_mapping import HEADERS_TYPE, LANDED_RAW, MappingError, RecordMapping, to_records
from ottla.spark.pipeline.table_reading import TableSource, read_table
from ottla.spark.pipeline.topic_slices import TopicSlice, parse_spans, slices_of, spans_document

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

Document = dict[str, Any]
_UNITS: Final = 16
_EMPTY: Final = f"key binary, value binary, headers {HEADERS_TYPE}, partition int, timestamp timestamp, place string"


class ComparedSide(Protocol):
    """One side: ``plan`` fixes what it holds, as JSON; ``units`` makes frames of that plan, ``whole`` one of all."""

    @property
    def what(self) -> str:
        """What it is called."""

    @property
    def parts(self) -> tuple[str, ...]:
        """What of records it can be compared by."""

    def identity(self) -> Document:
        """What makes it the same as in an earlier run."""

    def plan(self, spark: "SparkSession") -> Document:
        """What it holds now."""

    def units(self, spark: "SparkSession", plan: Document) -> "list[tuple[int | None, Callable[[], DataFrame]]]":
        """How many records each unit has at most, None if nobody knows, and what reads it."""

    def whole(self, spark: "SparkSession", plan: Document) -> "DataFrame":
        """All of it, with a column ``place`` that says where each record is."""


@dataclass(frozen=True, slots=True)
class TopicSide:
    """A topic; ``json_schema`` has its values read by that schema and written again, to compare them with a table's.

    A value that cannot be read so is compared as it is: it is in no table.
    """

    job: Job
    topic: str
    slice_records: int
    json_schema: str | None = None
    rescue: str | None = None
    """The column of the table's for fields that the schema lacks, if it is compared."""

    @property
    def what(self) -> str:
        """What it is called."""
        return f"topic {self.topic}"

    @property
    def parts(self) -> tuple[str, ...]:
        """All that records have."""
        return PARTS

    def identity(self) -> Document:
        """The topic, the cluster that it is on, whatever the address, and how it is cut."""
        return {
            "cluster": cluster_id(self.job),
            "topic": self.topic,
            "slice_records": self.slice_records,
            "json_schema": self.json_schema,
            "rescue": self.rescue,
        }

    def plan(self, spark: "SparkSession") -> Document:  # noqa: ARG002 - the protocol's
        """The offsets that are there now."""
        return {"spans": spans_document(spans_of(self.job, [self.topic]))}

    def units(self, spark: "SparkSession", plan: Document) -> "list[tuple[int | None, Callable[[], DataFrame]]]":
        """One for each slice."""
        slices = slices_of(parse_spans(plan["spans"]), self.slice_records)
        return [(each.offsets, lambda each=each: self._frame(spark, each)) for each in slices]  # type: ignore[misc]

    def whole(self, spark: "SparkSession", plan: Document) -> "DataFrame":
        """All slices."""
        spans = [span for span in parse_spans(plan["spans"]) if span.end > span.start]
        return self._frame(spark, TopicSlice(tuple(spans)))

    def _frame(self, spark: "SparkSession", part: TopicSlice) -> "DataFrame":
        from pyspark.sql import functions as f

        if not part.spans:
            return spark.createDataFrame([], _EMPTY)
        frame = read_slice(spark, self.job, part, "key,value,partition,offset,timestamp,headers")
        if self.json_schema is not None:
            frame = frame.withColumn("value", _landed_value(Json(self.json_schema, self.rescue)))
        place = f.format_string("partition %d offset %d", f.col("partition"), f.col("offset"))
        return frame.withColumn("place", place)


@dataclass(frozen=True, slots=True)
class TableSide:
    """A table whose rows are records by a mapping."""

    table: TableSource
    mapping: RecordMapping

    @property
    def what(self) -> str:
        """What it is called."""
        return f"table {self.table.path}"

    @property
    def parts(self) -> tuple[str, ...]:
        """What the mapping gives."""
        return self.mapping.parts

    def identity(self) -> Document:
        """The table and its mapping."""
        return {"table": asdict(self.table), "mapping": asdict(self.mapping)}

    def plan(self, spark: "SparkSession") -> Document:
        """The files that are there now, or the version of a Delta table."""
        if self.table.format == "delta":
            history = spark.sql(f"describe history delta.`{self.table.path}` limit 1").collect()
            return {"version": str(history[0]["version"])}
        return {"files": sorted(unquote(each) for each in read_table(spark, self.table).inputFiles())}

    def units(self, spark: "SparkSession", plan: Document) -> "list[tuple[int | None, Callable[[], DataFrame]]]":
        """Some files each; a Delta table is one."""
        if "version" in plan:
            return [(None, lambda: self.whole(spark, plan))]
        files = plan["files"]
        step = -(-len(files) // _UNITS) or 1
        groups = [files[start : start + step] for start in range(0, len(files), step)]
        return [(None, lambda group=group: self._frame(spark, group)) for group in groups]  # type: ignore[misc]

    def whole(self, spark: "SparkSession", plan: Document) -> "DataFrame":
        """All files, or that version."""
        if "files" in plan:
            return self._frame(spark, plan["files"])
        pinned = replace(self.table, options={**self.table.options, "versionAsOf": plan["version"]})
        return self._records(read_table(spark, pinned))

    def _frame(self, spark: "SparkSession", files: Sequence[str]) -> "DataFrame":
        reader = spark.read.format(self.table.format).options(**self.table.options)
        reader = reader.schema(read_table(spark, self.table).schema).option("basePath", self.table.path)
        return self._records(reader.load(list(files)))

    def _records(self, table: "DataFrame") -> "DataFrame":
        from pyspark.sql import functions as f

        files = table.withColumn("__ottla_file", f.input_file_name())
        mapping = self.mapping
        if mapping.value is None:
            columns = ", ".join(f"`{name}`" for name in table.columns)
            mapping = replace(mapping, value=f"to_json(struct({columns}))")
        return to_records(files, mapping, "__ottla_file").withColumnRenamed("__ottla_file", "place")


def read_slice(spark: "SparkSession", job: Job, part: TopicSlice, columns: str) -> "DataFrame":
    """The records of a slice, read by as many tasks as there are cores."""
    tasks = {"minPartitions": str(spark.sparkContext.defaultParallelism)}
    options = {**job.read_options(), **part.options(), **tasks, "columns": columns}
    return spark.read.format("ottla").options(**options).load()


def _landed_value(values: Json) -> "Column":
    """The column ``value`` as a row of the landed table gives it back; a bad value, which did not land, as it is.

    A row does not tell a record without a value from one without fields: both are an empty object.
    """
    from pyspark.sql import functions as f

    parsed = values.parsed(f.col("value"))
    row = f.coalesce(f.to_json(parsed.value), f.lit("{}")).cast("binary")
    return f.when(parsed.error.isNull(), row).otherwise(f.col("value"))


def landed_sides(spark: "SparkSession", topic: TopicSide, table: TableSource) -> tuple[TopicSide, TableSide] | None:
    """Both sides as ``land`` made the table from the topic; None if it did not. MappingError for Avro's."""
    text = HadoopFiles(spark, f"{table.path}/{DIRECTORY}").read(DOCUMENT)
    if text is None:
        return None
    landing = Landing.parse(text, table.path)
    table = replace(table, format=landing.table_format)
    if landing.value == "raw":
        return topic, TableSide(table, LANDED_RAW)
    if landing.value != "json":
        raise MappingError(f"{table.path} has {landing.value} values: give --key and --value to compare by")
    columns = struct_of(landing.schema).fieldNames()
    rescue = None if landing.rescued_later else landing.rescue or None
    if rescue is not None:
        columns.append(rescue)
    names = ", ".join(f"`{name}`" for name in columns)
    mapping = replace(LANDED_RAW, value=f"to_json(struct({names}))", headers=None)
    if landing.table_format == "parquet":
        table = replace(table, options={"mergeSchema": "true", **table.options})  # rescued_later
    return replace(topic, json_schema=landing.schema, rescue=rescue), TableSide(table, mapping)
