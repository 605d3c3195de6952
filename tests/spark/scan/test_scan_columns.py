"""Columns in Spark's types: the same from the kernels and from plain Python, whichever of them are asked for."""

from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.clients.consumer.arrow_reader import builder_class, read_arrow
from ottla.clients.consumer.arrow_rows import RowBuilder
from ottla.clients.consumer.arrow_schema import Layout
from ottla.clients.consumer.completed_fetch import CompletedFetch
from ottla.common.topic_partition import TopicPartition
from ottla.records.batch import TimestampType
from ottla.records.builder import build_batch
from ottla.records.record import Header, SimpleRecord
from ottla.spark.columns import ALL_COLUMNS, arrow_schema_of, schema_of
from ottla.spark.scan.builders import BYTES_BEFORE_LOADING, OFFSETS_WORTH_WAITING, Builders
from tests.clients.consumer.simulated_log import SimulatedLog
from tests.spark.scan.test_scan_machine import steps

PARTITION = TopicPartition("topic", 3)
columns = st.sets(st.sampled_from(ALL_COLUMNS), min_size=1).map(
    lambda chosen: tuple(name for name in ALL_COLUMNS if name in chosen)
)


def read(fetch: CompletedFetch, wanted: tuple[str, ...], make: Any, rows: int, **limits: int) -> "pa.Table":
    schema = arrow_schema_of(wanted)
    make_builder = partial(make, layout=Layout(schema))
    batches = []
    while (batch := read_arrow(fetch, rows, make_builder, **limits)) is not None:
        batch.validate(full=True)
        assert 0 < batch.num_rows <= rows
        assert batch.schema.equals(schema, check_metadata=True)
        batches.append(batch)
    return pa.Table.from_batches(batches, schema)


@given(
    written=steps,
    wanted=columns,
    committed=st.booleans(),
    start=st.integers(0, 60),
    length=st.integers(0, 60),
    rows=st.integers(1, 40),
    enough=st.integers(1, 40),
    max_bytes=st.sampled_from([1, 50, 1 << 20]),
)
@settings(max_examples=150)
def test_kernels_and_python_give_the_same(
    written: Any,
    wanted: tuple[str, ...],
    committed: bool,
    start: int,
    length: int,
    rows: int,
    enough: int,
    max_bytes: int,
) -> None:
    log = SimulatedLog(PARTITION, written)

    def fetch() -> CompletedFetch:
        whole = log.fetch(start, 1 << 20, committed=committed)
        aborted = None if whole._aborted is None else list(whole._aborted._coming)
        return CompletedFetch(PARTITION, start, whole._buffer, aborted=aborted, until_offset=start + length)

    limits = {"rows_enough": min(enough, rows), "max_bytes": max_bytes}
    fast, plain = fetch(), fetch()
    one = read(fast, wanted, builder_class(), rows, **limits)
    other = read(plain, wanted, RowBuilder, rows, **limits)
    assert one.equals(other)
    assert fast.is_drained and plain.is_drained
    visible = [offset for offset in log.visible(committed=committed) if start <= offset < start + length]
    assert one.num_rows == len(visible)
    if "offset" in wanted:
        assert one.column("offset").to_pylist() == visible


def test_the_types_are_those_that_spark_expects() -> None:
    conversion = pytest.importorskip("pyspark.sql.pandas.types")
    for wanted in (ALL_COLUMNS, ("value",), ("timestamp", "headers")):
        expected = conversion.to_arrow_schema(schema_of(wanted), timezone="UTC")
        assert expected.equals(arrow_schema_of(wanted))
        raw = bytes(build_batch([SimpleRecord(5, b"k", b"v", (Header("h", b"x"),))]))
        for make in (builder_class(), RowBuilder):
            assert read(CompletedFetch(PARTITION, 0, raw), wanted, make, 10).schema.equals(expected)


@pytest.mark.parametrize("make", [builder_class(), RowBuilder])
def test_values_of_all_columns(make: Any) -> None:
    records = [
        SimpleRecord(1_700_000_000_123, None, b"v", (Header("é", None), Header("h", b"x"))),
        SimpleRecord(-1, b"", None),
    ]
    created = build_batch(records)
    appended = build_batch(
        records, base_offset=2, timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time_ms=77, compression=3
    )
    table = read(CompletedFetch(PARTITION, 0, bytes(created + appended)), ALL_COLUMNS, make, 100)
    assert table.column("topic").to_pylist() == ["topic"] * 4
    assert table.column("partition").to_pylist() == [3] * 4
    assert table.column("offset").to_pylist() == [0, 1, 2, 3]
    assert table.column("timestamp").cast(pa.int64()).to_pylist() == [1_700_000_000_123_000, -1000, 77_000, 77_000]
    assert table.column("timestampType").to_pylist() == [0, 0, 1, 1]
    assert table.column("key").to_pylist() == [None, b""] * 2
    assert table.column("value").to_pylist() == [b"v", None] * 2
    headers = [{"key": "é", "value": None}, {"key": "h", "value": b"x"}]
    assert table.column("headers").to_pylist() == [headers, None] * 2, "none are null, as in the stock connector"


@pytest.mark.parametrize("make", [builder_class(), RowBuilder])
def test_times_that_microseconds_cannot_hold_become_the_last_they_can(make: Any) -> None:
    raw = bytes(build_batch([SimpleRecord((1 << 63) - 1, None, None), SimpleRecord((1 << 62), None, None)]))
    table = read(CompletedFetch(PARTITION, 0, raw), ("timestamp",), make, 10)
    limit = ((1 << 63) - 1) // 1000 * 1000
    assert table.column("timestamp").cast(pa.int64()).to_pylist() == [limit, limit]


@pytest.mark.parametrize("make", [builder_class(), RowBuilder])
def test_headers_that_nobody_asked_for_are_not_looked_at(make: Any) -> None:
    """The kernels pass over them; plain Python reads them anyway."""
    raw = bytes(build_batch([SimpleRecord(1, b"k", b"v", (Header("h", b"x" * 50),))] * 3))
    fetch = CompletedFetch(PARTITION, 0, raw)
    builder = make(PARTITION, 10, len(raw), layout=Layout(arrow_schema_of(("value",))))
    if builder.append_run(fetch, 10):
        assert builder.size_in_bytes == 3, "values only"
        assert not len(builder._keys) and not len(builder._header_keys)
    else:
        builder.append(fetch.current_batch(), 0)
    assert builder.finish().to_pylist() == [{"value": b"v"}] * 3


def test_little_is_built_by_python_and_much_by_the_kernels() -> None:
    layout = Layout(arrow_schema_of(("value",)))
    builders = Builders()
    builders.expect(100)
    assert builders.choose(100, layout).func is RowBuilder  # type: ignore[attr-defined]
    assert not builders.is_loaded
    builders.choose(BYTES_BEFORE_LOADING, layout)
    builders.wait()
    assert builders.choose(1, layout).func is builder_class()  # type: ignore[attr-defined]
    fresh = Builders()
    fresh.expect(OFFSETS_WORTH_WAITING)
    assert fresh.choose(1, layout).func is builder_class()  # type: ignore[attr-defined]
