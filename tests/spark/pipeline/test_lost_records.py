"""Records that are gone before they were read: what is told in a command's own words, and how each goes on."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ottla.clients.sync import Admin
from ottla.common.topic_partition import TopicPartition
from ottla.spark.pipeline.failure import PipelineFailedError, failure_sentence, is_gone
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.land import land_on
from ottla.spark.pipeline.landing import Landing
from ottla.spark.pipeline.mirror import Mirror, mirror_on
from ottla.spark.pipeline.profile import ProfileRequest, profile_on
from ottla.spark.pipeline.sliced_run import RunStore
from ottla.spark.pipeline.stop_request import StopRequest
from ottla.spark.pipeline.verify import verify_on
from ottla.spark.pipeline.verify_command import VerifyRequest, settled_verification
from ottla.spark.scan.offset_range import OffsetRange
from ottla.spark.scan.scan_errors import DataLossError
from ottla.spark.source.data_loss import report_losses
from tests.spark.pipeline.conftest import Fill, read_topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TRACE = "Traceback (most recent call last):\n  …\nottla.spark.scan.scan_errors.{name}: {error}\n\nSQLSTATE: 38000"
WANTED = OffsetRange("t", 0, 3, 9)


def silent(_message: str) -> None: ...


def delete_before(servers: str, topic: str, offset: int) -> None:
    with Admin(bootstrap_servers=servers) as admin:
        admin.delete_records({TopicPartition(topic, partition): offset for partition in range(2)})


class AfterOne(StopRequest):
    """A stop that is asked for when one unit is done."""

    asked = 0

    @property
    def is_set(self) -> bool:
        self.asked += 1
        return self.asked > 1


@pytest.mark.parametrize(
    ("lose", "words"),
    [
        (lambda: DataLossError.of_start(WANTED, 3, 5), "from offset 3 on are gone, its log begins at 5 now"),
        (lambda: DataLossError.of_end(WANTED, 3, 2), "or the topic was made anew"),
        (lambda: DataLossError.of_topic(WANTED, 3), "does not exist any more"),
        (lambda: report_losses(["t-0 begins with offset 5"], fail=True), "t-0 begins with offset 5: records may"),
    ],
)
def test_a_loss_is_told_with_the_flag_that_commands_have(lose: Callable[[], Any], words: str) -> None:
    try:
        error = lose()
    except DataLossError as raised:
        error = raised
    text = RuntimeError(TRACE.format(name="DataLossError", error=error))
    assert words in failure_sentence(text)
    assert "failOnDataLoss" not in failure_sentence(text)
    assert failure_sentence(text).endswith("; --skip-lost goes on with what is there")
    assert is_gone(text)


def test_a_partition_that_is_gone_is_no_loss_that_could_be_passed_over() -> None:
    text = RuntimeError(TRACE.format(name="UnknownTopicOrPartitionError", error="t-1 does not exist"))
    assert is_gone(text)
    assert failure_sentence(text) == "t-1 does not exist"
    assert not is_gone(RuntimeError("the disk is full"))


def test_a_comparison_whose_records_are_gone_begins_afresh_at_the_next_run(
    spark: "SparkSession", job: Job, fill: Fill
) -> None:
    for topic in ("lost-a", "lost-b"):
        fill(topic, *(b"%d" % n for n in range(40)))
    store = RunStore(spark, str(job.checkpoint))

    def run(stop: StopRequest, **more: Any) -> Any:
        here = replace(job, **more)
        work = settled_verification(spark, here, VerifyRequest("lost-a", "lost-b", slice_records=8))
        return verify_on(spark, here, work, store, stop, say=silent)

    assert run(AfterOne()) is None
    for topic in ("lost-a", "lost-b"):
        delete_before(job.bootstrap_servers, topic, 10)
    with pytest.raises(PipelineFailedError, match=r"--skip-lost goes on .*; what this run has done is forgotten"):
        run(StopRequest())
    assert not list(Path(str(job.checkpoint)).glob("*.json"))
    found = run(StopRequest())
    assert (found.is_same, found.left.records) == (True, 20)

    assert run(AfterOne()) is None
    delete_before(job.bootstrap_servers, "lost-a", 15)
    found = run(StopRequest(), skip_lost=True)
    assert found.only_left < found.only_right


def test_a_profile_whose_records_are_gone_begins_afresh_at_the_next_run(
    spark: "SparkSession", job: Job, fill: Fill
) -> None:
    fill("lost-c", *(b"%d" % n for n in range(20)))
    store = RunStore(spark, str(job.checkpoint))
    request = ProfileRequest("lost-c", slice_records=8)
    assert profile_on(spark, job, request, store, AfterOne(), say=silent) is None
    delete_before(job.bootstrap_servers, "lost-c", 9)
    with pytest.raises(PipelineFailedError, match="the next begins afresh"):
        profile_on(spark, job, request, store, StopRequest(), say=silent)
    found = profile_on(spark, job, request, store, StopRequest(), say=silent)
    assert found is not None
    assert found.records == 2


def test_a_mirror_goes_on_with_what_is_there_if_it_is_told_to(spark: "SparkSession", job: Job, fill: Fill) -> None:
    work = Mirror({"lost-d": "lost-d.copy"})

    def run(job: Job) -> None:
        mirror_on(spark, job, work, StopRequest(), say=silent)

    fill("lost-d", b"0", b"1")
    run(job)
    fill("lost-d", *(b"%d" % n for n in range(2, 8)))
    delete_before(job.bootstrap_servers, "lost-d", 3)
    with pytest.raises(PipelineFailedError, match=r"; --skip-lost goes on with what is there$"):
        run(job)
    run(replace(job, skip_lost=True))
    assert sorted(each.value for each in read_topic(job.bootstrap_servers, "lost-d.copy")) == [
        *(b"0", b"1", b"6", b"7")
    ]


def test_a_landing_goes_on_with_what_is_there_if_it_is_told_to(
    spark: "SparkSession", job: Job, fill: Fill, tmp_path: Path
) -> None:
    path = tmp_path / "table"
    landing = Landing("lost-e", "parquet", "raw", "none", None, f"{path}/_ottla/checkpoint")

    def run(job: Job) -> None:
        arguments: dict[str, Any] = {"options": {}, "dead_letters": None, "every": "1 second"}
        land_on(spark, job, landing, str(path), StopRequest(), say=silent, **arguments)

    fill("lost-e", b"0", b"1")
    run(job)
    fill("lost-e", *(b"%d" % n for n in range(2, 8)))
    delete_before(job.bootstrap_servers, "lost-e", 3)
    with pytest.raises(PipelineFailedError, match=r"; --skip-lost goes on with what is there$"):
        run(job)
    run(replace(job, skip_lost=True))
    assert sorted(bytes(row.value) for row in spark.read.parquet(str(path)).collect()) == [b"0", b"1", b"6", b"7"]
