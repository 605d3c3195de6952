"""Log directories to rows, without Spark: what is found, how it is split, and that damage is a row."""

import os
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

from ottla.clients.consumer.arrow_rows import RowBuilder
from ottla.common.errors import InvalidConfigError, KafkaError
from ottla.records.batch import RecordBatch
from ottla.records.builder import build_batch, seal_batch
from ottla.records.record import Header, SimpleRecord, decode_records
from ottla.spark.log_table.log_files import find_files
from ottla.spark.log_table.piece_planner import plan_pieces, plan_tasks
from ottla.spark.log_table.piece_reader import read_pieces
from ottla.spark.log_table.table_columns import TABLE_COLUMNS
from ottla.spark.log_table.table_options import TableOptions, parse_table_options
from tests.spark.log_table.damaged_logs import BASE_OFFSET, Damage, batches, damage_segment, damages

Row = dict[str, Any]


def read(path: Path | str, **options: str) -> list[Row]:
    parsed = parse_table_options({"path": str(path), **options})
    return [
        row for task in plan_tasks(parsed) for batch in read_pieces(task.pieces, parsed) for row in batch.to_pylist()
    ]


def write_segment(directory: Path, base_offset: int, data: bytes, index_every: int = 0) -> Path:
    """A record file with its offset index: an entry each so many batches."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{base_offset:020d}.log"
    path.write_bytes(data)
    if index_every:
        entries, position, count = b"", 0, 0
        while position < len(data):
            batch = RecordBatch(data, position)
            if position and count % index_every == 0:
                entries += struct.pack(">II", batch.last_offset - base_offset, position)
            position += batch.size_in_bytes
            count += 1
        path.with_suffix(".index").write_bytes(entries + bytes(24))
    return path


def some_batches(count: int, base_offset: int = 0, value: bytes = b"v" * 50) -> bytes:
    return b"".join(
        build_batch([SimpleRecord(1000 + n, b"k%d" % n, value)] * 3, base_offset=base_offset + 3 * n)
        for n in range(count)
    )


def expected(data: bytes) -> list[tuple[Any, ...]]:
    batch = RecordBatch(data)
    return [
        (record.offset, record.key, record.value, [dict(header._asdict()) for header in record.headers] or None)
        for record in decode_records(batch)
    ]


@given(batches(), damages)
def test_all_records_of_untouched_batches_are_rows(
    tmp_path_factory: pytest.TempPathFactory, raw: list[bytes], harm: list[Damage]
) -> None:
    segment = damage_segment(raw, harm)
    directory = tmp_path_factory.mktemp("log") / "t-0"
    write_segment(directory, BASE_OFFSET, segment.data)
    columns = ",".join(name for name in TABLE_COLUMNS if name != "timestamp")  # Python has no year 200,000
    rows = read(directory, columns=columns)
    by_position: dict[int, list[Row]] = {}
    for row in rows:
        by_position.setdefault(row["position"], []).append(row)
    for position, data in segment.untouched.items():
        got = [(row["offset"], row["key"], row["value"], row["headers"]) for row in by_position[position]]
        assert got == expected(data)
        batch = RecordBatch(data)
        assert {row["isControl"] for row in by_position[position]} == {batch.is_control}
        assert {row["producerId"] for row in by_position[position]} == {batch.producer_id}
    if not segment.damaged:
        assert all(row["error"] is None for row in rows)


@pytest.mark.parametrize("kernels", [True, False])
def test_a_row_tells_all_about_its_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernels: bool) -> None:
    if not kernels:
        monkeypatch.setattr("ottla.spark.log_table.table_rows.builder_class", lambda: RowBuilder)
    headers = (Header("h", b"1"), Header("none", None))
    data = build_batch(
        [SimpleRecord(1_700_000_000_123, None, b"v", headers)],
        base_offset=5,
        leader_epoch=4,
        compression=4,
        producer_id=9,
        producer_epoch=2,
        base_sequence=11,
    )
    path = write_segment(tmp_path / "my-topic-3", 5, bytes(data))
    (row,) = read(tmp_path)
    timestamp = row.pop("timestamp")
    assert timestamp.isoformat() == "2023-11-14T22:13:20.123000+00:00"
    assert row == {
        "key": None,
        "value": b"v",
        "topic": "my-topic",
        "partition": 3,
        "offset": 5,
        "timestampType": 0,
        "headers": [{"key": "h", "value": b"1"}, {"key": "none", "value": None}],
        "error": None,
        "file": str(path),
        "segment": 5,
        "position": 0,
        "batchBytes": len(data),
        "baseOffset": 5,
        "leaderEpoch": 4,
        "codec": "zstd",
        "producerId": 9,
        "producerEpoch": 2,
        "baseSequence": 11,
        "isTransactional": False,
        "isControl": False,
        "controlType": None,
    }


def test_only_the_columns_that_are_asked_for(tmp_path: Path) -> None:
    write_segment(tmp_path / "t-0", 0, some_batches(1))
    (row, *_) = read(tmp_path, columns="error, OFFSET")
    assert list(row) == ["offset", "error"]


@pytest.mark.parametrize(
    ("what", "payload", "count", "codec"),
    [
        ("zstd", b"not zstd at all", 1, 4),
        ("Unknown compression type id: 5", b"x", 1, 5),
        ("nvalid record s", b"\x0e" + bytes(8), 1, 0),
        ("record count", bytes(10), 1 << 30, 0),
        ("record count", bytes(10), -1, 0),
    ],
)
@pytest.mark.parametrize("kernels", [True, False])
def test_records_that_cannot_be_read_are_a_row_with_their_batch(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
    payload: bytes,
    count: int,
    codec: int,
    kernels: bool,
) -> None:
    if not kernels:
        monkeypatch.setattr("ottla.spark.log_table.table_rows.builder_class", lambda: RowBuilder)
    bad = seal_batch(
        payload,
        records_count=count,
        base_offset=3,
        last_offset_delta=0,
        leader_epoch=1,
        attributes=codec,
        base_timestamp=0,
        max_timestamp=0,
        producer_id=8,
        producer_epoch=0,
        base_sequence=0,
    )
    write_segment(tmp_path / "t-0", 0, some_batches(1) + bytes(bad) + some_batches(1, 4))
    rows = read(tmp_path)
    assert [row["offset"] for row in rows if row["error"] is None] == [0, 1, 2, 4, 5, 6]
    (error,) = [row for row in rows if row["error"] is not None]
    assert what in error["error"]
    assert (error["offset"], error["producerId"], error["batchBytes"], error["value"]) == (3, 8, len(bad), None)


def test_a_large_segment_is_split_where_the_index_says_and_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    data = some_batches(4000, value=b"v" * 1000)
    write_segment(tmp_path / "t-0", 0, data, index_every=7)
    write_segment(tmp_path / "t-0", 12_000, some_batches(10, 12_000), index_every=7)
    options = parse_table_options({"path": str(tmp_path), "maxPartitionBytes": str(1 << 20)})
    (partition,) = find_files(options)
    pieces = list(plan_pieces(partition, 1 << 20, options.max_batch_bytes))
    assert len(pieces) == len(data) // (1 << 20) + 1
    assert len({piece.start for piece in pieces}) == len(pieces) - 1
    tasks = plan_tasks(options)
    assert len(tasks) >= 8
    offsets = [
        row["offset"] for task in tasks for batch in read_pieces(task.pieces, options) for row in batch.to_pylist()
    ]
    assert offsets == list(range(12_030))


def test_an_index_that_lies_splits_nothing(tmp_path: Path) -> None:
    path = write_segment(tmp_path / "t-0", 0, some_batches(3000, value=b"v" * 1000), index_every=7)
    index = bytearray(path.with_suffix(".index").read_bytes())
    for at in range(4, len(index), 8):
        (position,) = struct.unpack_from(">I", index, at)
        struct.pack_into(">I", index, at, position + 1 if position else 0)
    path.with_suffix(".index").write_bytes(index)
    options = parse_table_options({"path": str(tmp_path), "maxPartitionBytes": str(1 << 20)})
    assert [len(task.pieces) for task in plan_tasks(options)] == [1]
    assert len(read(tmp_path)) == 9000


def test_an_index_that_points_into_a_record_splits_nothing(tmp_path: Path) -> None:
    inner = bytes(build_batch([SimpleRecord(1, b"k", b"inner")], base_offset=500))
    outer = [
        bytes(build_batch([SimpleRecord(1, b"k", b"x" * 300_000 + inner + b"x" * 300_000)], base_offset=offset))
        for offset in range(10)
    ]
    data = b"".join(outer)
    path = write_segment(tmp_path / "t-0", 0, data)
    entries, start = b"", 0
    for offset, raw in enumerate(outer):
        entries += struct.pack(">II", offset, start + raw.index(inner))
        start += len(raw)
    path.with_suffix(".index").write_bytes(entries)
    options = parse_table_options({"path": str(tmp_path), "maxPartitionBytes": str(1 << 20)})
    assert [len(task.pieces) for task in plan_tasks(options)] == [1]
    assert [row["offset"] for row in read(tmp_path, columns="offset")] == list(range(10))


def test_small_segments_share_a_task(tmp_path: Path) -> None:
    for partition in range(20):
        write_segment(tmp_path / f"t-{partition}", 0, some_batches(2))
    assert len(plan_tasks(parse_table_options({"path": str(tmp_path)}))) < 20


def test_topics_are_chosen(tmp_path: Path) -> None:
    for topic in ("orders", "orders-old", "__consumer_offsets"):
        write_segment(tmp_path / f"{topic}-0", 0, some_batches(1))
    assert {row["topic"] for row in read(tmp_path)} == {"orders", "orders-old", "__consumer_offsets"}
    assert {row["topic"] for row in read(tmp_path, topics="orders,other")} == {"orders"}
    assert {row["topic"] for row in read(tmp_path, topicsPattern="orders.*")} == {"orders", "orders-old"}


def test_deleted_topics_can_be_had_again(tmp_path: Path) -> None:
    write_segment(tmp_path / "t-0", 0, some_batches(1))
    write_segment(tmp_path / f"gone-1.{'ab' * 16}-delete", 0, some_batches(2))
    assert {row["topic"] for row in read(tmp_path)} == {"t"}
    rows = read(tmp_path, include="deleted")
    assert len([row for row in rows if (row["topic"], row["partition"]) == ("gone", 1)]) == 6


def test_a_file_or_a_partition_alone_can_be_read(tmp_path: Path) -> None:
    first = write_segment(tmp_path / "t-0", 0, some_batches(1))
    write_segment(tmp_path / "t-0", 3, some_batches(2, 3))
    assert len(read(first)) == 3
    assert len(read(tmp_path / "t-0")) == 9
    assert len(read(tmp_path / "t-*")) == 9
    assert len(read(f"{first},{tmp_path / 't-0'}")) == 12


@pytest.mark.parametrize(
    ("name", "message"),
    [("missing", "cannot be read: No such file"), ("empty", "no log directory"), ("odd", "not named TOPIC-PARTITION")],
)
def test_a_path_without_a_log_is_told_in_a_sentence(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "empty").mkdir()
    write_segment(tmp_path / "odd", 0, some_batches(1))
    with pytest.raises(InvalidConfigError, match=message):
        read(tmp_path / name)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "Option 'path' must be given"),
        ({"path": "x", "topic": "t"}, "is 'topics' meant"),
        ({"path": "x", "columns": "ofset"}, "no column 'ofset'"),
        ({"path": "x", "columns": " , "}, "names none"),
        ({"path": "x", "isolationLevel": "serializable"}, "read_uncommitted, read_committed"),
        ({"path": "x", "include": "swap"}, "some of deleted, stray, future"),
        ({"path": "x", "topicsPattern": "["}, "no regular expression"),
        ({"path": "x", "topicsPattern": "a", "topics": "b"}, "not both"),
        ({"path": "x", "maxPartitionBytes": "0"}, "at least 1"),
        ({"paths": "x"}, "a list in JSON"),
    ],
)
def test_bad_options_are_told_in_a_sentence(options: dict[str, str], message: str) -> None:
    with pytest.raises(KafkaError, match=message):
        parse_table_options(options)


def test_paths_of_load_with_a_list() -> None:
    assert parse_table_options({"paths": '["/a", "/b,c"]'}).paths == ("/a", "/b,c")
    assert parse_table_options({"path": "file:///a, /b"}) == TableOptions(("/a", "/b"))


def test_a_segment_that_waits_for_its_deletion_is_still_read(tmp_path: Path) -> None:
    path = write_segment(tmp_path / "t-0", 0, some_batches(2))
    options = parse_table_options({"path": str(tmp_path)})
    tasks = plan_tasks(options)
    path.rename(f"{path}.deleted")
    assert _count(tasks, options) == 6


def test_a_segment_that_the_cleaner_wrote_anew_is_read_by_offset(tmp_path: Path) -> None:
    data = some_batches(3000, value=b"v" * 1000)
    path = write_segment(tmp_path / "t-0", 0, data, index_every=5)
    other = write_segment(tmp_path / "t-0", 9000, some_batches(1, 9000))
    options = parse_table_options({"path": str(tmp_path), "maxPartitionBytes": str(1 << 20)})
    tasks = plan_tasks(options)
    assert len([piece for task in tasks for piece in task.pieces]) > 2
    swap = path.with_suffix(".log.swap")
    kept = b"".join(
        build_batch([SimpleRecord(1, b"k", b"kept")], base_offset=offset) for offset in (0, 100, 5000, 8999, 9002)
    )
    swap.write_bytes(kept)
    os.replace(swap, path)
    other.unlink()
    rows = [row for task in tasks for batch in read_pieces(task.pieces, options) for row in batch.to_pylist()]
    assert [row["offset"] for row in rows] == [0, 100, 5000, 8999, 9002]
    assert all(row["error"] is None for row in rows)


def test_a_file_that_is_gone_is_a_row(tmp_path: Path) -> None:
    path = write_segment(tmp_path / "t-0", 0, some_batches(2))
    options = parse_table_options({"path": str(tmp_path)})
    tasks = plan_tasks(options)
    path.unlink()
    (row,) = [row for task in tasks for batch in read_pieces(task.pieces, options) for row in batch.to_pylist()]
    assert row["error"] == "the file was deleted before it was read"


def test_what_was_torn_when_it_was_planned_and_is_whole_now_is_read(tmp_path: Path) -> None:
    data = some_batches(3)
    path = write_segment(tmp_path / "t-0", 0, data[:-10])
    options = parse_table_options({"path": str(tmp_path)})
    tasks = plan_tasks(options)
    path.write_bytes(data + some_batches(1, 9))
    assert _count(tasks, options) == 9


def test_a_time_that_spark_has_no_number_for_is_no_error(tmp_path: Path) -> None:
    data = build_batch([SimpleRecord(1 << 62, b"k", b"v"), SimpleRecord(5, b"k", b"v")])
    write_segment(tmp_path / "t-0", 0, bytes(data))
    assert [row["error"] for row in read(tmp_path, columns="offset,error")] == [None, None]


def test_the_schema_is_the_same_with_and_without_rows_of_damage(tmp_path: Path) -> None:
    data = some_batches(2)
    write_segment(tmp_path / "t-0", 0, data[:-5])
    options = parse_table_options({"path": str(tmp_path)})
    batches = [batch for task in plan_tasks(options) for batch in read_pieces(task.pieces, options)]
    assert len(batches) == 2
    assert batches[0].schema == batches[1].schema
    assert batches[0].schema.names == list(TABLE_COLUMNS)
    assert batches[0].schema.field("headers").type == pa.list_(
        pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
    )


def _count(tasks: list[Any], options: TableOptions) -> int:
    rows = [row for task in tasks for batch in read_pieces(task.pieces, options) for row in batch.to_pylist()]
    assert all(row["error"] is None for row in rows)
    return len(rows)
