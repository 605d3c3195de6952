"""A task's ranges of offsets as Arrow batches in Spark's types: the executor's side of every read."""

from collections.abc import Iterator, Sequence
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final

from ottla.clients.consumer.arrow_reader import read_arrow
from ottla.clients.consumer.arrow_schema import Layout
from ottla.clients.consumer.completed_fetch import CompletedFetch
from ottla.clients.consumer.record_errors import CorruptFetchError
from ottla.runtime.loop_thread import LoopTask
from ottla.spark.columns import arrow_schema_of
from ottla.spark.freed_memory import give_back_freed_memory
from ottla.spark.kept_modules import MODULES
from ottla.spark.scan.builders import BUILDERS
from ottla.spark.scan.client_pool import POOL, PooledClient
from ottla.spark.scan.fetch_settings import FetchSettings
from ottla.spark.scan.offset_range import OffsetRange
from ottla.spark.scan.range_fetcher import Handed, RangeFetcher
from ottla.spark.scan.scan_errors import CorruptBatchError
from ottla.spark.scan.scan_options import ScanOptions
from ottla.spark.scan.small_batches import put_together

if TYPE_CHECKING:
    import pyarrow

BATCH_BYTES_MAX: Final = 3 * 1024 * 1024
"""No further row is added to an Arrow batch with so many bytes of keys and values."""
_PATIENCE_S: Final = 5.0


def read_ranges(ranges: Sequence[OffsetRange], options: ScanOptions) -> "Iterator[pyarrow.RecordBatch]":
    """All records of the ranges, each exactly once; those of a partition in their order.

    The next fetches are on their way while a batch is used. What cannot be read raises a KafkaError with a sentence
    for people; records that are gone only do so if ``fail_on_data_loss``.
    """
    wanted = [each for each in ranges if each.start_offset < each.end_offset]
    if not wanted:
        return
    with POOL.client(options.client) as client:
        scan = _Scan(client, wanted, FetchSettings.of(options, client.config))
        try:
            BUILDERS.expect(sum(each.end_offset - each.start_offset for each in wanted))
            yield from put_together(
                _decoded(scan, options),
                scan.is_ready,
                rows_enough=_rows_enough(options),
                bytes_enough=BATCH_BYTES_MAX,
            )
        finally:
            scan.close()
            MODULES.keep()
            give_back_freed_memory(scan.read_bytes)


def _decoded(scan: "_Scan", options: ScanOptions) -> "Iterator[pyarrow.RecordBatch | None]":
    """What a scan's answers hold; None at the end of each."""
    layout = Layout(arrow_schema_of(options.columns))
    for fetch in scan:
        read = partial(
            read_arrow,
            fetch,
            options.max_batch_rows,
            BUILDERS.choose(fetch.size_in_bytes, layout),
            rows_enough=_rows_enough(options),
            max_bytes=BATCH_BYTES_MAX,
        )
        try:
            while (batch := read()) is not None:
                yield batch
        except CorruptFetchError as error:
            raise CorruptBatchError(*error.partition, error.offset, error.__cause__ or error) from error
        del fetch, read  # the answer goes before the next is waited for
        yield None


def _rows_enough(options: ScanOptions) -> int:
    """So many rows, and what belongs to the last of them: batches of records are seldom cut in two."""
    return max(options.max_batch_rows * 2 // 3, 1)


class _Scan:
    """What a task sees of its fetcher, which lives on the client's loop."""

    def __init__(self, client: PooledClient, ranges: Sequence[OffsetRange], settings: FetchSettings) -> None:
        self._loop = client.loop
        self._out: SimpleQueue[Handed] = SimpleQueue()
        self._fetcher = RangeFetcher(client.cluster, ranges, settings, self._out)
        self._task: LoopTask[None] = self._loop.submit(self._fetcher.run())
        self.read_bytes = 0

    def __iter__(self) -> Iterator[CompletedFetch]:
        while (handed := self._out.get()) is not None:
            if isinstance(handed, BaseException):
                raise handed
            size_in_bytes = handed.size_in_bytes
            self.read_bytes += size_in_bytes
            yield handed
            del handed
            self._loop.call_soon(partial(self._fetcher.released, size_in_bytes))

    def is_ready(self) -> bool:
        """Whether the next answer is there."""
        return not self._out.empty()

    def close(self) -> None:
        """End it, wherever it is."""
        if not self._task.has_ended:
            self._task.cancel(_PATIENCE_S)
