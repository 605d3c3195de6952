"""The daemon that imports for all workers of a session, and the lookup of formats beside what its caller does."""

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.chaos.processes import python_workers

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession

MODULE = "ottla.spark.task_daemon"
SETTING = "spark.python.daemon.module"
_BOUND_S = 300
_ROOT = Path(__file__).parents[2]

LOOKUP = """
import os, sys, time
from ottla.spark.session import spark_session
from tests.spark.chaos.processes import descendants

spark = spark_session("lookup", master="local[1]", conf={"spark.ui.enabled": "false", "spark.driver.memory": "512m"})
deadline = time.monotonic() + 120
while not any("lookup_data_sources" in each.command for each in descendants(os.getpid())):
    if time.monotonic() > deadline:
        sys.exit("no lookup")
    time.sleep(0.05)
spark.stop()
again = spark_session("again", master="local[1]", conf={"spark.ui.enabled": "false"})
print(again._jsparkSession.sessionState().dataSourceManager().dataSourceExists("ottla"))
again.stop()
"""


def test_workers_are_forked_with_what_tasks_need(spark: "SparkSession") -> None:
    assert spark.conf.get(SETTING) == MODULE

    def look(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        for _ in batches:
            pass
        with open(f"/proc/{os.getppid()}/cmdline") as command:
            started = command.read().split("\0")
        yield pa.record_batch([pa.array([" ".join(started[1:4]), str(os.getpid()), *sys.modules])], names=["found"])

    found = {row.found for row in spark.range(1).mapInArrow(look, "found string").collect()}
    assert f"-m {MODULE} pyspark.worker" in found
    assert found & set(map(str, python_workers(os.getpid()))), "whoever kills Spark's workers does not find this one"
    assert {
        "ottla.spark.scan.range_reader",
        "ottla.spark.sink.plain_sink",
        "ottla.clients.producer.send_batch",
    } <= found


def test_only_an_interpreter_that_has_it_is_told_to_run_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from ottla.spark.session import session_settings

    monkeypatch.setattr(os, "environ", dict(os.environ))
    os.environ.pop("PYSPARK_PYTHON", None)
    assert session_settings("s")[SETTING] == MODULE
    assert session_settings("s", conf={SETTING: "pyspark.daemon"})[SETTING] == "pyspark.daemon"
    assert SETTING not in session_settings("s", master="k8s://https://host")
    assert SETTING not in session_settings("s", conf={"spark.pyspark.python": "/no/python"})


def test_formats_are_looked_up_before_a_query_asks_and_a_stop_meanwhile_does_no_harm() -> None:
    command = [sys.executable, "-c", LOOKUP]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=_BOUND_S, check=False)
    assert done.stdout == "True\n", done.stderr
    assert "Traceback" not in done.stderr
