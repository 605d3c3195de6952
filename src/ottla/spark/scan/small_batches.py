"""Small Arrow batches put together: each costs Spark a round of its own, and a micro-batch has one a partition."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import pyarrow as pa

SMALL_ROWS: Final = 4_096
SMALL_BYTES: Final = 1024 * 1024
"""A batch of more rows or bytes goes as it is: copying it would cost more than it brings."""


def put_together(
    batches: "Iterable[pa.RecordBatch | None]", is_ready: Callable[[], bool], *, rows_enough: int, bytes_enough: int
) -> "Iterator[pa.RecordBatch]":
    """The same rows in the same order, in fewer batches; of one schema. None stands for an end of what came together.

    Nothing is kept back for what is not ready: at such an end ``is_ready`` says whether more can be had at once. Held
    are less than ``rows_enough`` and ``bytes_enough``, and one small batch.
    """
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        batch_bytes = 0 if batch is None else batch.nbytes
        is_small = batch is not None and batch.num_rows <= SMALL_ROWS and batch_bytes <= SMALL_BYTES
        if batch is not None and is_small:
            held.append(batch)
            rows, size = rows + batch.num_rows, size + batch_bytes
            if rows < rows_enough and size < bytes_enough:
                continue
        elif batch is None and is_ready():
            continue
        if held:
            yield _joined(held)
            held, rows, size = [], 0, 0
        if batch is not None and not is_small:
            yield batch
    if held:
        yield _joined(held)


def _joined(batches: "list[pa.RecordBatch]") -> "pa.RecordBatch":
    if len(batches) == 1:
        return batches[0]
    (joined,) = pa.Table.from_batches(batches).combine_chunks().to_batches()  # several only of more than 2 GiB
    return joined
