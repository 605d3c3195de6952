"""Directories that brokers wrote, Ottla's and Apache's, live: the rows are what a consumer gets."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pytest

from ottla.clients.sync import Producer
from ottla.spark.log_table.piece_planner import plan_tasks
from ottla.spark.log_table.piece_reader import read_pieces
from ottla.spark.log_table.table_options import parse_table_options
from ottla.testing import Broker
from tests.oracle import Oracle
from tests.spark.log_table.topic_contents import COLUMNS, Contents, consumed, fill, make_topic, send, table_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TOPIC = "everything"


class Live(NamedTuple):
    """A broker that runs, its directory, and what consumers get of TOPIC."""

    bootstrap: str
    directory: Path
    contents: Contents


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    directory = tmp_path_factory.mktemp("live")
    with Broker(directory=directory) as broker, ExitStack() as stack:
        fill(broker.bootstrap_servers, TOPIC, open_transactions=stack)
        yield Live(broker.bootstrap_servers, directory, consumed(broker.bootstrap_servers, TOPIC))


def read(directory: Path, **options: str) -> "pa.Table":
    parsed = parse_table_options({"path": str(directory), **options})
    return pa.Table.from_batches([batch for task in plan_tasks(parsed) for batch in read_pieces(task.pieces, parsed)])


def load(spark: "SparkSession", directory: Path, **options: str) -> "DataFrame":
    return spark.read.format("ottla-log").options(**options).load(str(directory))


def check(directory: Path, contents: Contents) -> None:
    table = read(directory, topics=TOPIC)
    assert table.column("error").null_count == len(table)
    records = table.filter(pa.compute.invert(table.column("isControl")))
    assert table_rows(records) == contents.everything
    controls = table.filter(table.column("isControl")).column("controlType").to_pylist()
    assert sorted(controls) == ["ABORT"] * 6 + ["COMMIT"] * 6
    assert set(records.column("codec").to_pylist()) == {"none", "gzip", "snappy", "lz4", "zstd"}
    committed = read(directory, topics=TOPIC, isolationLevel="read_committed", columns=",".join(COLUMNS))
    assert table_rows(committed) == contents.committed


def test_a_directory_of_ottla_holds_what_consumers_get(live: Live) -> None:
    check(live.directory, live.contents)


def test_a_directory_of_apache_holds_what_consumers_get(oracle: Oracle, tmp_path: Path) -> None:
    properties = {
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.num.partitions": "1",
        "transaction.state.log.min.isr": "1",
    }
    with oracle.broker(tmp_path, properties) as broker:
        with ExitStack() as stack:
            fill(broker.bootstrap, TOPIC, open_transactions=stack)
            contents = consumed(broker.bootstrap, TOPIC)
            check(broker.log_dir, contents)  # while it runs, with preallocated indexes
        broker.kill()
        table = read(broker.log_dir, topics=TOPIC)
        assert table.column("error").null_count == len(table)


def test_spark_reads_a_live_directory_in_parallel(live: Live, spark: "SparkSession") -> None:
    frame = load(spark, live.directory, topics=TOPIC, maxPartitionBytes="20000")
    assert frame.rdd.getNumPartitions() > 1
    assert frame.columns[:8] == list(COLUMNS)
    records = frame.where("not isControl").select(*COLUMNS).toArrow()
    assert table_rows(records) == live.contents.everything
    committed = load(spark, live.directory, topics=TOPIC, isolationLevel="read_committed", columns=",".join(COLUMNS))
    assert table_rows(committed.toArrow()) == live.contents.committed
    assert frame.groupBy("codec").count().count() == 5


def test_reading_while_the_broker_writes_sees_whole_batches_only(live: Live, spark: "SparkSession") -> None:
    stop = threading.Event()
    topic = "growing"

    def write() -> None:
        number = 0
        with Producer(bootstrap_servers=live.bootstrap, linger_ms=1) as producer:
            while not stop.wait(0.001):
                for _ in range(10):
                    send(producer, topic, "growing", number % 1000)
                    number += 1

    make_topic(live.bootstrap, topic)
    with Producer(bootstrap_servers=live.bootstrap) as producer:
        for number in range(2):
            send(producer, topic, "growing", number)
    writer = threading.Thread(target=write)
    writer.start()
    try:
        seen = 0
        for _ in range(2):
            rows = load(spark, live.directory, topics=topic, columns="partition,offset,error").collect()
            assert all(row.error is None for row in rows)
            for partition in (0, 1):
                offsets = sorted(row.offset for row in rows if row.partition == partition)
                assert offsets == list(range(len(offsets)))
            assert len(rows) >= seen
            seen = len(rows)
    finally:
        stop.set()
        writer.join()
    assert seen > 2


def test_damage_is_a_row_in_spark(tmp_path: Path, live: Live, spark: "SparkSession") -> None:
    source = sorted((live.directory / f"{TOPIC}-0").glob("*.log"))[0]
    raw = bytearray(source.read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    target = tmp_path / f"{TOPIC}-0"
    target.mkdir()
    (target / source.name).write_bytes(raw[:-7])
    frame = load(spark, tmp_path).where("error is not null").select("position", "batchBytes", "error", "topic")
    rows: list[Any] = sorted(frame.collect())
    assert len(rows) == 2
    assert rows[0].position <= len(raw) // 2 < rows[0].position + rows[0].batchBytes
    assert rows[1].position + rows[1].batchBytes == len(raw) - 7
    assert rows[1].error.startswith("torn: ")
    assert {row.topic for row in rows} == {TOPIC}


def test_a_topic_without_records_has_no_rows(live: Live, spark: "SparkSession") -> None:
    make_topic(live.bootstrap, "nothing-in-it")
    for options in ({"topics": "nothing-in-it"}, {"topicsPattern": "no such.*"}):
        assert load(spark, live.directory, **options).collect() == []


@pytest.mark.parametrize(("options", "message"), [({"column": "x"}, "is 'columns' meant"), ({}, "cannot be read")])
def test_a_mistake_is_told_before_anything_runs(
    tmp_path: Path, spark: "SparkSession", options: dict[str, str], message: str
) -> None:
    from pyspark.errors import AnalysisException

    with pytest.raises(AnalysisException, match=message):
        load(spark, tmp_path / "nowhere", **options).count()
