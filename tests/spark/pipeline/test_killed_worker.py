"""One of Spark's Python workers is killed in the middle of a pipeline that runs as a user starts it."""

import subprocess
import sys
from pathlib import Path

from ottla.spark.pipeline.job import Job
from tests.spark.pipeline.conftest import Fill, read_topic

PROGRAM = """
import os
import signal

from pyspark.sql import DataFrame
from pyspark.sql.functions import udf
from pyspark.sql.types import BinaryType

from ottla.spark.pipeline import Raw, Topic, pipeline

MARK = {mark!r}


@udf(BinaryType())
def marked(value: bytes) -> bytes:
    if value == b"7" and not os.path.exists(MARK):
        open(MARK, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return b"seen " + value


@pipeline(source=Topic("to-be-killed", Raw()), sink=Topic("survived"))
def survivors(records: DataFrame) -> DataFrame:
    return records.select(marked("value").alias("value"))
"""


def test_a_killed_worker_does_not_end_a_pipeline_on_this_machine(job: Job, fill: Fill, tmp_path: Path) -> None:
    mark, program = tmp_path / "killed", tmp_path / "survivors.py"
    program.write_text(PROGRAM.format(mark=str(mark)))
    fill("to-be-killed", *(b"%d" % n for n in range(20)))
    line = ["run", str(program), "--once", "--bootstrap-server", job.bootstrap_servers]
    line += ["--checkpoint", str(job.checkpoint), "--log", str(tmp_path / "spark.log")]
    ended = subprocess.run(
        [sys.executable, "-m", "ottla", "pipeline", *line],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert mark.exists()
    records = read_topic(job.bootstrap_servers, "survived")
    assert sorted(record.value for record in records) == sorted(b"seen %d" % n for n in range(20))
