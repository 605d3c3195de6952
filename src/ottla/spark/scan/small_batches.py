"""Small Arrow batches put together: each costs Spark a round of its own, and a micro-batch has one a partition."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import pyarrow as pa

SMALL_ROWS: Final = 4_096
"""A batch of more goes as it is: copying it would cost more than it brings."""


def put_together(
    batches: "Iterable[pa.RecordBatch | None]", is_ready: Callable[[], bool], rows_enough: int
) -> "Iterator[pa.RecordBatch]":
    """The same rows in the same order, in fewer batches; of one schema. None stands for an end of what came together.

    Nothing is kept back for what is not ready: at such an end ``is_ready`` says whether more can be had at once.
    """
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if batch is not None and batch.num_rows <= SMALL_ROWS:
            held.append(batch)
            rows += batch.num_rows
            if rows < rows_enough:
                continue
        elif batch is None and (not held or is_ready()):
            continue
        if held:
            yield _joined(held)
            held, rows = [], 0
        if batch is not None and batch.num_rows > SMALL_ROWS:
            yield batch
    if held:
        yield _joined(held)


def _joined(batches: "list[pa.RecordBatch]") -> "pa.RecordBatch":
    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
