"""The session that others build on."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_session_runs_python_on_this_interpreter(spark: "SparkSession") -> None:
    from pyspark.sql.functions import udf

    assert spark.range(3).select(udf(lambda n: n + 1, "long")("id").alias("next")).collect() == [(1,), (2,), (3,)]


def test_delta_tables_are_written_and_read(spark: "SparkSession", delta_jars: list[str], tmp_path: Path) -> None:
    import pytest

    if not delta_jars:
        pytest.skip("Delta's jars cannot be had here")
    path = str(tmp_path / "table")
    spark.range(5).write.format("delta").save(path)
    spark.range(5, 7).write.format("delta").mode("append").save(path)
    assert sorted(row.id for row in spark.read.format("delta").load(path).collect()) == list(range(7))
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id < 3")
    assert spark.read.format("delta").load(path).count() == 4
