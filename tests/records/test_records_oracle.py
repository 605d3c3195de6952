"""Records, batches and codecs beside Apache Kafka's own classes (tests/java/RecordFacts.java)."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

import pytest

from ottla.common.errors import InvalidRecordError
from ottla.records.batch import RecordBatch, TimestampType
from ottla.records.builder import build_batch
from ottla.records.compression import Compression, compress, compression_name, decompress
from ottla.records.control import ControlRecordType
from ottla.records.record import Header, Record, decode_records
from tests.oracle import Oracle
from tests.records.raw_batches import raw_batch

SOURCE = Path(__file__).parents[1] / "java" / "RecordFacts.java"
MIXED = b"".join(index.to_bytes(4, "big") * 7 for index in range(9000))
NOISE = Random(3).randbytes(70_000)
CODECS = list(Compression)[1:]


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


def header_text(headers: Iterable[Header]) -> str:
    return "".join(f",{header.key.encode().hex()}={text(header.value)}" for header in headers)


def read_text(batch: bytes | bytearray) -> str:
    """What RecordFacts prints for read|<hex>."""
    try:
        return ";".join(
            f"{record.offset},{record.timestamp},{record.sequence},{text(record.key)},{text(record.value)}"
            f"{header_text(record.headers)}"
            for record in decode_records(RecordBatch(batch))
        )
    except InvalidRecordError:
        return "ERR"


def random_records(chance: Random, base_offset: int, control: bool) -> list[Record]:
    def blob() -> bytes | None:
        return chance.choice([None, b"", chance.randbytes(chance.randrange(300)), b"same" * chance.randrange(40)])

    records, offset = [], base_offset + chance.choice([0, 0, 3])
    now = chance.choice([0, 1_700_000_000_000, (1 << 62)])
    for _ in range(chance.choice([1, 2, 5, 200])):
        key = ControlRecordType(chance.randrange(7)).record_key if control else blob()
        timestamp = chance.choice([now, now + chance.randrange(10_000), chance.randrange(1 << 40), -1])
        headers = tuple(
            Header(chance.choice(["", "k", "ключ", "𝄞"]), blob()) for _ in range(chance.choice([0, 0, 1, 3]))
        )
        records.append(Record(offset, timestamp, key, blob(), headers))
        offset += chance.choice([1, 1, 1, 2, 100, 1_000_000])
    return records


def random_batch(chance: Random, codec: Compression) -> tuple[str, bytearray]:
    """A question that has Apache build a batch, and the batch as we build it."""
    base_offset = chance.choice([0, 7, 1 << 33, (1 << 62) + 5])
    control = chance.random() < 0.1
    producer = chance.choice([(-1, -1, -1), (4000, 3, 17), ((1 << 62), 32767, (1 << 31) - 2)])
    transactional = producer[0] >= 0 and chance.random() < 0.5
    log_append_time = chance.choice([None, None, 1_700_000_000_777])
    horizon = chance.choice([None, None, None, 0, 1_800_000_000_000])
    epoch = chance.choice([-1, 0, 9])
    records = random_records(chance, base_offset, control)
    last_offset = chance.choice([None, None, records[-1].offset + 50])
    timestamp_type = TimestampType.CREATE_TIME if log_append_time is None else TimestampType.LOG_APPEND_TIME
    fields: list[object] = ["build", base_offset, epoch, compression_name(codec), ""]
    fields += ["CreateTime" if log_append_time is None else "LogAppendTime", *producer]
    fields += [str(transactional).lower(), str(control).lower()]
    fields += ["" if value is None else value for value in (horizon, log_append_time, last_offset)]
    fields.append(
        ";".join(
            f"{record.offset},{record.timestamp},{text(record.key)},{text(record.value)}{header_text(record.headers)}"
            for record in records
        )
    )
    batch = build_batch(
        records,
        base_offset=base_offset,
        leader_epoch=epoch,
        compression=codec,
        timestamp_type=timestamp_type,
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=producer[2],
        transactional=transactional,
        control=control,
        delete_horizon_ms=horizon,
        log_append_time_ms=log_append_time,
        last_offset=last_offset,
    )
    return "|".join(map(str, fields)), batch


def test_uncompressed_batches_are_apaches_byte_for_byte(oracle: Oracle, tmp_path: Path) -> None:
    chance = Random(1)
    cases = [random_batch(chance, Compression.NONE) for _ in range(300)]
    answers = ask(oracle, tmp_path, [question for question, _ in cases])
    for (question, ours), apaches in zip(cases, answers, strict=True):
        assert ours.hex() == apaches, question


@pytest.mark.parametrize("codec", CODECS)
def test_compressed_batches_are_read_by_both(oracle: Oracle, tmp_path: Path, codec: Compression) -> None:
    chance = Random(int(codec))
    cases = [random_batch(chance, codec) for _ in range(60)]
    built = ask(oracle, tmp_path, [question for question, _ in cases])
    read = ask(oracle, tmp_path, [f"read|{ours.hex()}" for _, ours in cases])
    for (question, ours), apaches, apache_reads in zip(cases, built, read, strict=True):
        theirs = bytes.fromhex(apaches)
        RecordBatch(theirs).ensure_valid()
        assert read_text(theirs) == read_text(ours) == apache_reads, question
        # All that the codec does not decide is the same: everything but length, CRC and payload.
        assert theirs[:8] + theirs[12:17] + theirs[21:61] == bytes(ours[:8] + ours[12:17] + ours[21:61])


def test_both_take_and_refuse_the_same_damaged_records(oracle: Oracle, tmp_path: Path) -> None:
    chance = Random(5)
    cases = []
    for _ in range(1500):
        _, batch = random_batch(chance, Compression.NONE)
        view = RecordBatch(batch)
        if view.records_count > 5:
            continue
        payload = bytearray(view.payload)
        for _ in range(chance.choice([1, 1, 2, 5])):
            payload[chance.randrange(min(len(payload), 40))] = chance.choice(
                [0, 1, 2, 3, 0x7F, 0x80, 0xFF, chance.randrange(256)]
            )
        if chance.random() < 0.3:
            del payload[chance.randrange(len(payload)) :]
        count = view.records_count + chance.choice([0, 0, 0, 0, 1, -1])
        attributes = chance.choice([0, 0, 0x08])
        # Without sequences: for negative offset deltas, which no log accepts, Apache's overflow.
        cases.append(bytes(raw_batch(bytes(payload), count=count, attributes=attributes)))
    answers = ask(oracle, tmp_path, [f"read|{batch.hex()}" for batch in cases])
    refused = 0
    for damaged, answer in zip(cases, answers, strict=True):
        is_refused = answer.startswith("ERR")
        refused += is_refused
        assert read_text(damaged) == ("ERR" if is_refused else answer), damaged.hex()
        # A record length that does not end escapes Apache as the varint reader's own exception.
        assert not is_refused or answer.split()[1] in {"InvalidRecordException", "IllegalArgumentException"}
    assert 0.2 * len(cases) < refused < 0.95 * len(cases)


LEVELS: dict[Compression, tuple[int | None, ...]] = {
    Compression.GZIP: (None, -1, 1, 9),
    Compression.SNAPPY: (None,),
    Compression.LZ4: (None, 1, 9, 17),
    Compression.ZSTD: (None, -131072, 1, 19),
}


@pytest.mark.parametrize("codec", CODECS)
def test_streams_are_read_by_both(oracle: Oracle, tmp_path: Path, codec: Compression) -> None:
    samples = [b"", b"x", bytes(25), MIXED, NOISE, MIXED[: 1 << 16], MIXED[: (1 << 16) + 1], MIXED[: 1 << 15]]
    cases = [(data, level) for data in samples for level in LEVELS[codec]]
    name = compression_name(codec)
    compressed = ask(
        oracle, tmp_path, [f"compress|{name}|{'' if level is None else level}|{data.hex()}" for data, level in cases]
    )
    for (data, _), stream in zip(cases, compressed, strict=True):
        assert decompress(codec, bytes.fromhex(stream), len(data)) == data
    ours = [compress(codec, data, level) for data, level in cases]
    if codec is Compression.LZ4:  # the same frame, block for block, though compressors may choose other matches
        assert [bytes.fromhex(stream)[:7] for stream in compressed] == [stream[:7] for stream in ours]
    restored = ask(oracle, tmp_path, [f"decompress|{name}|{stream.hex()}" for stream in ours])
    assert restored == [data.hex() for data, _ in cases]


def test_raw_snappy_and_rows_of_streams_are_read_as_apache_reads_them(oracle: Oracle, tmp_path: Path) -> None:
    import cramjam

    streams = [
        (Compression.SNAPPY, bytes(cramjam.snappy.compress_raw(MIXED)), MIXED),
        (Compression.SNAPPY, compress(Compression.SNAPPY, MIXED) * 2, MIXED * 2),
        (Compression.GZIP, compress(Compression.GZIP, MIXED) * 2, MIXED * 2),
        (Compression.GZIP, compress(Compression.GZIP, MIXED) + b"trailing", MIXED),
        (Compression.ZSTD, compress(Compression.ZSTD, MIXED) * 2, MIXED * 2),
    ]
    answers = ask(
        oracle, tmp_path, [f"decompress|{compression_name(codec)}|{data.hex()}" for codec, data, _ in streams]
    )
    for (codec, data, expected), answer in zip(streams, answers, strict=True):
        assert answer == expected.hex()
        assert decompress(codec, data, 1 << 20) == expected
