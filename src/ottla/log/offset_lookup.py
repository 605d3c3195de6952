"""Offsets by timestamp, as ListOffsets asks for them: real timestamps and the negative ones with a meaning."""

from typing import Final, NamedTuple

from ottla.log.log import Log
from ottla.records.batch import NO_TIMESTAMP
from ottla.records.timestamp_search import Search, first_record

LATEST_TIMESTAMP: Final = -1
EARLIEST_TIMESTAMP: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL_TIMESTAMP: Final = -4
LATEST_TIERED_TIMESTAMP: Final = -5
EARLIEST_PENDING_UPLOAD_TIMESTAMP: Final = -6

_NO_TIER: Final = (LATEST_TIERED_TIMESTAMP, EARLIEST_PENDING_UPLOAD_TIMESTAMP)


class TimestampedOffset(NamedTuple):
    """What was found; the epoch is None where it is unknown."""

    timestamp: int
    offset: int
    leader_epoch: int | None


def offset_for_timestamp(log: Log, timestamp: int, search: Search = first_record) -> TimestampedOffset | None:
    """The first offset whose record has at least this timestamp, or what a negative timestamp stands for.

    ``search`` looks through the batches that may have it; what it raises ends the lookup.
    None when every record is older. There is no tiered storage, so its two timestamps find offset -1.
    """
    with log.disk.doing("fetching offset by timestamp"):
        return _find(log, timestamp, search)


def _find(log: Log, timestamp: int, search: Search) -> TimestampedOffset | None:
    if timestamp in (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP):
        earliest = log.leader_epochs.earliest_entry
        known = earliest is not None and earliest.start_offset <= log.log_start_offset
        epoch = earliest.epoch if earliest is not None and known else None
        return TimestampedOffset(NO_TIMESTAMP, log.log_start_offset, epoch)
    if timestamp == LATEST_TIMESTAMP:
        return TimestampedOffset(NO_TIMESTAMP, log.log_end_offset, log.leader_epochs.latest_epoch)
    if timestamp in _NO_TIER:
        return TimestampedOffset(NO_TIMESTAMP, -1, -1)
    if timestamp == MAX_TIMESTAMP:
        return _of_max_timestamp(log, search)
    for segment in log.segments.values():
        if segment.largest_timestamp_ms >= timestamp:
            found = segment.find_offset_by_timestamp(timestamp, log.log_start_offset, search)
            if found is not None:
                return TimestampedOffset(found[0], found[1], _epoch(found[2]))
            # What has the timestamp lies below the log's start or was compacted away. Apache Kafka gives up here.
    return None


def _of_max_timestamp(log: Log, search: Search) -> TimestampedOffset | None:
    """The first record with the largest timestamp of all."""
    segment = max(log.segments.values(), key=lambda candidate: candidate.max_timestamp_and_offset.timestamp)
    largest, last_offset = segment.max_timestamp_and_offset
    found = segment.find_batch(last_offset)
    if found is None or largest == NO_TIMESTAMP:
        return None
    for batch in segment.read_batches(found.position):
        if batch.max_timestamp == largest and (record := search(batch, largest, batch.base_offset)):
            return TimestampedOffset(*record, _epoch(batch.partition_leader_epoch))
    return None


def _epoch(leader_epoch: int) -> int | None:
    return leader_epoch if leader_epoch >= 0 else None
