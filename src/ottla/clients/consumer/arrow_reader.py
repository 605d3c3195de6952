"""``Consumer.arrow``: everything ``poll`` does, with columns for records."""

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, Final, Protocol

from ottla.clients.consumer.completed_fetch import CompletedFetch
from ottla.clients.consumer.consumer_core import ConsumerCore
from ottla.clients.consumer.record_errors import CorruptFetchError
from ottla.common.errors import KafkaError
from ottla.common.extras import needs
from ottla.common.topic_partition import TopicPartition
from ottla.records.batch import RecordBatch

if TYPE_CHECKING:
    from ottla.clients.consumer.arrow_columns import ColumnBuilder
    from ottla.clients.consumer.arrow_rows import RowBuilder

BYTES_MAX: Final = 64 * 1024 * 1024
"""No further batch is added to an Arrow batch with so many bytes: its positions are int32."""


class Builder(Protocol):
    """Makes an Arrow batch: ColumnBuilder with numba, RowBuilder without."""

    @property
    def rows(self) -> int:
        """How many rows there are."""

    @property
    def size_in_bytes(self) -> int:
        """How many bytes of keys and values there are."""

    def append_run(self, fetch: CompletedFetch, rows_enough: int, /) -> int:
        """Append what can be read many batches at a time, and move the answer on; how many rows that were."""

    def append(self, batch: RecordBatch, first_offset: int, until_offset: int, /) -> tuple[int, int | None]:
        """Append what fits; how many rows that were, and the offset to go on at, None at the batch's end."""

    def finish(self) -> Any:
        """The pyarrow.RecordBatch."""


class MakeBuilder(Protocol):
    """Makes a builder for at most ``max_rows`` rows."""

    def __call__(self, partition: TopicPartition, max_rows: int, bytes_hint: int, /) -> Builder:
        """``bytes_hint``: how many bytes of records will come, as far as that is known."""


def builder_class() -> "type[ColumnBuilder | RowBuilder]":
    """The best builder for what is installed, ready to be used; MissingExtraError without pyarrow and numpy."""
    try:
        from ottla.clients.consumer.arrow_columns import ColumnBuilder, compile_all

        compile_all()
    except ImportError:
        with needs("fast", "Consumer.arrow()"):
            from ottla.clients.consumer.arrow_rows import RowBuilder

        return RowBuilder
    return ColumnBuilder


def read_arrow(
    fetch: CompletedFetch,
    max_rows: int,
    make_builder: MakeBuilder,
    *,
    rows_enough: int | None = None,
    max_bytes: int = BYTES_MAX,
) -> Any:
    """The next rows of an answer as a pyarrow.RecordBatch; None at its end. Raises CorruptFetchError.

    With ``rows_enough`` it ends at the first batch that makes so many: one that is cut in two is decoded twice.
    A row that reaches ``max_bytes``, or what was decompressed together with it, is the last.
    """
    enough = max_rows if rows_enough is None else rows_enough
    builder: Builder | None = None
    try:
        while not fetch.is_drained:
            if builder is None:
                builder = make_builder(fetch.partition, max_rows, fetch.bytes_left)
            if builder.rows >= enough or builder.size_in_bytes >= max_bytes:
                break
            if builder.append_run(fetch, enough):
                continue
            batch = fetch.current_batch()
            if batch is None:
                break
            try:
                rows, next_offset = builder.append(batch, fetch.next_offset, fetch.until_offset)
            except KafkaError as error:
                raise CorruptFetchError(fetch.partition, fetch.next_offset, error) from error
            if next_offset is None:
                fetch.finish_batch(rows)
            else:
                fetch.taken_until(next_offset, rows)
    except CorruptFetchError:
        if builder is None or not builder.rows:
            raise
    return builder.finish() if builder is not None and builder.rows else None


async def arrow_batches(core: ConsumerCore, max_rows: int) -> AsyncGenerator[Any, None]:
    """Batches as they come, until the consumer is closed."""
    core.check_usable()
    make_builder = await core.cluster.runtime.blocking(builder_class)  # heartbeats go on meanwhile
    buffer = core.buffer

    def read(fetch: CompletedFetch) -> Any:
        return read_arrow(fetch, max_rows, make_builder)

    while not core.is_closing:
        with core.polling():
            buffer.release()
            if core.attention():
                await core.attend()
            table = buffer.take_by(read)
            if buffer.has_room:
                core.fetch_more()
            if table is None:
                await core.wait(None)
        if table is not None:
            yield table
