"""A format whose driver crashes in the middle of a commit, where a file says, as often as it says."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import WriterCommitMessage

from ottla.spark.data_source import OttlaDataSource
from ottla.spark.pyspark_versions import as_stream_writer
from ottla.spark.sink.commit_actions import Action
from ottla.spark.sink.commit_driver import CommitDriver
from ottla.spark.sink.commit_messages import transactions_in
from ottla.spark.sink.stream_writer import ExactlyOnceStreamWriter, PlainStreamWriter, make_stream_writer

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamWriter
    from pyspark.sql.types import StructType


class CrashingWriter(ExactlyOnceStreamWriter):
    """The same but for its end."""

    crash_file = ""

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Crash after the action that the file names, once."""
        crash = Path(self.crash_file)

        def on_step(action: Action, is_done: bool) -> None:
            if is_done and crash.exists() and crash.read_text() == type(action).__name__:
                crash.unlink()
                raise RuntimeError("crashed as it was told")

        query_id, transactions = transactions_in(messages)
        driver = CommitDriver(self._options, on_step=on_step)
        driver.run(self._protocol().commit(query_id, batchId, transactions))
        driver.close()

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """A driver that crashed does not come to this."""


class CrashingPlainWriter(PlainStreamWriter):
    """At least once, and crashes before Spark has noted that the batch is written."""

    crash_file = ""

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Crash, once."""
        if Path(self.crash_file).exists():
            Path(self.crash_file).unlink()
            raise RuntimeError("crashed as it was told")


class CrashingDataSource(OttlaDataSource):
    """``format("ottla-crashing")``, with the file in option ``crashFile``."""

    @classmethod
    def name(cls) -> str:
        """The word after ``format``."""
        return "ottla-crashing"

    def streamWriter(self, schema: "StructType", overwrite: bool) -> "DataSourceStreamWriter":
        """Ottla's, made to crash."""
        crash_file = self.options["crashFile"]
        plain = {name: value for name, value in self.options.items() if name != "crashfile"}
        writer: Any = make_stream_writer(plain, schema)
        kind = CrashingWriter if isinstance(writer, ExactlyOnceStreamWriter) else CrashingPlainWriter
        crashing = kind(writer._options, writer._columns)
        crashing.crash_file = crash_file
        return as_stream_writer(crashing, schema)
