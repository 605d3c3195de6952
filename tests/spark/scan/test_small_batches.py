"""Putting small batches together loses, doubles, reorders and keeps back nothing."""

from collections.abc import Iterator

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from ottla.spark.scan.small_batches import SMALL_BYTES, SMALL_ROWS, put_together

SCHEMA = pa.schema([pa.field("n", pa.int64()), pa.field("text", pa.list_(pa.string()))])


def batch_of(first: int, rows: int) -> pa.RecordBatch:
    numbers = list(range(first, first + rows))
    return pa.RecordBatch.from_pydict({"n": numbers, "text": [[str(number)] for number in numbers]}, SCHEMA)


@given(
    sizes=st.lists(st.none() | st.integers(1, 30) | st.just(SMALL_ROWS + 1), max_size=30),
    enough=st.integers(1, 50),
    ready=st.booleans(),
)
def test_the_same_rows_in_the_same_order(sizes: list[int | None], enough: int, ready: bool) -> None:
    given_out: list[int] = []
    held_at_end: list[int] = []

    def batches() -> Iterator[pa.RecordBatch | None]:
        first = 0
        for size in sizes:
            if size is None:
                yield None
                held_at_end.append(first - len(given_out))
            else:
                yield batch_of(first, size)
                first += size

    for batch in put_together(batches(), lambda: ready, rows_enough=enough, bytes_enough=SMALL_BYTES):
        batch.validate(full=True)
        assert batch.schema.equals(SCHEMA)
        assert batch.num_rows > SMALL_ROWS or batch.num_rows < enough + 30
        given_out += batch.column("n").to_pylist()
    assert given_out == list(range(sum(size or 0 for size in sizes)))
    if not ready:
        assert not any(held_at_end), "what came is given out before more is waited for"


def test_large_values_are_not_held_until_there_are_many() -> None:
    value = bytes(100_000)
    taken = [0]

    def batches() -> Iterator[pa.RecordBatch | None]:
        for _ in range(200):
            taken[0] += 5
            yield pa.record_batch({"value": [value] * 5})
            yield None

    given_out = 0
    for batch in put_together(batches(), lambda: True, rows_enough=32_768, bytes_enough=2_000_000):
        assert batch.nbytes <= 2_000_000 + SMALL_BYTES
        assert (taken[0] - given_out) * len(value) <= 2_000_000 + SMALL_BYTES
        given_out += batch.num_rows
    assert given_out == 1000


def test_a_batch_of_few_rows_and_many_bytes_is_not_copied() -> None:
    large = pa.record_batch({"value": [bytes(SMALL_BYTES)]})
    small = pa.record_batch({"value": [b"x"]})
    ends = {"rows_enough": 100, "bytes_enough": 100 * SMALL_BYTES}
    found = list(put_together([small, large, small, large], lambda: True, **ends))
    assert [batch.num_rows for batch in found] == [1, 1, 1, 1]
    assert found[1] is large and found[3] is large
