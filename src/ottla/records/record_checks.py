"""The checks that need each record: its structure, its key, its timestamp.

The first records at fault are named, as ProduceResponse reports them; a batch with one of them is refused as a whole.
"""

from typing import Final, NamedTuple

from ottla.common.errors import InvalidRecordError, InvalidTimestampError, RecordError
from ottla.records.append_policy import AppendPolicy
from ottla.records.batch import NO_TIMESTAMP, TIMESTAMP_TYPE_FLAG, RecordBatch
from ottla.records.record_scan import scan_records, wrap_timestamp

_INT64_MIN: Final = -(1 << 63)
_INT64_MAX: Final = (1 << 63) - 1
_SHOWN_ERRORS_MAX: Final = 3
RECORD_ERRORS_MAX: Final = 100
"""How many records at fault are named one by one; a few compressed bytes may hold thousands."""


class RecordsSummary(NamedTuple):
    """What sound records say of themselves, whatever the header says."""

    max_timestamp: int
    consecutive: bool
    """Whether the offset deltas are 0, 1, 2 and so on."""


def check_records(
    batch: RecordBatch, data: bytes, policy: AppendPolicy, now_ms: int, *, gaps_allowed: bool = True
) -> RecordsSummary:
    """Check the batch's records, decompressed in ``data``, by the topic's rules.

    Raises InvalidRecordError for broken structure, for a count that is not the header's, for a missing key and, unless
    ``gaps_allowed``, for offset deltas that are not 0, 1, 2 and so on. Raises InvalidTimestampError for timestamps out
    of range and for a batch that claims to have the broker's time.
    """
    claims_append_time = bool(batch.attributes & TIMESTAMP_TYPE_FLAG)
    base = batch.base_timestamp
    compacted, create_time = policy.compacted, not policy.log_append_time
    earliest, latest = max(now_ms - policy.before_max_ms, _INT64_MIN), min(now_ms + policy.after_max_ms, _INT64_MAX)
    max_timestamp, consecutive = NO_TIMESTAMP, True
    errors: list[RecordError] = []
    faults = 0
    invalid_timestamp = False
    index = -1
    for timestamp_delta, offset_delta, key_size, value_size in scan_records(data, batch.records_count):
        index += 1
        if offset_delta != index:
            if not gaps_allowed:
                raise InvalidRecordError(
                    f"Record {index} of a compressed batch has the offset delta {offset_delta}: they must be 0, 1, 2 …"
                )
            consecutive = False
        timestamp = batch.max_timestamp if claims_append_time else base + timestamp_delta
        if not earliest <= timestamp <= latest:
            timestamp = wrap_timestamp(timestamp)
        if timestamp > max_timestamp:  # noqa: PLR1730 - half the time of max(), for each record
            max_timestamp = timestamp
        if compacted and key_size < 0:
            faults += 1
            if faults <= RECORD_ERRORS_MAX:
                errors.append(RecordError(index, "Compacted topic cannot accept message without key"))
        elif create_time and timestamp != NO_TIMESTAMP:
            if not earliest <= timestamp <= latest:
                faults += 1
                invalid_timestamp = True
                if faults <= RECORD_ERRORS_MAX:
                    errors.append(_out_of_range(index, batch.base_offset + offset_delta, timestamp, policy, now_ms))
        elif claims_append_time:
            faults += 1
            invalid_timestamp = True
            if faults <= RECORD_ERRORS_MAX:
                offset = batch.base_offset + offset_delta
                errors.append(_claims_append_time(index, offset, timestamp, key_size, value_size))
    if errors:
        raise _refusal(errors, faults, invalid_timestamp)
    return RecordsSummary(max_timestamp, consecutive)


def _out_of_range(index: int, offset: int, timestamp: int, policy: AppendPolicy, now_ms: int) -> RecordError:
    return RecordError(
        index,
        f"Timestamp {timestamp} of message with offset {offset} is out of range. The timestamp should be within "
        f"[{now_ms - policy.before_max_ms}, {now_ms + policy.after_max_ms}]",
    )


def _claims_append_time(index: int, offset: int, timestamp: int, key_size: int, value_size: int) -> RecordError:
    return RecordError(
        index,
        f"Invalid timestamp type in message DefaultRecord(offset={offset}, timestamp={timestamp}, "
        f"key={max(key_size, 0)} bytes, value={max(value_size, 0)} bytes). "
        "Producer should not set timestamp type to LogAppendTime.",
    )


def _refusal(
    errors: list[RecordError], faults: int, invalid_timestamp: bool
) -> InvalidRecordError | InvalidTimestampError:
    if invalid_timestamp:
        return InvalidTimestampError("One or more records have been rejected due to invalid timestamp", tuple(errors))
    shown = ", ".join(
        f"RecordError(batchIndex={index}, message='{message}')" for index, message in errors[:_SHOWN_ERRORS_MAX]
    )
    return InvalidRecordError(
        f"One or more records have been rejected due to {faults} record errors in total, and only showing the "
        f"first three errors at most: [{shown}]",
        tuple(errors),
    )
