"""The format ``ottla``: topics as tables and streams, to read and to write, in PySpark."""

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from ottla.spark.columns import schema_of
from ottla.spark.plain_errors import plainly
from ottla.spark.source.source_options import parse_source_options

if TYPE_CHECKING:
    from pyspark.sql.datasource import (
        DataSourceArrowWriter,
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
    )
    from pyspark.sql.types import StructType


class OttlaDataSource(DataSource):
    """``spark.read.format("ottla")``, ``readStream``, ``write`` and ``writeStream``; options as ``format("kafka")``.

    Spark makes one wherever it needs one, mostly in processes of its own, and pickles it: it holds the options and
    nothing else. What is wrong with them is said here, before anything runs.
    """

    @classmethod
    def name(cls) -> str:
        """The word after ``format``."""
        return "ottla"

    @plainly
    def schema(self) -> "StructType":
        """The columns of a reader; what is wrong with its options whether it is a batch or a stream is found here."""
        return schema_of(parse_source_options(self.options).columns)

    @plainly
    def reader(self, schema: "StructType") -> "DataSourceReader":
        """For ``spark.read``."""
        from ottla.spark.source.batch_reader import make_reader

        return make_reader(self.options, schema)

    @plainly
    def streamReader(self, schema: "StructType") -> "DataSourceStreamReader":  # noqa: N802 - Spark's name
        """For ``spark.readStream``."""
        from ottla.spark.pyspark_versions import as_stream_reader
        from ottla.spark.source.stream_reader import make_stream_reader

        return as_stream_reader(make_stream_reader(self.options, schema))

    @plainly
    def writer(self, schema: "StructType", overwrite: bool) -> "DataSourceArrowWriter":
        """For ``df.write``; Spark lets no save modes but append and overwrite come here."""
        from ottla.spark.sink.batch_writer import make_writer

        return make_writer(self.options, schema, overwrite=overwrite)

    @plainly
    def streamWriter(  # noqa: N802 - Spark's name
        self,
        schema: "StructType",
        overwrite: bool,  # noqa: ARG002 - output mode complete, which appends in the stock connector, too
    ) -> "DataSourceStreamWriter":
        """For ``df.writeStream``."""
        from ottla.spark.pyspark_versions import as_stream_writer
        from ottla.spark.sink.stream_writer import make_stream_writer

        return as_stream_writer(make_stream_writer(self.options, schema), schema)
