"""Records as numbers, so that two collections of them can be compared without moving them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

PARTS: Final = ("key", "value", "headers", "partition", "timestamp")
DEFAULT_PARTS: Final = ("key", "value", "headers")
BUCKETS: Final = 4096
SUMS: Final = ("n", "a", "b", "c", "d")
"""The columns of a bucket's sums: records, and the halves of both hashes."""
_LOW: Final = (1 << 32) - 1


def hashed(frame: "DataFrame", parts: Sequence[str]) -> "DataFrame":
    """The frame with ``h1``, ``h2`` (128 bits of the records' parts) and ``bucket``.

    Null and empty differ, but for headers, where no reader tells one from the other.
    """
    from pyspark.sql import functions as f

    columns = [column for part in parts for column in _plain(frame, part)]
    salted = f.xxhash64(f.lit(0x0771A), *columns)
    with_hashes = frame.withColumn("h1", f.xxhash64(*columns)).withColumn("h2", salted)
    return with_hashes.withColumn("bucket", f.pmod(f.col("h1"), f.lit(BUCKETS)).cast("int"))


def bucket_sums(frame: "DataFrame") -> "DataFrame":
    """For each bucket how many records it has, and the sums of their hashes: the same if the records are the same.

    Sums, for they count a record as often as it is there; of halves, for they do not overflow.
    """
    from pyspark.sql import functions as f

    def halves(name: str) -> tuple["Column", "Column"]:
        column = f.col(name)
        return column.bitwiseAND(f.lit(_LOW)), f.shiftrightunsigned(column, 32)

    sums = [f.sum(half).alias(name) for name, half in zip(SUMS[1:], (*halves("h1"), *halves("h2")), strict=True)]
    return frame.groupBy("bucket").agg(f.count(f.lit(1)).alias(SUMS[0]), *sums)


def _plain(frame: "DataFrame", part: str) -> list["Column"]:
    """A part in a form in which different contents are hashed differently: a hash passes over what is null."""
    from pyspark.sql import functions as f

    column = f.col(part)
    if part == "headers":
        empty = f.array().cast(frame.schema["headers"].dataType)
        listed = f.transform(
            f.coalesce(column, empty),
            lambda header: f.struct(header["key"], header["value"].isNull(), header["value"]),
        )
        return [f.size(listed), listed]
    if part == "timestamp":
        return [column.isNull(), f.unix_millis(column)]
    return [column.isNull(), column.cast("int") if part == "partition" else column.cast("binary")]
