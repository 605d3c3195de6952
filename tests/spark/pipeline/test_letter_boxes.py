"""Letter boxes: who shares one, and what their names, by which a later run finds how far it was, depend on."""

import re
from typing import Any

import pytest

from ottla.spark.pipeline import Avro, Json, Pipeline, Raw, Table, Topic, pipeline
from ottla.spark.pipeline.letter_boxes import WHICH_RECORDS, letter_boxes
from ottla.spark.source.source_options import OPTION_NAMES

AVRO = '{"type": "record", "name": "r", "fields": [{"name": "n", "type": "int"}]}'


def reading(source: Topic, name: str = "counts", dead_letters: str | None = "bad") -> Pipeline:
    @pipeline(source=source, sink=Topic("out"), dead_letters=dead_letters, name=name)
    def same(frame: Any) -> Any:
        return frame

    return same


def clicks(schema: Any = "user string", **more: Any) -> Topic:
    return Topic("clicks", Json(schema), **more)


def names(*pipelines: Pipeline) -> list[str]:
    return [box.name for box in letter_boxes(pipelines)]


def test_a_box_is_found_again_whoever_reads() -> None:
    one, two, other = reading(clicks(), "one"), reading(clicks(), "two"), reading(clicks("user int"), "other")
    shared, others = names(one, two, other)
    assert shared != others
    assert names(two) == names(reading(clicks(), "renamed")) == [shared]
    assert names(other, two, one) == [others, shared]
    # It is on disk: another digest would write all dead letters again.
    assert shared == "clicks.dead-letters.2e84ae772d"


@pytest.mark.parametrize(
    "source",
    [
        clicks("user  string\n"),
        clicks(options={"startingOffsets": "earliest"}),
        clicks(options={"maxOffsetsPerTrigger": "10", "failOnDataLoss": "false"}),
        clicks(options={"kafka.sasl.jaas.config": "of this month", "commitOffsetsToGroup": "g"}),
    ],
)
def test_what_changes_no_letter_changes_no_name(source: Topic) -> None:
    assert names(reading(source)) == names(reading(clicks()))
    assert len(names(reading(clicks()), reading(source))) == 1


@pytest.mark.parametrize(
    "other",
    [
        reading(clicks("user int")),
        reading(clicks(options={"startingOffsets": "latest"})),
        reading(clicks(options={"startingoffsets": "latest"})),
        reading(clicks(options={"startingTimestamp": "1"})),
        reading(clicks(options={"kafka.isolation.level": "read_uncommitted"})),
        reading(clicks(bootstrap_servers="there:9092")),
        reading(clicks(), dead_letters="worse"),
        reading(Topic("views", Json("user string"))),
        reading(Topic("clicks", Avro(AVRO))),
        reading(Topic("clicks", Avro(AVRO, confluent=True))),
    ],
)
def test_what_is_read_otherwise_or_goes_elsewhere_has_its_own_box(other: Pipeline) -> None:
    mine, its = letter_boxes([reading(clicks()), other])
    assert mine.name != its.name
    assert (its.source, its.dead_letters) == (other.sources[0], other.dead_letters)


def test_a_schema_of_sparks_is_a_schema_too() -> None:
    from pyspark.sql.types import LongType, StructType

    one, same, other = (StructType().add(name, LongType()) for name in ("n", "n", "m"))
    assert names(reading(clicks(one))) == names(reading(clicks(same)))
    assert names(reading(clicks(one))) != names(reading(clicks(other)))


def test_where_nothing_is_bad_or_bad_records_stop_the_pipeline_there_is_no_box() -> None:
    table = pipeline(source=[Table("t"), clicks()], sink=Topic("out"), dead_letters="bad")(lambda frame, _: frame)
    assert names(reading(Topic("clicks", Raw())), reading(clicks(), dead_letters=None)) == []
    assert names(table) == names(reading(clicks()))


def test_a_name_is_a_directory_and_a_line_even_of_the_longest_topic() -> None:
    (one,), (other,) = names(reading(Topic("t" * 249, Json("n int")))), names(reading(Topic("t" * 248, Json("n int"))))
    assert one != other
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,150}", one)


def test_of_every_option_of_the_source_it_is_known_whether_it_says_which_records() -> None:
    how = {
        *("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay", "failOnDataLoss", "includeHeaders"),
        *("columns", "minPartitions", "maxRecordsPerPartition", "minRecordsPerPartition", "groupIdPrefix"),
        *("commitOffsetsToGroup", "kafkaConsumer.pollTimeoutMs", "fetchOffset.numRetries"),
        *("fetchOffset.retryIntervalMs", "partition.metadata.cache.ttl.ms"),
    }
    of_batches = {"endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp"}
    assert WHICH_RECORDS | how | of_batches == {*OPTION_NAMES, "kafka.bootstrap.servers", "kafka.isolation.level"}
