"""The same command line on another cluster: a checkpoint that is of the first one is refused, not taken for done."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ottla.clients.sync import Producer
from ottla.spark.pipeline import Pipeline, Topic, pipeline
from ottla.spark.pipeline.backfill import Backfill, backfill_on
from ottla.spark.pipeline.declared_checks import check_declared
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.job_document import ChangedJobError
from ottla.spark.pipeline.land import land_on
from ottla.spark.pipeline.landing import Landing, LandingError
from ottla.spark.pipeline.mirror import Mirror, MirrorError, mirror_on
from ottla.spark.pipeline.preflight import cluster_id
from ottla.spark.pipeline.profile import ProfileRequest, profile_on
from ottla.spark.pipeline.record_mapping import RecordMapping
from ottla.spark.pipeline.running import run_on
from ottla.spark.pipeline.sliced_run import RunStore
from ottla.spark.pipeline.stop_request import StopRequest
from ottla.spark.pipeline.table_reading import TableSource
from ottla.spark.pipeline.verify import Verification
from ottla.spark.pipeline.verify_sides import TopicSide
from ottla.testing import Broker
from tests.spark.pipeline.conftest import Fill, read_topic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="module")
def other() -> Iterator[Broker]:
    with Broker(num_partitions=2, log_retention_ms=-1) as running:
        yield running


def silent(_message: str) -> None: ...


def moved(job: Job, servers: str | None = None) -> Job:
    """The same job by another address: of its own cluster, or of another."""
    servers = servers or f"{job.bootstrap_servers},{job.bootstrap_servers}"
    return replace(job, client={"bootstrap.servers": servers})


def test_a_backfill(spark: "SparkSession", job: Job, other: Broker, tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text('{"n":1}\n')
    work = Backfill(TableSource(str(tmp_path / "rows.json")), "filled", RecordMapping(value="n"))

    def run(here: Job) -> None:
        backfill_on(spark, here, work, StopRequest(), say=silent)

    run(job)
    run(moved(job))
    assert [record.value for record in read_topic(job.bootstrap_servers, "filled")] == [b"1"]
    there = moved(job, other.bootstrap_servers)
    words = rf"cluster was {cluster_id(job)} and is now {cluster_id(there)}; give another --checkpoint"
    with pytest.raises(ChangedJobError, match=words):
        run(there)
    run(replace(there, checkpoint=str(tmp_path / "another")))
    assert [record.value for record in read_topic(other.bootstrap_servers, "filled")] == [b"1"]


def test_a_mirror(spark: "SparkSession", job: Job, other: Broker, fill: Fill) -> None:
    fill("mirrored", b"1")
    there = moved(job, other.bootstrap_servers)

    def run(here: Job, target: Job, copy: str = "copy") -> None:
        work = Mirror({"mirrored": copy}, target)
        mirror_on(spark, here, work, StopRequest(), say=silent)

    run(job, there)
    run(moved(job), moved(there))
    with pytest.raises(ChangedJobError, match=r"to cluster was .* and is now .*; give another --checkpoint"):
        run(job, moved(job))
    with Producer(bootstrap_servers=other.bootstrap_servers) as producer:
        producer.send("mirrored", b"2")
    with pytest.raises(ChangedJobError, match="from cluster was"):
        run(there, there)
    # The same cluster by another name is the same cluster, in which a topic would be copied to itself for ever.
    with pytest.raises(MirrorError, match="topic mirrored would be mirrored to mirrored, which is read, too"):
        run(job, moved(job), "mirrored")


def test_a_landing(spark: "SparkSession", job: Job, other: Broker, fill: Fill, tmp_path: Path) -> None:
    path = tmp_path / "table"
    landing = Landing("landed", "parquet", "raw", "none", None, f"{path}/_ottla/checkpoint")

    def run(here: Job) -> None:
        arguments: dict[str, Any] = {"options": {}, "dead_letters": None, "every": "1 second"}
        land_on(spark, here, landing, str(path), StopRequest(), say=silent, **arguments)

    fill("landed", b"1")
    run(job)
    run(moved(job))
    with Producer(bootstrap_servers=other.bootstrap_servers) as producer:
        producer.send("landed", b"2")
    with pytest.raises(LandingError, match=rf"the source cluster of the table .* was {cluster_id(job)} and cannot"):
        run(moved(job, other.bootstrap_servers))


def passed_on(name: str) -> Pipeline:
    @pipeline(source=Topic(name), sink=Topic(f"{name}.out"), name=name)
    def same(frame: "DataFrame") -> "DataFrame":
        return frame.select("value")

    return same


def test_declared_pipelines(spark: "SparkSession", job: Job, other: Broker, fill: Fill) -> None:
    fill("declared", b"1")
    with Producer(bootstrap_servers=other.bootstrap_servers) as producer:
        producer.send("declared", b"2")

    def run(here: Job) -> None:
        check_declared([passed_on("declared")], here)
        run_on(spark, [passed_on("declared")], here, StopRequest(), say=silent)

    run(job)
    run(moved(job))
    with pytest.raises(ChangedJobError, match=r"/declared is of another job: clusters was .* and is now"):
        run(moved(job, other.bootstrap_servers))
    assert [record.value for record in read_topic(job.bootstrap_servers, "declared.out")] == [b"1"]


def test_a_profile_goes_on_by_another_address(spark: "SparkSession", job: Job, fill: Fill) -> None:
    fill("profiled", b"1", b"2")
    said: list[str] = []
    store, request = RunStore(spark, str(job.checkpoint)), ProfileRequest("profiled", slice_records=1)

    class AtOnce(StopRequest):
        is_set = True

    assert profile_on(spark, job, request, store, AtOnce(), say=said.append) is None
    assert profile_on(spark, moved(job), request, store, AtOnce(), say=said.append) is None
    assert said[-1].startswith("resuming the profile")


def test_a_comparison(job: Job, other: Broker) -> None:
    def wanted(of: Job) -> dict[str, Any]:
        side = TopicSide(of, "t", 10)
        return Verification(side, side, ("key",)).wanted()

    assert wanted(job) == wanted(moved(job))
    assert wanted(job) != wanted(moved(job, other.bootstrap_servers))
