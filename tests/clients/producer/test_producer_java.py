"""Keys and record bytes beside the classes of Apache's own producer (tests/java/ProducerFacts.java)."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ottla.clients.producer.batch_builder import BatchBuilder
from ottla.clients.producer.partitioner import murmur2, partition_for_key, to_positive
from ottla.clients.producer.producer_batch import ProducerBatch
from ottla.common.topic_partition import TopicPartition
from ottla.records.batch import RecordBatch
from ottla.records.compression import Compression, compression_name
from ottla.records.record import SimpleRecord, decode_records
from tests.oracle import Oracle
from tests.records.record_strategies import blobs, headers

SOURCE = Path(__file__).parents[2] / "java" / "ProducerFacts.java"
ONE_RUN = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
PRODUCER = (4000, 3, 17)
sent_records = st.builds(
    SimpleRecord, st.integers(1_700_000_000_000, 1_700_000_004_000) | st.integers(0, 1 << 62), blobs, blobs, headers
)


def ask(oracle: Oracle, tmp_path: Path, lines: Sequence[str]) -> list[str]:
    """Apache's answer to each line."""
    questions = tmp_path / "questions"
    questions.write_text("\n".join(lines) + "\n")
    done = oracle.run_source(SOURCE, questions)
    assert done.returncode == 0, done.stderr
    answers = done.stdout.splitlines()
    assert len(answers) == len(lines)
    return answers


def text(data: bytes | None) -> str:
    return "-" if data is None else data.hex()


def record_text(record: SimpleRecord) -> str:
    pairs = "".join(f",{header.key.encode().hex()}={text(header.value)}" for header in record.headers)
    return f"{record.timestamp},{text(record.key)},{text(record.value)}{pairs}"


def our_batch(records: Sequence[SimpleRecord], limit_bytes: int, codec: Compression) -> tuple[int, bytes]:
    """How many fit, and the bytes that we would send."""
    builder = BatchBuilder(limit_bytes, 1 << 30, 1.05 if codec else 0.0)
    taken = 0
    for record in records:
        if builder.append(*record) < 0:
            break
        taken += 1
    batch = ProducerBatch(TopicPartition("facts", 0), builder, 0, 0, codec)
    batch.set_producer_state(*PRODUCER, transactional=False)
    batch.close(None)
    return taken, bytes(batch.records())


@pytest.mark.oracle
@ONE_RUN
@given(st.lists(st.tuples(st.binary(max_size=100), st.integers(1, 1000)), min_size=1, max_size=200))
def test_keys_go_where_java_sends_them(oracle: Oracle, tmp_path: Path, keys: list[tuple[bytes, int]]) -> None:
    answers = ask(oracle, tmp_path, [f"key|{key.hex()}|{partitions}" for key, partitions in keys])
    for (key, partitions), answer in zip(keys, answers, strict=True):
        hashed = murmur2(key)
        assert f"{hashed} {to_positive(hashed)} {partition_for_key(key, partitions)}" == answer, key


@pytest.mark.oracle
@ONE_RUN
@given(
    st.lists(st.tuples(st.lists(sent_records, min_size=1, max_size=40), st.integers(62, 4000)), min_size=1, max_size=20)
)
def test_batches_are_javas_byte_for_byte_and_full_at_the_same_record(
    oracle: Oracle, tmp_path: Path, cases: list[tuple[list[SimpleRecord], int]]
) -> None:
    producer = "|".join(map(str, PRODUCER))
    questions = [f"batch|none|{size}|{producer}|{';'.join(map(record_text, records))}" for records, size in cases]
    for (records, size), answer in zip(cases, ask(oracle, tmp_path, questions), strict=True):
        taken, batch = our_batch(records, size, Compression.NONE)
        assert f"{taken} {batch.hex()}" == answer


@pytest.mark.oracle
@pytest.mark.parametrize("codec", list(Compression)[1:])
@settings(ONE_RUN, max_examples=8)
@given(cases=st.lists(st.lists(sent_records, min_size=1, max_size=40), min_size=1, max_size=20))
def test_compressed_batches_hold_what_javas_hold(
    oracle: Oracle, tmp_path: Path, codec: Compression, cases: list[list[SimpleRecord]]
) -> None:
    producer = "|".join(map(str, PRODUCER))
    name = compression_name(codec)
    questions = [f"batch|{name}|1000000|{producer}|{';'.join(map(record_text, records))}" for records in cases]
    for records, answer in zip(cases, ask(oracle, tmp_path, questions), strict=True):
        taken, ours = our_batch(records, 1_000_000, codec)
        count, _, theirs_hex = answer.partition(" ")
        theirs = bytes.fromhex(theirs_hex)
        assert taken == int(count) == len(records)
        assert list(decode_records(RecordBatch(ours))) == list(decode_records(RecordBatch(theirs)))
        # All that the codec does not decide: everything but length, CRC and payload.
        assert ours[:8] + ours[12:17] + ours[21:61] == theirs[:8] + theirs[12:17] + theirs[21:61]
