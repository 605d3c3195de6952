"""What a command can refuse without Spark it refuses before Spark starts, and no refused command creates a topic."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.cli.main import main
from ottla.clients.admin.topics import NewTopic
from ottla.clients.sync import Admin, Producer
from ottla.spark.pipeline import engine
from ottla.spark.pipeline.landing import Landing
from ottla.testing import Broker
from tests.spark.conftest import needs_arrow_functions

RUN = """
from ottla.spark.pipeline import Avro, Table, Topic, pipeline

@pipeline(source=SOURCE, sink=Topic("out"), dead_letters=LETTERS)
def copied(frame):
    return frame
"""


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch, broker: Broker, tmp_path: Path) -> Iterator[None]:
    """Spark is not to be started, and the topics are the same afterwards. Two are there, one of them is empty."""

    def started(*_: object, **__: object) -> None:
        pytest.fail("Spark was started")

    monkeypatch.setattr(engine, "spark_session", started)
    monkeypatch.chdir(tmp_path)
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        there = admin.list_topics(include_internal=True)
        if "full" not in there:
            admin.create_topics([NewTopic("full", num_partitions=4), NewTopic("empty")])
            with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
                producer.send("full", b'{"n": 1}')
            there = admin.list_topics(include_internal=True)
        yield
        assert set(admin.list_topics(include_internal=True)) == set(there)


def test_a_table_with_the_description_of_another_landing(
    no_spark: None, broker: Broker, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    checkpoint = f"{tmp_path}/t/_ottla/checkpoint"
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        cluster = str(admin.describe_cluster().cluster_id)
    earlier = Landing("full", "parquet", "json", "day", None, checkpoint, schema="{}", cluster=cluster)
    (tmp_path / "t" / "_ottla").mkdir(parents=True)
    (tmp_path / "t" / "_ottla" / "landing.json").write_text(earlier.document())
    line = ["pipeline", "land", "--bootstrap-server", broker.bootstrap_servers, "--topic", "full", "--to", "t"]
    assert main([*line, "--partition-by", "hour", "--format", "parquet"]) == 1
    assert "the partitioning of the table" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("land --topic fulll --to t", "topic fulll does not exist"),
        ("land --topic full --to occupied", "holds file.txt and was not made by this command"),
        ("land --topic full --to avro.py", "avro.py is a file: land in a directory"),
        ("land --topic empty --to t", "topic empty has no records to infer a schema from"),
        pytest.param(
            "land --topic full --to t --value avro --schema {}",
            "the Avro schema is not that of a record",
            marks=needs_arrow_functions,
        ),
        ("backfill --topic new --table nowhere", "there is no table at "),
        ("backfill --topic new --table vacant", "there is no table at "),
        ("verify --topic full --table nowhere", "there is no table at "),
        ("verify --topic full --table occupied", "was not made by `ottla pipeline land`: give --value"),
        ("verify --topic full --table occupied --value n --dead-letters gone", "topic gone does not exist"),
        ("mirror --topic full,gone --prefix x.", "topic gone does not exist"),
        ("mirror --topic full --to empty", "topic empty has 2 partitions and full has 4"),
        ("profile --topic gone", "topic gone does not exist"),
        pytest.param(
            "run avro.py", "pipeline copied, topic full: the Avro schema is not JSON", marks=needs_arrow_functions
        ),
        ("run table.py", "there is no table at nowhere"),
        ("run avro.py --only other", "declares no pipeline other; it has copied"),
    ],
)
def test_what_is_refused(
    no_spark: None, broker: Broker, tmp_path: Path, capfd: pytest.CaptureFixture[str], line: str, words: str
) -> None:
    (tmp_path / "vacant").mkdir()
    (tmp_path / "occupied").mkdir()
    (tmp_path / "occupied" / "file.txt").write_text("x")
    for name, source, letters in (
        ("avro.py", 'Topic("full", Avro("oops"))', '"out.dead"'),
        ("table.py", 'Table("nowhere")', None),
    ):
        (tmp_path / name).write_text(RUN.replace("SOURCE", source).replace("LETTERS", str(letters)))
    assert main(["pipeline", *line.split(), "--bootstrap-server", broker.bootstrap_servers]) == 1
    said = capfd.readouterr().err
    assert words in said
    assert said.count("\n") == 1
