"""Spark's Arrow batches as tables for ``Producer.send_batch``, one a topic. Needs pyarrow."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from ottla.common.errors import InvalidRecordError

_ROWS_MIN: Final = 32 * 1024
_BYTES_MIN: Final = 4 * 1024 * 1024


def in_larger_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The same rows in fewer tables: Spark's batches have 10,000 rows, and a send costs as much as some thousand."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        held.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        del batch  # Spark's batches have up to 64 MB: none is kept while the next one comes
        if rows >= _ROWS_MIN or size >= _BYTES_MIN:
            yield _table_of(held)
            rows = size = 0
    if held:
        yield _table_of(held)


def _table_of(held: list[pa.RecordBatch]) -> pa.Table:
    """All of the batches, which are no longer held."""
    table = pa.Table.from_batches(held)
    held.clear()
    return table


def tables_by_topic(table: pa.Table, columns: Sequence[str], topic: str | None) -> Iterator[tuple[str, pa.Table]]:
    """The rows of each topic, in their order; ``topic`` is that of all rows, else column ``topic`` names them.

    InvalidRecordError for a row whose topic is null or empty.
    """
    records = table.select(list(columns))
    if topic is not None:
        yield topic, records
        return
    topics = table.column("topic")
    names = pc.unique(topics).to_pylist()
    if None in names or "" in names:
        raise InvalidRecordError(
            "A row has no topic: column 'topic' is null or empty there; option 'topic' would name one for all rows"
        )
    for name in names:
        yield name, records if len(names) == 1 else records.filter(pc.equal(topics, name))
