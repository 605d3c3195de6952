"""``ottla dump-log`` beside kafka-dump-log.sh, on the files of Ottla's and of Apache's brokers, whole and damaged."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.cli.terminal import Piped, run_in_terminal, run_inside, run_piped
from tests.clients.conftest import PROPERTIES
from tests.interop.cluster import CLUSTERS, new_node
from tests.node import Node
from tests.oracle import Oracle

MAIN = "org.apache.kafka.tools.DumpLogSegments"
TOPIC = "dumped"
SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")


@pytest.fixture(scope="module", params=CLUSTERS)
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A node of this module's own, since its files are looked at."""
    directory = tmp_path_factory.mktemp("dumped")
    with new_node(request.param, request, directory, {**PROPERTIES, "log.index.interval.bytes": "200"}) as node:
        yield node


@pytest.fixture(scope="module")
def files(kafka: Node, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the node wrote, after it was shut down: plain, compressed and transactional records, offsets, metadata."""
    server = ("--bootstrap-server", kafka.bootstrap)
    settings = ("--partitions", "1", "--config", "segment.bytes=1048576", "--config", "retention.ms=-1")
    assert run_piped("topics", "--create", "--topic", TOPIC, *settings, *server).code == 0
    for codec in ("none", "gzip", "zstd"):
        producer = Producer({"bootstrap.servers": kafka.bootstrap, "compression.type": codec, "batch.num.messages": 3})
        for number in range(10):
            headers: list[tuple[str, str | bytes | None]] = [("a", b"1"), ("b", None)] if number % 2 else []
            producer.produce(TOPIC, f"{codec} {number} ü", str(number) if number else None, headers=headers)
        assert producer.flush(60) == 0
    for end in ("commit_transaction", "abort_transaction"):
        producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "dumper"})
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce(TOPIC, b"in a transaction")
        producer.flush(30)
        getattr(producer, end)(30)
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "dumpers", "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])
    assert consumer.consume(5, 30)
    consumer.commit(offsets=[TopicPartition(TOPIC, 0, 5)], asynchronous=False)
    consumer.close()
    kafka.stop()
    copied = tmp_path_factory.mktemp("copied") / "data"
    shutil.copytree(kafka.log_dir, copied)
    return copied


def _ours(*arguments: str) -> Piped:
    return run_inside("dump-log", *arguments)


def _same(oracle: Oracle, *arguments: str) -> str:
    """Both print the same and end with the same code; returns what ours printed."""
    ours, theirs = _ours(*arguments), oracle.run(MAIN, *arguments)
    assert (ours.code, ours.stdout.splitlines()) == (theirs.returncode, theirs.stdout.splitlines())
    if ours.code == 0:
        assert sorted(ours.stderr.splitlines()) == sorted(theirs.stderr.splitlines())
    return ours.stdout


def _named(directory: Path, suffixes: tuple[str, ...] = SUFFIXES) -> str:
    return ",".join(str(path) for path in sorted(directory.iterdir()) if path.suffix in suffixes)


@pytest.mark.oracle
@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--deep-iteration"],
        ["--print-data-log"],
        ["--print-data-log", "--skip-record-metadata"],
        ["--max-bytes", "500"],
        ["--verify-index-only"],
        ["--index-sanity-check"],
        ["--value-decoder-class"],
    ],
    ids=" ".join,
)
def test_a_partition(files: Path, oracle: Oracle, options: list[str]) -> None:
    printed = _same(oracle, "--files", _named(files / f"{TOPIC}-0"), *options)
    assert {line.rpartition(".")[2] for line in printed.splitlines() if line.startswith("Dumping ")} == {
        suffix.removeprefix(".") for suffix in SUFFIXES
    }


@pytest.mark.oracle
def test_coordinators(files: Path, oracle: Oracle) -> None:
    whole = ""
    for directory in sorted(files.glob("__consumer_offsets-*")):
        whole += _same(oracle, "--files", _named(directory, (".log",)), "--offsets-decoder")
    assert '"group":"dumpers","topic":"dumped","partition":0' in whole
    assert '"protocolType":"consumer"' in whole
    assert '"subscription":{"topics":["dumped"]' in whole
    for directory in sorted(files.glob("__transaction_state-*")):
        whole += _same(oracle, "--files", _named(directory, (".log",)), "--transaction-log-decoder")
    assert '"transactionalId":"dumper"' in whole


@pytest.mark.oracle
def test_metadata(files: Path, oracle: Oracle) -> None:
    directory = files / "__cluster_metadata-0"
    printed = _same(oracle, "--files", _named(directory, (".log", ".checkpoint")), "--cluster-metadata-decoder")
    assert '{"type":"TOPIC_RECORD","version":0,"data":{"name":"dumped"' in printed
    assert "LeaderChange: {" in printed
    bootstrap = files / "bootstrap.checkpoint"
    if bootstrap.exists():
        assert "KRaft bootstrap snapshot" in _same(oracle, "--files", str(bootstrap), "--cluster-metadata-decoder")


@pytest.mark.oracle
class TestDamage:
    @pytest.fixture
    def partition(self, files: Path, tmp_path: Path) -> Path:
        """A copy to damage."""
        return Path(shutil.copytree(files / f"{TOPIC}-0", tmp_path / f"{TOPIC}-0"))

    def test_an_index_that_disagrees(self, partition: Path, oracle: Oracle) -> None:
        index = partition / "00000000000000000000.index"
        data = bytearray(index.read_bytes())
        data[3] += 1
        index.write_bytes(data)
        _same(oracle, "--files", str(index))
        assert "Mismatches in :" in _ours("--files", str(index)).stderr
        assert _ours("--files", str(index), "--json").code == 1

    def test_a_time_index_that_disagrees(self, partition: Path, oracle: Oracle) -> None:
        index = partition / "00000000000000000000.timeindex"
        data = bytearray(index.read_bytes())
        data[7] ^= 1
        index.write_bytes(data)
        _same(oracle, "--files", str(index))
        assert "Found timestamp mismatch in :" in _ours("--files", str(index)).stderr

    def test_a_cut_and_a_flipped_log(self, partition: Path, oracle: Oracle) -> None:
        log = partition / "00000000000000000000.log"
        data = bytearray(log.read_bytes())
        data[70] ^= 0xFF
        log.write_bytes(data[:-3])
        printed = _same(oracle, "--files", str(log))
        assert "isvalid: false" in printed
        assert "invalid bytes at the end of 00000000000000000000.log" in printed

    def test_offsets_with_a_gap(self, partition: Path, oracle: Oracle) -> None:
        log = partition / "00000000000000000000.log"
        data = log.read_bytes()
        log.write_bytes(data[int.from_bytes(data[8:12], "big") + 12 :])
        _same(oracle, "--files", str(log), "--deep-iteration")
        assert "  -1 is followed by " in _ours("--files", str(log), "--deep-iteration").stderr

    def test_zeros(self, partition: Path, oracle: Oracle) -> None:
        log = partition / "00000000000000000000.log"
        log.write_bytes(log.read_bytes() + bytes(100))
        ours, theirs = _ours("--files", str(log)), oracle.run(MAIN, "--files", str(log))
        assert ours.code == theirs.returncode == 1
        assert "smaller than minimum record overhead" in ours.stderr
        assert "smaller than minimum record overhead" in theirs.stderr

    def test_other_files(self, partition: Path, oracle: Oracle) -> None:
        (partition / "x.txt").write_text("x")
        _same(oracle, "--files", f"{partition / 'x.txt'},{partition / 'nosuffix'}")
        snapshot = next(partition.glob("*.snapshot"))
        snapshot.write_bytes(snapshot.read_bytes()[:-1])
        assert _ours("--files", str(snapshot)).code == oracle.run(MAIN, "--files", str(snapshot)).returncode == 0

    def test_missing_ones(self, partition: Path, oracle: Oracle) -> None:
        for name in ("00000000000000000099.log", "00000000000000000099.index", "word.log"):
            arguments = ("--files", str(partition / name))
            ours, theirs = _ours(*arguments), oracle.run(MAIN, *arguments)
            assert ours.code == theirs.returncode == 1, theirs
            assert ours.stderr.count("\n") == 1
        ours = _ours()
        assert ours.code == oracle.run(MAIN, fresh=True).returncode == 1
        assert 'Missing required argument "[files]"' in ours.stderr


def test_json(files: Path) -> None:
    done = _ours("--files", _named(files / f"{TOPIC}-0"), "--print-data-log", "--json")
    documents = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.code == 0
    records = [record for each in documents for record in each.get("records", ())]
    assert records[0]["payload"] == "none 0 ü"
    assert records[1]["headerKeys"] == ["a", "b"]
    assert any("endTxnMarker: ABORT" in record.get("control", "") for record in records)
    assert any(each["file"].endswith(".index") and "position" in each for each in documents)


def test_in_a_terminal(files: Path) -> None:
    log = str(files / f"{TOPIC}-0" / "00000000000000000000.log")
    screen = run_in_terminal("dump-log", "--files", log, "--print-data-log", columns=1000)
    assert screen.code == 0
    assert "| offset: 0 CreateTime: " in screen.text
    assert "payload: none 0 ü" in screen.text
    hexadecimal = run_piped("dump-log", "--files", log, "--value-decoder-class", "hex")
    assert "payload: 6e6f6e65203020c3bc" in hexadecimal.stdout
    unknown = run_piped("dump-log", "--files", log, "--value-decoder-class", "a.B")
    assert "There is no decoder a.B here" in unknown.stderr
