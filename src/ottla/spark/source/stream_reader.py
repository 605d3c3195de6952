"""Reads topics as they grow: ``spark.readStream.format("ottla")``."""

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.spark.plain_errors import plainly
from ottla.spark.pyspark_versions import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from ottla.spark.source.batch_ranges import aged_out, gone
from ottla.spark.source.batch_reader import check_schema
from ottla.spark.source.cluster_offsets import missing_error
from ottla.spark.source.data_loss import report_losses
from ottla.spark.source.offset_bound import LATEST, Side, check_named, resolved
from ottla.spark.source.offset_client import OffsetClient
from ottla.spark.source.offset_json import Offsets, nested_of, offsets_of
from ottla.spark.source.read_limits import HoldBack
from ottla.spark.source.scan_task import ScanTask
from ottla.spark.source.source_options import SourceOptions, parse_source_options
from ottla.spark.source.stream_state import StreamState
from ottla.spark.source.task_planner import plan_tasks

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType

logger = logging.getLogger(__name__)

Nested = dict[str, dict[str, int]]


def make_stream_reader(options: Mapping[str, str], schema: "StructType") -> "OttlaStreamReader":
    """The reader of a streaming query; InvalidConfigError if the options, or a schema of the user's, do not fit."""
    parsed = parse_source_options(options, is_stream=True)
    check_schema(parsed, schema)
    return OttlaStreamReader(parsed)


class OttlaStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Lives in one process for as long as the query runs, and stays connected; tasks get a copy that is not.

    Offsets are those of the stock connector's checkpoint, ``{"topic": {"partition": offset}}``, so that a query can be
    taken over from it. Decisions are ``StreamState``'s.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._scan = options.scan_options()
        self._client: OffsetClient | None = None
        min_offsets = options.min_offsets_per_trigger
        hold_back = None if min_offsets is None else HoldBack(min_offsets, options.max_trigger_delay_ms)
        self._state = StreamState(options.max_offsets_per_trigger, hold_back)
        self._latest: Offsets | None = None
        self._has_planned = False

    def __reduce__(self) -> tuple[Any, ...]:
        return OttlaStreamReader, (self._options,)

    @plainly
    def initialOffset(self) -> Nested:  # noqa: N802 - Spark's name
        """Where the query begins; the same at every call."""
        initial = self._state.initial
        if initial is None:
            client, bound, target = self._connected(), self._options.starting, self._state.target
            topology = client.topology()
            error = missing_error(topology)
            if error is not None:
                raise error
            partitions = topology.partitions if target is None else topology.partitions & target.keys()
            latest = client.ends(partitions, LATEST) if target is None else target
            check_named(bound, Side.STARTING, partitions)
            found = client.offsets(bound.queries(partitions))
            floating = bound.floating(found)
            initial = resolved(bound, partitions, found, latest)
            initial |= {each: latest[each] for each in floating & latest.keys()}
            self._state.begin(initial, floating)
        return nested_of(initial)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """What Spark passes on to ``latestOffset``; it knows no limit in both directions, so this is for show."""
        if self._options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self._options.max_offsets_per_trigger)
        if self._options.min_offsets_per_trigger is not None:
            return ReadMinRows(self._options.min_offsets_per_trigger)
        return ReadAllAvailable()

    @plainly
    def latestOffset(self, start: Nested, limit: ReadLimit) -> Nested:  # noqa: N802
        """Where the next batch ends. All up to ``start`` has been processed, so that is what a group is shown."""
        begun = offsets_of(start)
        latest = self._state.target
        if latest is None:
            latest = self._fresh_latest(begun)
        self._latest = latest
        if self._options.fail_on_data_loss:
            report_losses(gone(begun, latest), fail=True)
        if begun != self._state.initial:
            self._connected().commit(begun, wait=begun == self._state.target)
        is_limited = not isinstance(limit, ReadAllAvailable)
        end = self._state.end_of_batch(
            begun,
            latest,
            self._first_of_new(begun, latest) if is_limited else {},
            time.monotonic_ns() // 1_000_000,
            is_limited=is_limited,
        )
        return nested_of(end) if end else start

    @plainly
    def first_end(self, seen: Nested | None) -> Nested:
        """As the first ``latestOffset`` of a run that may be Trigger.AvailableNow's, to which this is its end.

        ``seen`` is where the last batch of the query ended. Without it the query may be new; if its beginning cannot
        be found it is not, or Spark asks for that next and shows why.
        """
        if seen is None:
            with suppress(KafkaError):
                self.initialOffset()
        self._latest = self._fresh_latest(offsets_of(seen or {}))
        return nested_of(self._state.first_end(self._latest, is_new=seen is None))

    def reportLatestOffset(self) -> Nested | None:  # noqa: N802 - Spark's name
        """The ends of all partitions, for the query's progress: what is between them and its end is the lag."""
        return nested_of(self._latest) if self._latest else None

    @plainly
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """The run ends with what there is now."""
        client = self._connected()
        error = missing_error(client.topology())
        if error is not None and self._options.fail_on_data_loss:
            raise error
        self._state.target = client.latest()

    @plainly
    def partitions(self, start: Nested, end: Nested) -> list[ScanTask]:
        """The tasks of a batch; raises DataLossError if what it should read is gone."""
        begun, ended = offsets_of(start), offsets_of(end)
        ranges, losses = self._state.ranges(begun, ended, self._first_of_new(begun, ended))
        if not self._has_planned and ranges:
            # While nothing ran records may have aged out. Later the tasks see it, but here it costs no failed job.
            earliest = self._connected().earliest([TopicPartition(each.topic, each.partition) for each in ranges])
            losses += aged_out(ranges, earliest)
            self._has_planned = True
        report_losses(losses, fail=self._options.fail_on_data_loss)
        return [ScanTask(task) for task in plan_tasks(ranges, self._options.plan)]

    def read(self, partition: InputPartition) -> "Iterator[pyarrow.RecordBatch]":
        """The records of one task; in the executor."""
        assert isinstance(partition, ScanTask), "Spark gives back what it was given"
        return partition.read(self._scan)

    def commit(self, end: Nested) -> None:
        """Nothing: Spark calls it a batch late, and ``latestOffset`` has told the group already."""

    def stop(self) -> None:
        """Close all connections."""
        if self._client is not None:
            self._client.close()

    def _connected(self) -> OffsetClient:
        if self._client is None:
            self._client = OffsetClient(self._options)
        return self._client

    def _first_of_new(self, start: Offsets, end: Offsets) -> Offsets:
        new = end.keys() - start.keys()
        return self._connected().earliest(new) if new else {}

    def _fresh_latest(self, start: Offsets) -> Offsets:
        """The ends, asked for again for a while if one is before what has been read already.

        So a leader may answer that has just taken over and does not know the high watermark yet.
        """
        for attempt in range(self._options.offset_retries):
            if attempt:
                time.sleep(self._options.offset_retry_interval_ms / 1000)
            latest = self._connected().latest()
            if all(offset >= start.get(partition, 0) for partition, offset in latest.items()):
                break
            logger.warning("Partitions end before what has been read of them already; asking again")
        return latest
