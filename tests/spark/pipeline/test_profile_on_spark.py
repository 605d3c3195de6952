"""The profile of a topic with a hot key, in slices, on Spark; a run that was stopped goes on."""

from pathlib import Path
from typing import TYPE_CHECKING

from ottla.clients.sync import Producer
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.profile import ProfileRequest, profile_on
from ottla.spark.pipeline.profile_command import pictures_of, write_pictures
from ottla.spark.pipeline.sliced_run import RunStore
from ottla.spark.pipeline.stop_request import StopRequest
from ottla.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAID: list[str] = []
START_MS = 1_790_000_000_000


def test_a_hot_key_is_found_in_slices(spark: "SparkSession", job: Job, broker: Broker, tmp_path: Path) -> None:
    with Producer(bootstrap_servers=broker.bootstrap_servers, linger_ms=5) as producer:
        for number in range(300):
            is_hot = number % 10 < 8
            producer.send(
                "skewed",
                None if number % 100 == 99 else b"x" * (20 if is_hot else 500),
                key=b"hot" if is_hot else None if number % 50 == 9 else b"k%d" % number,
                partition=0 if is_hot else 1,
                timestamp_ms=START_MS + number * 100,
            )
    store = RunStore(spark, str(job.checkpoint))
    request = ProfileRequest("skewed", slice_records=130)

    class Once(StopRequest):
        asked = 0

        @property
        def is_set(self) -> bool:
            self.asked += 1
            return self.asked > 1

    assert profile_on(spark, job, request, store, Once(), say=SAID.append) is None
    found = profile_on(spark, job, request, store, StopRequest(), say=SAID.append)
    assert found is not None
    assert "resuming the profile" in SAID[-1]
    assert found.records == 300
    assert [each.records for each in found.partitions] == [240, 60]
    assert sum(each.null_keys for each in found.partitions) == 6
    assert sum(each.tombstones for each in found.partitions) == 3
    assert found.distinct_keys == 55
    assert (found.keys[0].key, found.keys[0].records, found.keys[0].partition) == (b"hot", 240, 0)
    assert found.sizes == {5: 240, 9: 57, 3: 2, 2: 1}
    assert sum(found.over_time()) == 300
    assert found.scale.start_ms == START_MS
    assert min(found.over_time()) > 0
    assert any("key hot alone has 80 %" in finding for finding in found.findings)
    page, picture = paths = pictures_of(str(tmp_path / "out" / "skewed"), say=SAID.append)
    write_pictures(found, paths)
    assert "key hot alone" in Path(page).read_text()
    assert Path(picture).read_bytes().startswith(b"\x89PNG")
    assert not list(Path(str(job.checkpoint)).glob("*.json"))


def test_an_empty_topic_has_a_profile(spark: "SparkSession", job: Job, broker: Broker) -> None:
    from ottla.clients.admin.topics import NewTopic
    from ottla.clients.sync import Admin

    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        admin.create_topics([NewTopic("nothing", num_partitions=3)])
    store = RunStore(spark, str(job.checkpoint))
    found = profile_on(spark, job, ProfileRequest("nothing"), store, StopRequest(), say=SAID.append)
    assert found is not None
    assert found.findings == ["the topic is empty"]
