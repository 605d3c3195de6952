"""Random histories against a model that keeps no state but the log: every question is answered by reading all of it."""

from dataclasses import dataclass
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.log.producer_config import ProducerStateManagerConfig
from ottla.log.producer_state import ProducerStateManager
from ottla.records.append_origin import AppendOrigin
from ottla.records.batch import RecordBatch
from tests.log.producer_batches import SEQUENCES, data, marker
from tests.sim.crash_files import CrashFiles


class Written(NamedTuple):
    """A batch in the model's log; ``first_sequence`` is None for a marker."""

    producer_id: int
    epoch: int
    first_sequence: int | None
    records: int
    offset: int
    transactional: bool
    coordinator_epoch: int = -1


class Model:
    """What Kafka promises, straight from the log."""

    def __init__(self) -> None:
        self.log: list[Written] = []

    @property
    def end(self) -> int:
        return self.log[-1].offset + self.log[-1].records if self.log else 0

    def of(self, producer_id: int) -> list[Written]:
        return [batch for batch in self.log if batch.producer_id == producer_id]

    def epoch(self, producer_id: int) -> int | None:
        mine = self.of(producer_id)
        return mine[-1].epoch if mine else None

    def data_of_epoch(self, producer_id: int) -> list[Written]:
        """The producer's data since its epoch last changed."""
        found: list[Written] = []
        for batch in reversed(self.of(producer_id)):
            if batch.epoch != self.epoch(producer_id):
                break
            found.insert(0, batch)
        return [batch for batch in found if batch.first_sequence is not None]

    def open_since(self, producer_id: int) -> int | None:
        first = None
        for batch in self.of(producer_id):
            if batch.first_sequence is None:
                first = None
            elif batch.transactional and first is None:
                first = batch.offset
        return first

    def first_unstable(self, high_watermark: int) -> int | None:
        open_: dict[int, int] = {}
        unstable = []
        for batch in self.log:
            if batch.first_sequence is not None and batch.transactional:
                open_.setdefault(batch.producer_id, batch.offset)
            elif batch.first_sequence is None and batch.producer_id in open_:
                first = open_.pop(batch.producer_id)
                if batch.offset >= high_watermark:
                    unstable.append(first)
        return min([*unstable, *open_.values()], default=None)

    def judge_data(self, batch: Written) -> str:
        known = self.epoch(batch.producer_id)
        if known is None:
            return "ok"
        recent = self.data_of_epoch(batch.producer_id)
        for seen in recent[-5:]:
            if (seen.epoch, seen.first_sequence, seen.records) == (batch.epoch, batch.first_sequence, batch.records):
                return f"duplicate of {seen.offset}"
        if batch.epoch < known:
            return "error 47"
        expected = 0
        if batch.epoch == known and recent:
            expected = ((recent[-1].first_sequence or 0) + recent[-1].records) % SEQUENCES
        if batch.first_sequence != expected:
            return "error 45"
        if not batch.transactional and self.open_since(batch.producer_id) is not None:
            return "error 48"
        return "ok"

    def judge_marker(self, batch: Written, version: int) -> str:
        known = self.epoch(batch.producer_id)
        open_since = self.open_since(batch.producer_id)
        late = known is not None and version >= 2 and batch.epoch == known and open_since is not None
        if known is not None and (batch.epoch < known or late):
            return "error 47"
        decided = [seen.coordinator_epoch for seen in self.of(batch.producer_id) if seen.first_sequence is None]
        if decided and decided[-1] > batch.coordinator_epoch:
            return "error 52"
        return "ok" if open_since is None else f"completes {open_since}"


@dataclass
class Wish:
    """What a producer or coordinator tries, relative to what it should do."""

    producer_id: int
    count: int
    epoch_step: int
    sequence_step: int
    transactional: bool
    marker: bool
    version: int
    coordinator_epoch: int
    retry: int
    snapshot: bool
    high_watermark_lag: int


_STEPS = st.sampled_from([0, 0, 0, 0, 0, 0, 1, -1])
WISHES = st.lists(
    st.builds(
        Wish,
        producer_id=st.integers(0, 2),
        count=st.integers(1, 3),
        epoch_step=_STEPS,
        sequence_step=_STEPS,
        transactional=st.booleans(),
        marker=st.sampled_from([False, False, True]),
        version=st.sampled_from([0, 2]),
        coordinator_epoch=st.sampled_from([1, 1, 1, 2]),
        retry=st.sampled_from([0, 0, 0, 0, 1, 3, 5, 6]),
        snapshot=st.booleans(),
        high_watermark_lag=st.integers(0, 4),
    ),
    min_size=1,
    max_size=40,
)


def write(manager: ProducerStateManager, batch: RecordBatch, origin: AppendOrigin, version: int) -> str:
    try:
        pending = manager.check([batch], origin, transaction_version=version)
    except KafkaError as error:
        return f"error {error.code}"
    if pending.duplicate is not None:
        return f"duplicate of {pending.duplicate.first_offset}"
    manager.apply(pending)
    verdict = "ok"
    for txn in pending.completed_txns:
        verdict = f"completes {txn.first_offset}"
        manager.complete_txn(txn)
    manager.update_map_end_offset(batch.next_offset)
    return verdict


def wished(model: Model, wish: Wish, start: int) -> Written:
    """The batch that a wish comes to, given what its producer has written so far."""
    epoch = model.epoch(wish.producer_id)
    if wish.marker:
        epoch = (epoch or 0) + (wish.version >= 2) + wish.epoch_step
        return Written(wish.producer_id, max(epoch, 0), None, 1, model.end, True, wish.coordinator_epoch)
    sent = model.data_of_epoch(wish.producer_id)
    if wish.retry and len(sent) >= wish.retry:
        return sent[-wish.retry]._replace(offset=model.end)
    if epoch is None:
        return Written(wish.producer_id, 0, start, wish.count, model.end, wish.transactional)
    sequence = ((sent[-1].first_sequence or 0) + sent[-1].records) % SEQUENCES if sent else 0
    if wish.epoch_step == 1 and wish.sequence_step == 0:
        sequence = 0
    goes_on = model.open_since(wish.producer_id) is not None and wish.sequence_step == 0
    sequence = (sequence + wish.sequence_step) % SEQUENCES
    return Written(
        wish.producer_id,
        max(epoch + wish.epoch_step, 0),
        sequence,
        wish.count,
        model.end,
        wish.transactional or goes_on,
    )


def as_batch(batch: Written) -> RecordBatch:
    if batch.first_sequence is None:
        return marker(batch.producer_id, batch.epoch, batch.offset, coordinator_epoch=batch.coordinator_epoch)
    return data(
        batch.producer_id,
        batch.epoch,
        batch.first_sequence,
        batch.offset,
        count=batch.records,
        txn=batch.transactional,
    )


def new_manager(files: CrashFiles) -> ProducerStateManager:
    files.make_dir("/t-0")
    config = ProducerStateManagerConfig(transaction_verification_enabled=False)
    return ProducerStateManager(TopicPartition("t", 0), "/t-0", files, config)


def image(manager: ProducerStateManager) -> list[object]:
    """All that a snapshot keeps; of the batches that is the last."""
    entries = [
        (
            e.producer_id,
            e.producer_epoch,
            e.coordinator_epoch,
            e.last_timestamp,
            e.current_txn_first_offset,
            e.batches[-1:],
        )
        for _, e in sorted(manager.active_producers.items())
    ]
    return [*entries, manager.first_undecided_offset(), manager.map_end_offset]


@settings(max_examples=150, deadline=None)
@given(WISHES, st.sampled_from([0, 7, SEQUENCES - 2]))
def test_the_state_is_what_the_log_says(wishes: list[Wish], start: int) -> None:
    files, model, high_watermark = CrashFiles(), Model(), 0
    manager = new_manager(files)
    for wish in wishes:
        batch = wished(model, wish, start)
        if wish.marker:
            expected = model.judge_marker(batch, wish.version)
            said = write(manager, as_batch(batch), AppendOrigin.COORDINATOR, wish.version)
        else:
            expected = model.judge_data(batch)
            said = write(manager, as_batch(batch), AppendOrigin.CLIENT, 0)
        assert said == expected
        if not said.startswith(("error", "duplicate")):
            model.log.append(batch)
        high_watermark = max(high_watermark, model.end - wish.high_watermark_lag)
        manager.on_high_watermark_updated(high_watermark)
        unstable = manager.first_unstable_offset()
        found = None if unstable is None else unstable.message_offset
        assert found == model.first_unstable(high_watermark)
        for producer_id, entry in manager.active_producers.items():
            recent = model.data_of_epoch(producer_id)[-5:]
            assert [(b.first_sequence, b.first_offset, b.offset_delta + 1) for b in entry.batches] == [
                (seen.first_sequence, seen.offset, seen.records) for seen in recent
            ]
            assert entry.current_txn_first_offset == model.open_since(producer_id)
        if wish.snapshot:
            manager.take_snapshot(sync=False)

    recovered = new_manager(files)
    recovered.truncate_and_reload(0, model.end, 1000)
    for batch in model.log:
        if batch.offset >= recovered.map_end_offset:
            write(recovered, as_batch(batch), AppendOrigin.REPLICATION, -1)
    assert image(recovered) == image(manager)
