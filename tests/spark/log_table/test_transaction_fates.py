"""What read_committed leaves out, beside a model that knows each transaction's end."""

from hypothesis import given
from hypothesis import strategies as st

from ottla.records.batch import RecordBatch
from ottla.records.builder import build_batch
from ottla.records.control import ControlRecordType, EndTransactionMarker, end_transaction_batch
from ottla.records.record import SimpleRecord
from ottla.spark.log_table.transaction_fates import TransactionFates

ACTIONS = st.lists(st.tuples(st.sampled_from(("data", "plain", "COMMIT", "ABORT")), st.integers(0, 2)), max_size=30)


@given(ACTIONS, st.floats(0, 1))
def test_records_are_seen_if_the_next_marker_of_their_producer_commits(
    actions: list[tuple[str, int]], where: float
) -> None:
    batches = [batch_of(action, producer, offset) for offset, (action, producer) in enumerate(actions)]
    split = int(where * len(batches))
    fates = TransactionFates()
    fates.show(batches[:split])
    fates.show_following(batches[split:])
    for offset, batch in enumerate(batches[:split]):
        action, producer = actions[offset]
        if action == "data":
            ends = (end for end, other in actions[offset + 1 :] if other == producer and end in ("COMMIT", "ABORT"))
            assert fates.is_seen(batch) == (next(ends, None) == "COMMIT")
        else:
            assert fates.is_seen(batch) == (action == "plain")


def test_no_more_is_read_than_is_needed() -> None:
    fates = TransactionFates()
    fates.show([batch_of("data", 1, 0), batch_of("data", 2, 1), batch_of("ABORT", 2, 2)])
    assert not fates.is_decided
    behind = iter([batch_of("data", 2, 3), batch_of("COMMIT", 1, 4), batch_of("plain", 0, 5)])
    fates.show_following(behind)
    assert fates.is_decided
    assert next(behind).base_offset == 5
    plain = iter([batch_of("plain", 0, 6)])
    fates.show_following(plain)
    assert next(plain).base_offset == 6


def batch_of(action: str, producer: int, offset: int) -> RecordBatch:
    if action in ("COMMIT", "ABORT"):
        marker = EndTransactionMarker(ControlRecordType[action], 0)
        raw = end_transaction_batch(marker, timestamp=1, producer_id=producer, producer_epoch=0, base_offset=offset)
        return RecordBatch(raw)
    if action == "plain":
        return RecordBatch(build_batch([SimpleRecord(1, b"k", b"v")], base_offset=offset))
    raw = build_batch(
        [SimpleRecord(1, b"k", b"v")],
        base_offset=offset,
        producer_id=producer,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )
    return RecordBatch(raw)
