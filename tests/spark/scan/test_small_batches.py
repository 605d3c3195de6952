"""Putting small batches together loses, doubles, reorders and keeps back nothing."""

from collections.abc import Iterator

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from ottla.spark.scan.small_batches import SMALL_ROWS, put_together

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

    for batch in put_together(batches(), lambda: ready, enough):
        batch.validate(full=True)
        assert batch.schema.equals(SCHEMA)
        assert batch.num_rows > SMALL_ROWS or batch.num_rows < enough + 30
        given_out += batch.column("n").to_pylist()
    assert given_out == list(range(sum(size or 0 for size in sizes)))
    if not ready:
        assert not any(held_at_end), "what came is given out before more is waited for"
