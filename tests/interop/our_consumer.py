"""A consumer of our logs, in the terms of Apache's consumer as tests/apache/driver.py reports it."""

from ottla.log.log import FetchIsolation, Log
from ottla.records.batch import batches
from ottla.records.control import ControlRecordType, control_type
from ottla.records.record import decode_records
from tests.apache.driver import ConsumedRecord

_FETCH_BYTES = 50_000
_ISOLATION = {
    "read_uncommitted": FetchIsolation.HIGH_WATERMARK,
    "read_committed": FetchIsolation.TXN_COMMITTED,
}


def consume(log: Log, isolation: str = "read_uncommitted") -> list[ConsumedRecord]:
    """Fetch from the log's start to where the isolation ends; a committed reader leaves out what was aborted."""
    level = _ISOLATION[isolation]
    end_offset = log.high_watermark if level is FetchIsolation.HIGH_WATERMARK else log.last_stable_offset
    offset = log.log_start_offset
    consumed: list[ConsumedRecord] = []
    aborting: set[int] = set()
    while offset < end_offset:
        fetched = log.read(offset, _FETCH_BYTES, level)
        ahead = sorted(fetched.aborted_transactions or (), key=lambda txn: -txn.first_offset)
        next_offset = end_offset
        for batch in batches(fetched.read()):
            next_offset = batch.next_offset
            while ahead and ahead[-1].first_offset <= batch.last_offset:
                aborting.add(ahead.pop().producer_id)
            if batch.is_control:
                for record in decode_records(batch):
                    if control_type(record) is ControlRecordType.ABORT:
                        aborting.discard(batch.producer_id)
            elif not (batch.is_transactional and batch.producer_id in aborting):
                consumed.extend(
                    ConsumedRecord(
                        record.offset,
                        record.timestamp,
                        "LogAppendTime" if batch.is_log_append_time else "CreateTime",
                        record.key,
                        record.value,
                        tuple((header.key, header.value) for header in record.headers),
                        batch.partition_leader_epoch,
                    )
                    for record in decode_records(batch)
                    if record.offset >= offset
                )
        offset = next_offset
    return consumed
