"""What PySpark 4.0 and 4.1 lack, simulated: the tests of those themselves are `make test-spark-versions`."""

import subprocess
import sys
from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest
from pyspark.sql.types import ArrayType, BinaryType, StringType, StructType, TimestampType

from ottla.clients.admin.topics import NewTopic
from ottla.clients.sync import Admin, Producer
from ottla.spark.columns import DEFAULT_COLUMNS, schema_of
from ottla.spark.errors import SparkUnavailableError
from ottla.spark.pipeline.formats import Avro
from ottla.spark.pyspark_versions import StartlessReader, arrow_batches
from ottla.spark.source.stream_reader import make_stream_reader
from ottla.testing import Broker

TOPIC = "startless"
OLDER = """
import sys
import pyspark.sql.datasource, pyspark.sql.streaming
sys.modules["pyspark.sql.streaming.datasource"] = None
pyspark.sql.datasource.__dict__.pop("DataSourceStreamArrowWriter", None)
from pyspark.sql.types import StringType, StructType
from ottla.spark.columns import DEFAULT_COLUMNS, schema_of
from ottla.spark.data_source import OttlaDataSource
source = OttlaDataSource({"kafka.bootstrap.servers": "localhost:1", "subscribe": "t", "maxOffsetsPerTrigger": "7"})
reader = source.streamReader(schema_of(DEFAULT_COLUMNS))
assert type(reader).__name__ == "StartlessReader", reader
sink = OttlaDataSource({"kafka.bootstrap.servers": "localhost:1", "exactlyOnce": "true", "checkpointLocation": "/c"})
schema = StructType().add("value", StringType()).add("topic", StringType())
writer = sink.streamWriter(schema, False)
assert type(writer).__name__ == "RowWriter", writer
print("works")
"""


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with Broker(num_partitions=1) as broker:
        yield broker.bootstrap_servers


@pytest.fixture
def fill(servers: str) -> Iterator[Callable[[int], None]]:
    with Admin(bootstrap_servers=servers) as admin:
        admin.create_topics([NewTopic(TOPIC, 1, 1)])

        def send(count: int) -> None:
            with Producer(bootstrap_servers=servers) as producer:
                for _ in range(count):
                    producer.send(TOPIC, b"value")

        yield send
        admin.delete_topics([TOPIC])


@pytest.fixture
def reader(servers: str) -> Iterator[Callable[..., StartlessReader]]:
    made: list[StartlessReader] = []

    def make(**options: str) -> StartlessReader:
        where = {"kafka.bootstrap.servers": servers, "subscribe": TOPIC, "partition.metadata.cache.ttl.ms": "-1"}
        made.append(StartlessReader(make_stream_reader({**where, **options}, schema_of(DEFAULT_COLUMNS))))
        return made[-1]

    yield make
    for each in made:
        each.stop()


def at(offset: int) -> dict[str, dict[str, int]]:
    return {TOPIC: {"0": offset}}


def taken(reader: StartlessReader, start: int, end: int) -> list[int]:
    tasks = reader.partitions(at(start), at(end))
    return [offset for task in tasks for _, _, first, end in task.ranges for offset in range(first, end)]


def test_the_package_imports_without_what_came_with_4_2() -> None:
    done = subprocess.run([sys.executable, "-c", OLDER], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("works\n", 0), done.stderr


def test_a_new_query_takes_all_and_then_keeps_its_limit(
    reader: Callable[..., StartlessReader], fill: Callable[[int], None]
) -> None:
    fill(20)
    new = reader(startingOffsets="earliest", maxOffsetsPerTrigger="7")
    assert new.latestOffset() == at(20), "the run may be Trigger.AvailableNow's, which asks once"
    assert new.initialOffset() == at(0)
    assert taken(new, 0, 20) == list(range(20))
    fill(20)
    assert [new.latestOffset() for _ in range(4)] == [at(27), at(34), at(40), at(40)]


def test_a_query_that_is_taken_up_takes_all_and_then_keeps_its_limit(
    reader: Callable[..., StartlessReader], fill: Callable[[int], None]
) -> None:
    fill(20)
    again = reader(startingOffsets="earliest", maxOffsetsPerTrigger="7")
    assert taken(again, 3, 3) == [], "so Spark tells the last offsets of the log"
    assert again.latestOffset() == at(20), "the run may be Trigger.AvailableNow's"
    assert taken(again, 3, 20) == list(range(3, 20))
    fill(20)
    assert [again.latestOffset() for _ in range(2)] == [at(27), at(34)]


def test_a_query_from_the_end_takes_nothing_first_and_all_that_comes_then(
    reader: Callable[..., StartlessReader], fill: Callable[[int], None]
) -> None:
    fill(5)
    new = reader()
    assert new.latestOffset() == at(5)
    fill(2)
    assert new.initialOffset() == at(5)
    assert taken(new, 5, 5) == []
    assert new.latestOffset() == at(7), "at once, not one question later"


def test_a_first_batch_that_was_not_done_is_done_again_by_available_now(
    reader: Callable[..., StartlessReader], fill: Callable[[int], None]
) -> None:
    fill(5)
    assert reader().latestOffset() == at(5), "it crashes when this is logged"
    fill(2)
    again = reader()
    assert again.latestOffset() == at(7)
    assert taken(again, 5, 5) == [], "Spark tells what was logged"
    assert again.initialOffset() == at(7), "the end has moved"
    assert taken(again, 7, 5) == [], "and that is no loss"


def test_available_now_of_an_older_query_needs_no_start(
    reader: Callable[..., StartlessReader], fill: Callable[[int], None]
) -> None:
    fill(5)
    offsets = f'{{"{TOPIC}": {{"0": 1, "7": 1}}}}'
    assert reader(startingOffsets=offsets).latestOffset() == at(5)


def test_rows_become_the_same_arrow_as_in_4_2() -> None:
    header = StructType().add("key", StringType()).add("value", BinaryType())
    schema = StructType().add("value", BinaryType()).add("headers", ArrayType(header)).add("timestamp", TimestampType())
    rows = [(bytearray(b"a"), [("h", bytearray(b"1"))], None), (None, None, None)] * 8_000
    batches = list(arrow_batches(iter(rows), schema))
    assert [batch.num_rows for batch in batches] == [10_000, 6_000]
    assert batches[0].schema.field("value").type == pa.binary()
    assert batches[0].slice(0, 2).to_pylist() == [
        {"value": b"a", "headers": [{"key": "h", "value": b"1"}], "timestamp": None},
        {"value": None, "headers": None, "timestamp": None},
    ]
    assert list(arrow_batches([], schema)) == []


def test_avro_without_functions_of_arrow_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("pyspark.sql.pandas.functions.arrow_udf", raising=False)
    monkeypatch.setattr("pyspark.version.__version__", "4.0.2")
    with pytest.raises(SparkUnavailableError, match=r"Avro values needs PySpark 4\.1 or newer, and this is 4\.0\.2"):
        Avro('"string"').check()
