"""Files of a Parquet table that no finished batch names: a killed run left them, and some readers would see them.

Which those are must not be guessed, for another ``land`` may be writing: its files are named when its batch is done. No
lock tells (a killed run would leave it behind), and no clock. Spark's own logs do. A batch is in the checkpoint's log
``offsets`` before its first file is written, and in the table's log ``_spark_metadata`` when it is done; either log
takes each number once, whoever writes. So a file that was there before ``offsets`` ended with batch N is of N or of one
before it. When the table's log has N, such a file counts if it is named there, and if not it never will.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from ottla.spark.pipeline.hadoop_files import HadoopFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TABLE_LOG: Final = "_spark_metadata"
_COMPACT: Final = ".compact"
_NONE: Final = -1


class LeftoverFiles:
    """``look`` notes what may be left over → ``sweep``, now or after a batch, deletes it once that is certain."""

    def __init__(self, spark: "SparkSession", files: HadoopFiles, checkpoint: str) -> None:
        self._spark = spark
        self._files = files
        self._table_log = HadoopFiles(spark, f"{files.path}/{_TABLE_LOG}")
        self._offsets = HadoopFiles(spark, f"{checkpoint}/offsets")
        self._noted: set[str] = set()
        self._last_planned = _NONE

    def look(self) -> None:
        """Note the files that no batch names, and after that the last batch that they can be of."""
        if last_batch(self._table_log.names()) == _NONE and not self._offsets.names():
            return
        self._noted = self._there() - self._named()
        self._last_planned = last_batch(self._offsets.names())

    def sweep(self) -> None:
        """Delete what was noted and does not count; nothing as long as a batch that it may be of is not done."""
        if not self._noted:
            return
        last_done = last_batch(self._table_log.names())
        if last_done == _NONE or last_done < self._last_planned:
            return
        for each in left_over(self._noted, self._there(), self._named()):
            self._files.delete(each)
        self._noted = set()

    def _there(self) -> set[str]:
        """The Parquet files on disk; what begins with an underscore is not of the table."""
        below = len(self._files.path) + 1
        return {
            each for each in self._files.all_files() if each.endswith(".parquet") and not each[below:].startswith("_")
        }

    def _named(self) -> set[str]:
        """The files of finished batches."""
        if not self._table_log.names():
            return set()
        frame = self._spark.read.schema("kafka_offset bigint").parquet(self._files.path)
        return {path_of(each) for each in frame.inputFiles()}


def last_batch(names: Iterable[str]) -> int:
    """The highest number in one of Spark's logs, whose files are called by them; -1 if it is empty. Pure."""
    numbers = (name.removesuffix(_COMPACT) for name in names)
    return max((int(number) for number in numbers if number.isdecimal()), default=_NONE)


def left_over(noted: set[str], there: set[str], named: set[str]) -> set[str]:
    """What of the noted files is not named. If none of the named ones is there, they are called otherwise: nothing."""
    return set() if named and not named & there else (noted & there) - named


def path_of(uri: str) -> str:
    """The path that a URI of ``inputFiles()`` encodes, with one slash after the scheme as Hadoop has it. Pure."""
    scheme, colon, rest = unquote(uri).partition(":")
    return f"{scheme}{colon}{rest.removeprefix('//') if rest.startswith('///') else rest}"
