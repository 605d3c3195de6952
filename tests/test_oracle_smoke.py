"""The oracle itself works: Apache's broker writes, its tools read, and our parsing of what they print is complete."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apache import driver
from tests.oracle import ApacheBroker, Oracle

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
RECORDS: list[tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]]]] = [
    (b"k0", b"v0", [("h", b"1"), ("h", None), ("", b"")]),
    (None, b"v1" * 500, []),
    (b"k2", None, []),
    (b"", b"", []),
    (b"\x00\xff\n", b"\r\n key: payload: \xfe", [("ünïcode", b"\x00")]),
]
TIMESTAMP = 1_700_000_000_000


@pytest.fixture(scope="module")
def written(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheBroker]:
    """A broker that took batches in every codec, a committed and an aborted transaction, and was stopped cleanly."""
    operations = []
    for codec in CODECS:
        operations += [driver.create_topic(codec), driver.open_producer(codec, compression=codec)]
        for _ in range(2):
            operations += [
                driver.send(codec, codec, value, key=key, headers=headers, timestamp=TIMESTAMP + number)
                for number, (key, value, headers) in enumerate(RECORDS)
            ]
            operations.append(driver.flush(codec))
    operations += [driver.create_topic("txn"), driver.open_producer("t", transactional_id="t")]
    for end in (driver.commit, driver.abort):
        operations += [
            driver.begin("t"),
            driver.send("t", "txn", b"first"),
            driver.send("t", "txn", b"second"),
            end("t"),
        ]
    operations.append(driver.consume("txn", isolation="read_committed"))
    with oracle.broker(tmp_path_factory.mktemp("apache")) as broker:
        answers = broker.drive(operations)
        assert [answer["offsets"] for answer in answers[:2]] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
        assert [record.value for record in driver.consumed(answers[-1])] == [b"first", b"second"]
        consumed = broker.consume("zstd")
        assert [(r.key, r.value, list(r.headers)) for r in consumed] == RECORDS * 2
        broker.stop()
        yield broker


@pytest.mark.parametrize("codec", CODECS)
def test_a_deep_dump_gives_back_what_was_produced(oracle: Oracle, written: ApacheBroker, codec: str) -> None:
    dump = oracle.dump_directory(written.partition_dir(codec))
    assert dump.complaints == []
    assert dump.gaps == []
    assert [(b.base_offset, b.last_offset, b.record_count, b.compression) for b in dump.batches] == [
        (0, 4, 5, codec),
        (5, 9, 5, codec),
    ]
    assert [(r.key, r.value) for r in dump.records] == [(key, value) for key, value, _ in RECORDS] * 2
    assert [r.header_keys for r in dump.records][4:6] == [("ünïcode",), ("h", "h", "")]
    assert [r.timestamp for r in dump.records] == [TIMESTAMP + number for number in range(5)] * 2
    assert [r.sequence for r in dump.records] == list(range(10))


def test_transactions_show_markers_aborted_index_and_producer_state(oracle: Oracle, written: ApacheBroker) -> None:
    dump = oracle.dump_directory(written.partition_dir("txn"))
    assert dump.complaints == []
    assert [(b.record_count, b.is_transactional, b.is_control) for b in dump.batches] == [
        (2, True, False),
        (1, True, True),
    ] * 2
    assert [r.control_type for r in dump.records] == [None, None, "COMMIT", None, None, "ABORT"]
    [aborted] = [entry for file in dump.files.values() for entry in file.aborted_txns]
    assert (aborted.first_offset, aborted.last_offset, aborted.last_stable_offset) == (3, 5, 6)
    [producer] = [entry for file in dump.files.values() for entry in file.producers]
    assert producer.producer_id == aborted.producer_id
    assert producer.current_txn_first_offset is None


def test_the_metadata_log_and_its_snapshot_are_understood(oracle: Oracle, written: ApacheBroker) -> None:
    dump = oracle.dump_directory(written.partition_dir("__cluster_metadata"), extra=["--cluster-metadata-decoder"])
    assert dump.complaints == []
    kinds = {record.control_type for record in dump.records}
    assert kinds >= {"LeaderChange", "SnapshotHeader", "SnapshotFooter", "KRaftVersion", "KRaftVoters"}
    topics = [record for record in dump.records if '"TOPIC_RECORD"' in str(record.value)]
    assert len(topics) == len(CODECS) + 2  # ours, "txn" and __transaction_state


def test_damage_is_a_complaint(oracle: Oracle, written: ApacheBroker, tmp_path: Path) -> None:
    log = written.partition_dir("none") / "00000000000000000000.log"
    content = bytearray(log.read_bytes())
    cut = tmp_path / log.name
    cut.write_bytes(content[:-1])
    assert "invalid bytes at the end" in " ".join(oracle.dump_log([cut]).complaints)
    content[-1] ^= 1
    cut.write_bytes(content)
    assert "invalid batch" in " ".join(oracle.dump_log([cut], deep=False).complaints)
    assert oracle.dump_log([tmp_path / "00000000000000000007.log"]).complaints


def test_a_stopped_broker_starts_again_with_its_data(oracle: Oracle, written: ApacheBroker) -> None:
    written.start()
    assert len(written.consume("lz4")) == 2 * len(RECORDS)
    written.kill()


def test_java_sources_run_against_kafkas_classes(oracle: Oracle, tmp_path: Path) -> None:
    source = tmp_path / "Hello.java"
    source.write_text(
        "import org.apache.kafka.common.utils.AppInfoParser;\n"
        "public class Hello { public static void main(String[] args) throws Exception {\n"
        "  System.out.print(AppInfoParser.getVersion() + args[0]);\n"
        "  for (int c; (c = System.in.read()) > 0; ) System.err.print((char) c);\n"
        "} }\n"
    )
    done = oracle.run_source(source, "!", stdin="in")
    assert (done.returncode, done.stdout, done.stderr) == (0, "4.3.1!", "in")
