"""A fetch that waits for enough bytes."""

from collections.abc import Callable, Sequence

from ottla.common.errors import KafkaError
from ottla.log.readable_log import FetchIsolation
from ottla.purgatory.delayed_operation import DelayedOperation
from ottla.replication.hosted_partitions import HostedPartitions
from ottla.replication.log_reader import LogReader
from ottla.replication.read_result import NO_EPOCH, FetchParams, FetchPartition, ReadResult

_COMPLETE = -1


class DelayedFetch(DelayedOperation):
    """Completes when, for one of its partitions,

    - this broker leads or hosts it no longer, its disk has failed or the client's leader epoch is over,
    - the fetch begins beyond the end (the log was truncated) or in an older segment than the end,
    - the fetcher's log is found to part from this one,

    or when together they have ``min_bytes``. Bytes are counted by positions in segments; nothing is read until it
    completes.
    """

    __slots__ = ("_fetches", "_on_expired", "_params", "_partitions", "_reader", "_respond", "_starts")

    def __init__(
        self,
        params: FetchParams,
        fetches: Sequence[FetchPartition],
        results: Sequence[ReadResult],
        *,
        partitions: HostedPartitions,
        reader: LogReader,
        respond: Callable[[list[ReadResult]], None],
        on_expired: Callable[[bool], None],
    ) -> None:
        """``results`` are those of a first read, which has found no error."""
        super().__init__(params.max_wait_ms)
        self._params = params
        self._fetches = fetches
        self._starts = [result.start for result in results]
        self._partitions = partitions
        self._reader = reader
        self._respond = respond
        self._on_expired = on_expired

    def try_complete(self) -> bool:
        """Count what there is to read."""
        params = self._params
        min_bytes = params.min_bytes
        at_high_watermark = params.isolation is FetchIsolation.HIGH_WATERMARK
        total_bytes = 0
        for position, fetch in enumerate(self._fetches):
            partition = fetch.hosted
            if at_high_watermark and partition is not None and partition.is_leader:
                # The way of nearly all partitions of a large idle fetch: nothing has come.
                log = partition.log
                epoch = fetch.current_leader_epoch
                if (
                    log is not None
                    and fetch.fetch_offset == log.high_watermark
                    and epoch in (NO_EPOCH, partition.leader_epoch)
                    and fetch.last_fetched_epoch == NO_EPOCH
                    and log.disk.failure is None
                ):
                    continue
            bytes_available = self._bytes_available(fetch, position)
            if bytes_available == _COMPLETE:
                return self.force_complete()
            total_bytes += bytes_available
            if total_bytes >= min_bytes:
                return self.force_complete()
        return total_bytes >= min_bytes and self.force_complete()

    def _bytes_available(self, fetch: FetchPartition, position: int) -> int:
        """What one partition has, or that the fetch must not wait any longer."""
        topic_partition = fetch.topic_partition
        assert topic_partition is not None, "a fetch of an unknown topic waits"
        try:
            partition = self._partitions.require(topic_partition)
            log = partition.local_log(fetch.current_leader_epoch, self._params.fetch_only_leader)
            log.disk.check()
            if fetch.last_fetched_epoch != NO_EPOCH and partition.diverging_epoch(fetch) is not None:
                return _COMPLETE
            end = log.read_limit(self._params.isolation)
            if fetch.fetch_offset == end.message_offset:
                # Also right after a roll, when the end is in a newer segment and still the same offset.
                return 0
            if fetch.fetch_offset > end.message_offset:
                return _COMPLETE
            start = self._starts[position]
            if start is None or start.message_offset_only:
                start = self._starts[position] = log.position_of(fetch.fetch_offset)
        except KafkaError:
            return _COMPLETE
        if start.segment_base_offset < end.segment_base_offset:
            return _COMPLETE
        if start.segment_base_offset > end.segment_base_offset:
            return 0
        available = end.relative_position_in_segment - start.relative_position_in_segment
        return min(max(available, 0), fetch.max_bytes)

    def on_complete(self) -> None:
        """Read whatever there is, and answer."""
        self._respond(self._reader.read(self._params, self._fetches, update_fetch_state=False))

    def on_expiration(self) -> None:
        """Count it, by who fetched."""
        self._on_expired(self._params.is_from_follower)
