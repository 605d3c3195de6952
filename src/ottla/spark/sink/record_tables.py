"""Spark's Arrow batches as tables for ``Producer.send_batch``, one a topic. Needs pyarrow."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ottla.common.errors import InvalidRecordError


def tables_by_topic(
    batch: pa.RecordBatch, columns: Sequence[str], topic: str | None
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of each topic, in their order; ``topic`` is that of all rows, else column ``topic`` names them.

    Batches without rows give none. InvalidRecordError for a row whose topic is null or empty.
    """
    if not batch.num_rows:
        return
    records = batch.select(list(columns))
    if topic is not None:
        yield topic, records
        return
    topics = batch.column("topic")
    names = pc.unique(topics).to_pylist()
    if None in names or "" in names:
        raise InvalidRecordError(
            "A row has no topic: column 'topic' is null or empty there; option 'topic' would name one for all rows"
        )
    for name in names:
        yield name, records if len(names) == 1 else records.filter(pc.equal(topics, name))
