"""What a sweep of a landed Parquet table deletes: what no batch can name any more, and nothing else."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ottla.spark.pipeline.hadoop_files import HadoopFiles
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.land import land_on
from ottla.spark.pipeline.landing import Landing
from ottla.spark.pipeline.leftover_files import LeftoverFiles, last_batch, left_over, path_of
from ottla.spark.pipeline.stop_request import StopRequest
from tests.spark.pipeline.conftest import Fill

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def land(spark: "SparkSession", job: Job, path: Path, topic: str) -> None:
    landing = Landing(topic, "parquet", "raw", "day", None, f"{path}/_ottla/checkpoint")
    arguments: dict[str, Any] = {"options": {}, "dead_letters": None, "every": "1 second"}
    land_on(spark, job, landing, str(path), StopRequest(), say=lambda _: None, **arguments)


def copy_of(path: Path, name: str) -> Path:
    """A file as a batch writes it, which no log names."""
    found = next(path.rglob("part-*.parquet"))
    made = found.with_name(f"part-{name}.snappy.parquet")
    made.write_bytes(found.read_bytes())
    return made


def values(spark: "SparkSession", path: Path) -> list[bytes]:
    return sorted(bytes(row.value) for row in spark.read.parquet(str(path)).collect())


def test_files_of_a_batch_that_another_run_has_under_way_are_spared_until_it_is_done(
    spark: "SparkSession", job: Job, fill: Fill, tmp_path: Path
) -> None:
    path = tmp_path / "table"
    fill("under-way", b"a", b"b")
    land(spark, job, path, "under-way")
    offsets, log = path / "_ottla" / "checkpoint" / "offsets", path / "_spark_metadata"
    last = last_batch(each.name for each in log.iterdir())

    def leftovers() -> LeftoverFiles:
        return LeftoverFiles(spark, HadoopFiles(spark, str(path)), f"{path}/_ottla/checkpoint")

    # Another run has planned a batch and written a file of it; of an earlier attempt, which was killed, one is left.
    (offsets / str(last + 1)).write_text((offsets / str(last)).read_text())
    running, killed = copy_of(path, "running"), copy_of(path, "killed")
    second = leftovers()
    second.look()
    second.sweep()
    assert running.exists()
    assert killed.exists()
    # The batch is done.
    version, entry = (log / str(last)).read_text().splitlines()[:2]
    named = {**json.loads(entry), "path": f"file://{running}"}
    (log / str(last + 1)).write_text(f"{version}\n{json.dumps(named)}")
    later = copy_of(path, "later")
    second.sweep()
    assert (running.exists(), killed.exists(), later.exists()) == (True, False, True)
    third = leftovers()
    third.look()
    third.sweep()
    assert (running.exists(), later.exists()) == (True, False)
    assert values(spark, path) == [b"a", b"a", b"b", b"b"]


def test_a_path_that_looks_encoded_is_a_path(spark: "SparkSession", job: Job, fill: Fill, tmp_path: Path) -> None:
    path = tmp_path / "100%41 %2525 ä+#"
    fill("odd-path", b"a", b"b")
    land(spark, job, path, "odd-path")
    left = copy_of(path, "left")
    fill("odd-path", b"c")
    land(spark, job, path, "odd-path")
    assert values(spark, path) == [b"a", b"b", b"c"]
    assert not left.exists()


def test_what_a_first_run_left_that_never_finished_a_batch_is_deleted_when_the_second_has(
    spark: "SparkSession", job: Job, fill: Fill, tmp_path: Path
) -> None:
    path = tmp_path / "table"
    fill("first-batch", b"a")
    land(spark, job, path, "first-batch")
    copy_of(path, "left")
    for each in (path / "_spark_metadata").iterdir():  # as if it had been killed before its batch was done
        each.unlink()
    (path / "_spark_metadata").rmdir()
    for each in (path / "_ottla" / "checkpoint" / "commits").iterdir():
        each.unlink()
    land(spark, job, path, "first-batch")
    assert values(spark, path) == [b"a"]
    assert len(list(path.rglob("part-*.parquet"))) == 1


def test_batches_are_counted_by_the_names_in_a_log() -> None:
    assert last_batch(["9", "10", ".10.crc", "9.compact", ".11.ab.tmp"]) == 10
    assert last_batch(["9.compact"]) == 9
    assert last_batch([]) == -1


@pytest.mark.parametrize(
    ("noted", "there", "named", "left"),
    [
        ("ab", "abc", "bc", "a"),
        ("ab", "bc", "c", "b"),
        ("ab", "ab", "xy", ""),  # called otherwise
        ("ab", "ab", "", "ab"),
    ],
)
def test_only_noted_files_that_are_not_named_are_left_over(noted: str, there: str, named: str, left: str) -> None:
    assert left_over(set(noted), set(there), set(named)) == set(left)


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///t/a%2541%20b", "file:/t/a%41 b"),
        ("file:/t/a", "file:/t/a"),
        ("hdfs://host:8020/t/a%25", "hdfs://host:8020/t/a%"),
        ("s3a://bucket/a", "s3a://bucket/a"),
    ],
)
def test_uris_are_decoded_once(uri: str, path: str) -> None:
    assert path_of(uri) == path
