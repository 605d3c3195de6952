"""What ``send_batch`` makes of tables and lists: the same bytes as one by one, by every way there is."""

from collections.abc import Sequence
from itertools import cycle, pairwise
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ottla.clients.errors import SerializationError
from ottla.clients.producer import record_arrow
from ottla.clients.producer.batch_builder import record_size_upper_bound
from ottla.clients.producer.batch_record import BatchRecord
from ottla.clients.producer.kernel_loader import KERNELS
from ottla.clients.producer.partitioner import partition_for_key
from ottla.clients.producer.record_chunk import STICKY, RecordChunk, RowChunk
from ottla.clients.producer.record_columns import chunk_of
from ottla.clients.producer.record_rows import RowReader, take
from ottla.records.batch import HEADER_BYTES
from ottla.records.builder import SimpleRecord, build_batch
from ottla.records.record import Header

NOW_MS = 1_700_000_000_000
PARTITIONS = 5


class Row(NamedTuple):
    key: bytes | None
    value: bytes | None
    timestamp: int | None
    partition: int | None
    headers: tuple[tuple[str, bytes | None], ...]


some_bytes = st.one_of(
    st.none(), st.binary(max_size=12), st.integers(0, 300).map(lambda size: b"x" * size), st.just(b"y" * 9000)
)
some_text = st.text("aäß€𝄞", max_size=5)
rows_of = st.lists(
    st.builds(
        Row,
        some_bytes,
        some_bytes,
        st.one_of(st.none(), st.integers(NOW_MS - 200, NOW_MS + 200), st.integers(0, 1 << 62)),
        st.one_of(st.none(), st.integers(0, PARTITIONS - 1)),
        st.lists(st.tuples(some_text, st.one_of(st.none(), st.binary(max_size=4))), max_size=3).map(tuple),
    ),
    min_size=1,
    max_size=40,
)

BYTES_TYPES = (pa.binary(), pa.large_binary(), pa.binary_view(), pa.dictionary(pa.int16(), pa.binary()))
HEADER = pa.struct([("key", pa.string()), ("value", pa.binary())])
HEADERS_TYPES = (pa.list_(HEADER), pa.large_list(HEADER), pa.map_(pa.string(), pa.binary()))
TIMESTAMP_TYPES = (pa.int64(), pa.timestamp("ms"), pa.timestamp("ms", "UTC"))
PARTITION_TYPES = (pa.int32(), pa.int64(), pa.int8())


def table_of(rows: Sequence[Row], draw: Any) -> pa.Table:
    """A table of any types, as a slice of a larger one, in any number of pieces."""
    before = [Row(b"before", None, 7, 3, (("h", b"no"),))] * draw(st.integers(0, 9))
    after = [Row(None, b"after", None, None, ())] * draw(st.integers(0, 9))
    everything = [*before, *rows, *after]
    headers_type = draw(st.sampled_from(HEADERS_TYPES))
    headers: list[Any] = [
        list(row.headers) if pa.types.is_map(headers_type) else [{"key": key, "value": v} for key, v in row.headers]
        for row in everything
    ]
    nothing = draw(st.sampled_from([None, []]))
    columns = {
        "key": pa.array([row.key for row in everything], pa.binary()).cast(draw(st.sampled_from(BYTES_TYPES))),
        "value": pa.array([row.value for row in everything], pa.binary()).cast(draw(st.sampled_from(BYTES_TYPES))),
        "timestamp": pa.array([row.timestamp for row in everything], draw(st.sampled_from(TIMESTAMP_TYPES))),
        "partition": pa.array([row.partition for row in everything], draw(st.sampled_from(PARTITION_TYPES))),
        "headers": pa.array([row or nothing for row in headers], headers_type),
    }
    table = pa.table(columns)
    if draw(st.booleans()):
        cuts = sorted({0, len(everything), *draw(st.lists(st.integers(0, len(everything)), max_size=4))})
        pieces = [
            pa.table({name: column.combine_chunks() for name, column in zip(t.column_names, t.columns, strict=True)})
            for t in (table.slice(a, b - a) for a, b in pairwise(cuts))
        ]
        table = pa.concat_tables(pieces)
    return table.slice(len(before), len(rows))


def chunks_of(rows: Sequence[Row], table: pa.Table) -> dict[str, RecordChunk]:
    """The same records by every way."""
    keys, values = [row.key for row in rows], [row.value for row in rows]
    timestamps = [NOW_MS if row.timestamp is None else row.timestamp for row in rows]
    partitions = [STICKY if row.partition is None else row.partition for row in rows]
    headers = [tuple(Header(*header) for header in row.headers) for row in rows]
    (batch,) = record_arrow.slices(record_arrow.as_table(table), lambda: 1000, 1 << 30)
    return {
        "rows": RowChunk(keys, values, timestamps, list(partitions), headers),
        "columns": chunk_of(keys, values, timestamps, partitions, headers),
        "Arrow": record_arrow.column_chunk(batch, NOW_MS, STICKY),
        "Arrow by rows": record_arrow.plain_chunk(batch, NOW_MS, STICKY),
        "records": RowReader("t", None, None)
        .chunk([BatchRecord(r.value, r.key, r.headers, r.partition, r.timestamp) for r in rows], NOW_MS, STICKY)
        .chunk,
    }


def batches_of(chunk: RecordChunk, rows: Sequence[int], limit_bytes: int) -> list[tuple[bytes, int, tuple[int, int]]]:
    found = []
    first = 0
    while first < len(rows):
        encoded = chunk.encode(rows, first, max(limit_bytes, chunk.bound(rows[first])))
        found.append(tuple(encoded))
        first += encoded.records_count
    return found  # type: ignore[return-value]


def expected_bytes(rows: Sequence[Row]) -> bytes:
    """By the builder that the broker's tests hold against Apache's."""
    records = [
        SimpleRecord(
            NOW_MS if row.timestamp is None else row.timestamp,
            row.key,
            row.value,
            tuple(Header(*header) for header in row.headers),
        )
        for row in rows
    ]
    return bytes(build_batch(records))[HEADER_BYTES:]


@given(rows_of, st.integers(0, 4000), st.data())
@example([Row(None, None, None, None, ())], 0, None)
def test_every_way_encodes_the_same_bytes(rows: list[Row], limit_bytes: int, data: Any) -> None:
    table = table_of(rows, data.draw) if data is not None else pa.table({"value": pa.nulls(1)})
    found = {}
    for way, chunk in chunks_of(rows, table).items():
        assert chunk.count == len(rows)
        batches = batches_of(chunk, range(len(rows)), limit_bytes)
        at = 0
        for payload, count, timestamps in batches:
            part = rows[at : at + count]
            times = [NOW_MS if row.timestamp is None else row.timestamp for row in part]
            assert payload == expected_bytes(part), way
            assert timestamps == (times[0], max(times)), way
            assert count == 1 or len(payload) + HEADER_BYTES <= max(limit_bytes, chunk.bound(at)), way
            at += count
        found[way] = batches
        for row in range(len(rows)):
            headers = tuple(Header(*header) for header in rows[row].headers)
            exact = record_size_upper_bound(rows[row].key, rows[row].value, headers)
            assert chunk.exact_bound(row) == exact <= chunk.bound(row), way
            assert (chunk.key(row), chunk.value(row)) == (rows[row].key, rows[row].value), way
    assert len({str(batches) for batches in found.values()}) == 1


@given(rows_of, st.integers(1, 3000), st.data())
def test_every_way_gives_the_same_shares_and_keeps_the_order(rows: list[Row], sticky_bytes: int, data: Any) -> None:
    left_out = data.draw(st.sets(st.integers(0, len(rows) - 1), max_size=3))
    found = {}
    for way, chunk in chunks_of(rows, table_of(rows, data.draw)).items():
        chunk.partition_by_key(PARTITIONS)
        for row, record in enumerate(rows):
            if record.partition is not None:
                assert chunk.partitions[row] == record.partition, way
            elif record.key is not None:
                assert chunk.partitions[row] == partition_for_key(record.key, PARTITIONS), way
            else:
                assert chunk.partitions[row] == STICKY, way
        for row in left_out:
            chunk.partitions[row] = (1 << 31) - 1
        assert set(chunk.rows_beyond(PARTITIONS)) == left_out, way
        choices = cycle(range(PARTITIONS))
        shares = [
            (share.partition, [int(row) for row in share.rows])
            for share in chunk.shares(PARTITIONS, sticky_bytes, choices.__next__)
        ]
        by_partition: dict[int, list[int]] = {}
        for partition, taken in shares:
            by_partition.setdefault(partition, []).extend(taken)
        assert all(taken == sorted(taken) for taken in by_partition.values()), way
        sent = sorted(row for taken in by_partition.values() for row in taken)
        assert sent == [row for row in range(len(rows)) if row not in left_out], way
        for partition, taken in shares:
            for row in taken:
                wanted = rows[row].partition
                key = rows[row].key
                if wanted is None and key is not None:
                    wanted = partition_for_key(key, PARTITIONS)
                assert wanted in (None, partition), way
        found[way] = shares
    assert len({str(shares) for shares in found.values()}) == 1


def test_bytes_of_a_fixed_size_strings_and_dictionaries_of_strings() -> None:
    table = pa.table(
        {
            "key": pa.array([b"abc", None, b"def"], pa.binary(3)),
            "value": pa.array(["ä", "", None], pa.string()).dictionary_encode(),
        }
    ).slice(1)
    (batch,) = record_arrow.slices(record_arrow.as_table(table), lambda: 10, 1 << 20)
    for chunk in (
        record_arrow.column_chunk(batch, NOW_MS, 2),
        record_arrow.plain_chunk(batch, NOW_MS, 2),
    ):
        assert [chunk.key(row) for row in range(2)] == [None, b"def"]
        assert [chunk.value(row) for row in range(2)] == [b"", None]
        assert list(chunk.partitions) == [2, 2]


def test_pieces_with_dictionaries_of_their_own() -> None:
    pieces = [pa.table({"value": pa.array(values).dictionary_encode()}) for values in (["a", "b", "a"], ["c", "a"])]
    for table in (pa.concat_tables(pieces), pa.concat_tables(pieces).slice(1)):
        (batch,) = record_arrow.slices(record_arrow.as_table(table), lambda: 10, 1 << 20)
        chunk = record_arrow.column_chunk(batch, NOW_MS, -1)
        assert [chunk.value(row) for row in range(chunk.count)] == [b"a", b"b", b"a", b"c", b"a"][-chunk.count :]


def test_headers_beneath_a_null_are_none() -> None:
    items = pa.array([{"key": "a", "value": b"1"}, {"key": "b", "value": None}], HEADER)
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), items, mask=pa.array([True, False]))
    table = pa.table({"value": pa.array([b"1", b"2"]), "headers": lists})
    (batch,) = record_arrow.slices(record_arrow.as_table(table), lambda: 10, 1 << 20)
    expected = expected_bytes([Row(None, b"1", None, None, ()), Row(None, b"2", None, None, (("b", None),))])
    for chunk in (record_arrow.column_chunk(batch, NOW_MS, -1), record_arrow.plain_chunk(batch, NOW_MS, -1)):
        assert chunk.encode(range(2), 0, 1000).payload == expected


def test_a_header_without_a_key_is_refused() -> None:
    table = pa.table({"headers": pa.array([[{"key": None, "value": b""}]], pa.list_(HEADER))})
    (batch,) = record_arrow.slices(record_arrow.as_table(table), lambda: 10, 1 << 20)
    for make in (record_arrow.column_chunk, record_arrow.plain_chunk):
        with pytest.raises(ValueError, match="needs a key"):
            make(batch, NOW_MS, -1)


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        ({"value": pa.array([1])}, TypeError),
        ({"values": pa.array([b""])}, ValueError),
        ({"offset": pa.array([1])}, ValueError),
        ({"value": pa.array([b""]), "timestamp": pa.array([1.5])}, TypeError),
        ({"value": pa.array([b""]), "timestamp": pa.array([-1])}, ValueError),
        ({"value": pa.array([b""]), "partition": pa.array([-1])}, ValueError),
        ({"value": pa.array([b""]), "partition": pa.array(["0"])}, TypeError),
        ({"value": pa.array([b""]), "headers": pa.array([["a"]])}, TypeError),
        ({"value": pa.array([b""]), "headers": pa.array([[{"k": "a", "value": b""}]])}, TypeError),
    ],
)
def test_tables_of_something_else_are_refused(columns: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        record_arrow.as_table(pa.table(columns))


def test_tables_are_cut_by_rows_and_by_bytes() -> None:
    table = record_arrow.as_table(pa.table({"value": pa.array([b"x" * 100] * 1000, pa.binary())}))
    assert [batch.num_rows for batch in record_arrow.slices(table, lambda: 400, 1 << 30)] == [400, 400, 200]
    sizes = [batch.num_rows for batch in record_arrow.slices(table, lambda: 400, 20_000)]
    assert sum(sizes) == 1000
    assert max(sizes) <= 200
    assert list(record_arrow.slices(table.slice(0, 0), lambda: 400, 1 << 30)) == []


def test_items_are_taken_by_rows_and_by_bytes() -> None:
    assert [len(items) for items in take((b"x" for _ in range(1000)), lambda: 256, 1 << 30)] == [256, 256, 256, 232]
    for item in (b"x" * 100, (None, b"x" * 100), {"value": b"x" * 100}, (b"x" * 50, b"x" * 50)):
        assert [len(items) for items in take([item] * 300, lambda: 1000, 10_000)] == [128, 128, 44]
    assert list(take([], lambda: 10, 10)) == []


ITEMS: list[Any] = [
    b"value",
    (b"key", b"value"),
    (None, None),
    {"key": b"key", "partition": 1, "timestamp": 5},
    {"value": bytearray(b"ba"), "headers": {"a": b"1"}},
    BatchRecord(memoryview(b"mv"), headers=[("a", None)], timestamp_ms=9),
]


@pytest.mark.parametrize("repeated", [1, 100])
def test_items_of_all_kinds(repeated: int) -> None:
    assert KERNELS.load()
    chunk, failed = RowReader("t", None, None).chunk(ITEMS * repeated, NOW_MS, 3)
    assert not failed
    rows = [
        Row(None, b"value", None, None, ()),
        Row(b"key", b"value", None, None, ()),
        Row(None, None, None, None, ()),
        Row(b"key", None, 5, None, ()),
        Row(None, b"ba", None, None, (("a", b"1"),)),
        Row(None, b"mv", 9, None, (("a", None),)),
    ]
    assert chunk.encode(range(chunk.count), 0, 1 << 20).payload == expected_bytes(rows * repeated)
    assert list(chunk.partitions) == [3, 3, 3, 1, 3, 3] * repeated


@pytest.mark.parametrize("item", [(b"1", b"2", b"3"), {"vlaue": b""}, {"partition": -1}, BatchRecord(timestamp_ms=-1)])
def test_items_that_are_no_records_are_refused(item: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        RowReader("t", None, None).chunk([b"fine", item], NOW_MS, STICKY)


def test_what_cannot_be_serialized_fails_alone() -> None:
    reader = RowReader("t", None, lambda topic, data: data.encode())
    chunk, failed = reader.chunk(["a", 7, "c"], NOW_MS, STICKY)
    assert [chunk.value(0), chunk.value(2)] == [b"a", b"c"]
    assert list(failed) == [1]
    assert isinstance(failed[1], SerializationError)
    _, failed = RowReader("t", None, None).chunk(["text"], NOW_MS, STICKY)
    assert isinstance(failed[0], SerializationError)
