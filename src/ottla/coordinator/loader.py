"""Loading a shard: replaying its partition in slices, so that other requests are answered meanwhile."""

import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Final, NamedTuple

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.common.topic_partition import TopicPartition
from ottla.coordinator.ports import PartitionReader
from ottla.coordinator.record_serde import RecordSerde, UnknownRecordTypeError
from ottla.coordinator.shard import CoordinatorShard
from ottla.records.batch import RecordBatch, batches
from ottla.records.control import ControlRecordType, control_type
from ottla.records.record import decode_records

logger = logging.getLogger(__name__)

SLICE_US: Final = 1_000
"""How long the reactor is held at a time."""
_RECORDS_BETWEEN_LOOKS: Final = 16
"""How many records are replayed before looking at the clock again."""


class LoadSummary(NamedTuple):
    """What loading found."""

    end_offset: int
    records_count: int
    size_bytes: int
    longest_slice_us: int


class Loader:
    """Replays partitions into shards."""

    __slots__ = ("_buffer_bytes", "_now_us", "_pause", "_reader", "_serde")

    def __init__(
        self,
        reader: PartitionReader,
        serde: RecordSerde,
        *,
        buffer_bytes: int,
        now_us: Callable[[], int],
        pause: Callable[[], Awaitable[None]],
    ) -> None:
        """``pause`` lets others have their turn; ``buffer_bytes`` are read at a time; ``now_us`` times slices."""
        self._reader = reader
        self._serde = serde
        self._buffer_bytes = buffer_bytes
        self._now_us = now_us
        self._pause = pause

    async def load(
        self, topic_partition: TopicPartition, shard: CoordinatorShard, is_wanted: Callable[[], bool]
    ) -> LoadSummary:
        """Replay everything up to the end of the log.

        NOT_LEADER_OR_FOLLOWER when ``is_wanted`` says no or the leadership is lost meanwhile, and what
        reading and replaying raise.
        """
        offset, end_offset = self._reader.bounds(topic_partition)
        records_count = size_bytes = longest_us = 0
        while offset < end_offset:
            data = await self._reader.read(topic_partition, offset, self._buffer_bytes)
            if not data:
                break  # compaction may have left nothing before the end
            size_bytes += len(data)
            slice_began_us = self._now_us()
            for next_offset, count in self._replay(topic_partition, data, shard):
                offset = next_offset
                records_count += count
                held_us = self._now_us() - slice_began_us
                if held_us >= SLICE_US:
                    longest_us = max(longest_us, held_us)
                    await self._pause()
                    if not is_wanted():
                        raise ApiError(
                            ErrorCode.NOT_LEADER_OR_FOLLOWER,
                            f"Stopped loading {topic_partition}: it is no longer wanted here",
                        )
                    slice_began_us = self._now_us()
            _, end_offset = self._reader.bounds(topic_partition)
        return LoadSummary(end_offset, records_count, size_bytes, longest_us)

    def _replay(
        self, topic_partition: TopicPartition, data: bytes, shard: CoordinatorShard
    ) -> Iterator[tuple[int, int]]:
        """Replay batches; gives, every now and then, the offset to go on from and the number of records since."""
        decode, replay = self._serde.decode, shard.replay
        for batch in batches(data):
            if batch.is_control:
                yield batch.next_offset, self._replay_markers(batch, shard)
                continue
            producer_id, producer_epoch = (
                (batch.producer_id, batch.producer_epoch) if batch.is_transactional else (-1, -1)
            )
            count = 0
            for record in decode_records(batch):
                try:
                    replay(record.offset, producer_id, producer_epoch, decode(record.key, record.value))
                except UnknownRecordTypeError as error:
                    logger.warning(
                        "Unknown record type %d while loading %s. Ignoring it. It could be a left over from an aborted "
                        "upgrade.",
                        error.record_type,
                        topic_partition,
                    )
                count += 1
                if count == _RECORDS_BETWEEN_LOOKS:
                    yield record.offset + 1, count
                    count = 0
            yield batch.next_offset, count

    @staticmethod
    def _replay_markers(batch: RecordBatch, shard: CoordinatorShard) -> int:
        count = 0
        for record in decode_records(batch):
            kind = control_type(record)
            if kind in (ControlRecordType.COMMIT, ControlRecordType.ABORT):
                shard.replay_end_transaction_marker(
                    batch.producer_id, batch.producer_epoch, committed=kind is ControlRecordType.COMMIT
                )
            count += 1
        return count
