"""Retries of what was on its way when a broker ended: the log knows it, though Kafka's snapshots do not."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.common.errors import InvalidProducerEpochError, OutOfOrderSequenceError
from ottla.config.topic import LogConfig
from ottla.log import producer_recall
from ottla.log.log import Log
from ottla.log.producer_entry import BatchMetadata
from ottla.records.append_origin import AppendOrigin
from ottla.records.batch import CRC_POSITION, RecordBatch, patch_offset_and_epoch
from ottla.records.control import ControlRecordType, EndTransactionMarker, end_transaction_batch
from ottla.runtime.inline import run
from tests.log.log_machine import T0, A, Machine, batch
from tests.log.partition_disk import NOW_MS, contents_of, open_log
from tests.log.producer_batches import SEQUENCES, emptied_marker
from tests.log.producer_retries import Sent, check_duplicate, killed, known, send, stopped
from tests.sim.crash_files import CrashPolicy

SMALL = LogConfig(segment_bytes=600, index_interval_bytes=150)


def send_marker(log: Log, producer_id: int, epoch: int) -> None:
    marker = end_transaction_batch(
        EndTransactionMarker(ControlRecordType.COMMIT, 0),
        timestamp=NOW_MS,
        producer_id=producer_id,
        producer_epoch=epoch,
    )
    log.append_as_leader(marker, 0, AppendOrigin.COORDINATOR, transaction_version=0)
    log.update_high_watermark(log.log_end_offset)


# Ends of a log, and what is opened after them


def truncated(_: Machine, log: Log) -> Log:
    """What is dropped is not the producers'; the state is that of the snapshot before it all the same."""
    log.roll()
    append_plain(log)
    log.truncate_to(log.log_end_offset - 1)
    return log


ENDS = pytest.mark.parametrize("end", [killed, stopped, truncated])
End = Callable[[Machine, Log], Log]


def append_plain(log: Log) -> None:
    log.append_as_leader(batch(), 0)
    log.update_high_watermark(log.log_end_offset)


@ENDS
@pytest.mark.parametrize("config", [LogConfig(), SMALL])
@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3]])
def test_each_of_the_last_five_batches_is_known(end: End, config: LogConfig, order: list[int]) -> None:
    machine = Machine()
    log = machine.load(config)
    sent = []
    for number in range(7):
        sent.append(send(log, 7, 2 * number, 2))
        send(log, 8, number)
        append_plain(log)
    before = known(log, 7)
    log = end(machine, log)
    assert len(known(log, 7)) < 5
    for number in order:
        check_duplicate(log, sent[2 + number])
    assert known(log, 7) == before
    with pytest.raises(OutOfOrderSequenceError):
        log.append_as_leader(sent[1].encoded(), 0)
    assert send(log, 7, 14, 2).offset == log.log_end_offset - 2


def test_after_a_start_of_a_whole_broker() -> None:
    machine = Machine(A)
    log = machine.start().get_or_create_log(T0)
    sent = [send(log, 7, number) for number in range(5)]
    machine.crash(CrashPolicy.KEEP_ALL)
    manager = machine.start()
    for one in sent:
        check_duplicate(manager.logs[T0], one)
    run(manager.stop())
    log = machine.start().logs[T0]
    for one in sent:
        check_duplicate(log, one)


def test_what_was_sent_since_the_start_is_in_the_way_of_nothing() -> None:
    machine = Machine()
    log = machine.load(SMALL)
    sent = [send(log, 7, number) for number in range(5)]
    log = killed(machine, log)
    for number in range(50):
        send(log, 8, number)
    check_duplicate(log, sent[0])
    assert len(known(log, 7)) == 5


def test_sequences_wrap_around() -> None:
    machine = Machine()
    log = machine.load(SMALL)
    sequences = [(SEQUENCES - 5 + 2 * number) % SEQUENCES for number in range(5)]
    sent = [send(log, 7, sequence, 2) for sequence in sequences]
    log = killed(machine, log)
    for one in sent:
        check_duplicate(log, one)


@ENDS
def test_batches_of_an_earlier_epoch_are_not_recalled(end: End) -> None:
    machine = Machine()
    log = machine.load(SMALL)
    old = send(log, 7, 0)
    other = send(log, 8, 0)
    log.append_as_leader(batch(producer_id=9, sequence=0, transactional=True), 0)
    sent = [send(log, 7, number, epoch=1) for number in range(3)]
    send_marker(log, 9, 1)
    send_marker(log, 8, 0)  # of the same epoch: what was before it counts
    later = send(log, 8, 1)
    log = end(machine, log)
    for one in (*sent, other, later):
        check_duplicate(log, one)
    assert known(log, 7) == [(one.sequence, one.offset, 1) for one in sent]
    with pytest.raises(InvalidProducerEpochError):
        log.append_as_leader(old.encoded(), 0)
    with pytest.raises(OutOfOrderSequenceError):
        log.append_as_leader(Sent(9, 1, 5, 1).encoded(), 0)


@pytest.mark.parametrize("emptied", [False, True])
def test_a_marker_of_another_epoch_ends_the_search(emptied: bool) -> None:
    """The epoch went up and down again, by a leader that was wrong: what was before was forgotten then, too. A marker
    that compaction has emptied did nothing.
    """
    machine = Machine()
    log = machine.load(SMALL)
    first = send(log, 7, 0)
    marker = end_transaction_batch(
        EndTransactionMarker(ControlRecordType.COMMIT, 0), timestamp=NOW_MS, producer_id=7, producer_epoch=1
    )
    if emptied:
        marker = bytearray(emptied_marker(7, 1, 0).bytes)
        marker[CRC_POSITION : CRC_POSITION + 4] = RecordBatch(marker).compute_crc().to_bytes(4, "big")
    for replicated in (marker, Sent(7, 0, 1, 1).encoded(), Sent(7, 0, 2, 1).encoded()):
        patch_offset_and_epoch(replicated, 0, log.log_end_offset, 0)
        log.append_as_follower(replicated, 0)
    before = known(log, 7)
    log = killed(machine, log)
    check_duplicate(log, Sent(7, 0, 1, 1, offset=2))
    if emptied:
        check_duplicate(log, first)
    else:
        with pytest.raises(OutOfOrderSequenceError):
            log.append_as_leader(first.encoded(), 0)
    assert known(log, 7) == before


def test_batches_below_the_start_of_the_log_are_recalled_while_they_are_there() -> None:
    machine = Machine()
    log = machine.load()
    sent = [send(log, 7, number) for number in range(5)]
    log.maybe_increment_log_start_offset(3, "a test")
    log.close()
    log = open_log(contents_of(machine.files, log.directory), log.config, clean_shutdown=True, log_start_offset=3)
    assert log.log_start_offset == 3
    for one in sent:
        check_duplicate(log, one)


# When nothing is read


@pytest.mark.parametrize("sequence", [5, 6, 1000, 4])
def test_what_is_not_before_the_known_batches_is_not_looked_for(sequence: int) -> None:
    machine = Machine()
    log = machine.load()
    for number in range(5):
        send(log, 7, number)
    log = killed(machine, log)

    def never(*_: object) -> list[BatchMetadata]:
        raise AssertionError("it was looked for")

    log.producer_state.earlier_batches = never
    match sequence:
        case 5:
            assert send(log, 7, 5, 2).offset == 5
        case 4:
            check_duplicate(log, Sent(7, 0, 4, 1, offset=4))
            with pytest.raises(OutOfOrderSequenceError):
                send(log, 7, 4, 2)  # only a part of it is known
        case _:
            with pytest.raises(OutOfOrderSequenceError):
                send(log, 7, sequence)


def test_what_is_not_there_is_looked_for_once() -> None:
    machine = Machine()
    log = machine.load()
    for number in range(5, 8):
        send(log, 7, number)
    log = killed(machine, log)
    looked_for = []
    search = log.producer_state.earlier_batches
    assert search is not None

    def count(entry: object, repeated: RecordBatch) -> object:
        looked_for.append(repeated.base_sequence)
        return search(entry, repeated)  # type: ignore[arg-type]

    log.producer_state.earlier_batches = count  # type: ignore[assignment]
    for sequence in (3, 3, 3, 2):
        with pytest.raises(OutOfOrderSequenceError):
            send(log, 7, sequence)
    assert looked_for == [3, 3]  # the first time the two others were found, and there might have been more
    assert len(known(log, 7)) == 3


# Bounds and damage


@pytest.mark.parametrize(
    ("bound", "value"), [("RECALL_BATCHES_MAX", 2), ("RECALL_SEGMENTS_MAX", 2), ("RECALL_BYTES_MAX", 900)]
)
def test_the_search_is_bounded(monkeypatch: pytest.MonkeyPatch, bound: str, value: int) -> None:
    machine = Machine()
    log = machine.load(SMALL)
    sent = [send(log, 7, number, value_bytes=300) for number in range(5)]
    assert len(log.segments) == 5
    log = killed(machine, log)
    with monkeypatch.context() as patched:
        patched.setattr(producer_recall, bound, value)
        with pytest.raises(OutOfOrderSequenceError):
            log.append_as_leader(sent[0].encoded(), 0)
        assert 1 < len(known(log, 7)) < 5
    check_duplicate(log, sent[0])


def test_stretches_that_are_read_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small stretches in one segment, of one batch or several, also where one is larger than a chunk."""
    monkeypatch.setattr(producer_recall, "_FIRST_STRETCH_BYTES", 1)
    machine = Machine()
    log = machine.load(LogConfig(index_interval_bytes=200))
    sent = []
    for number in range(5):
        sent.append(send(log, 7, number, value_bytes=20_000 if number % 2 else 10))
        for _ in range(20):
            append_plain(log)
    log = killed(machine, log)
    check_duplicate(log, sent[0])
    assert known(log, 7) == [(one.sequence, one.offset, 1) for one in sent]


@pytest.mark.parametrize(
    ("number", "at", "flip", "found"),
    [
        (2, 70, 0x7F, 2),
        (2, 11, 0x7F, 1),
        (2, 8, 0x7F, 1),
        (2, 16, 0x7F, 1),
        (2, 7, 0x7F, 1),
        (3, 7, 0x02, 1),
        (3, 11, 0x02, 1),
    ],
    ids=["records", "length", "great length", "magic", "offset raised", "offset lowered", "length of the last"],
)
def test_damage_ends_the_search(number: int, at: int, flip: int, found: int) -> None:
    """A batch that cannot be read is not acknowledged; where headers do not lead on, nothing before is found either."""
    machine = Machine()
    log = machine.load()
    sent = [send(log, 7, sequence) for sequence in range(5)]
    log = stopped(machine, log)
    damaged = log.segments.active.find_batch(number)
    assert damaged is not None
    file = log.segments.active.log_file
    [byte] = file.pread(1, damaged.position + at)
    file.pwrite(bytes([byte ^ flip]), damaged.position + at)
    for sequence in (number, number - 1):
        with pytest.raises(OutOfOrderSequenceError):
            log.append_as_leader(sent[sequence].encoded(), 0)
        assert len(known(log, 7)) == found
    assert send(log, 7, 5).offset == 5


# Random histories

STEPS = st.lists(
    st.tuples(
        st.integers(0, 3),  # 0 is nobody, 3 is a marker of producer 2
        st.integers(1, 3),
        st.sampled_from([0] * 9 + [1]),
        st.booleans(),
    ),
    max_size=30,
)


@settings(max_examples=300, deadline=None)
@given(
    steps=STEPS,
    start=st.sampled_from([0, 7, SEQUENCES - 4]),
    end=st.sampled_from(["kill", "stop", "truncate", "truncate and kill"]),
    data=st.data(),
)
def test_a_reopened_log_knows_what_it_knew(
    steps: list[tuple[int, int, int, bool]], start: int, end: str, data: st.DataObject
) -> None:
    """For each producer the last five batches of its epoch: whichever is repeated gets its first answer, and in the end
    the table is what it was.
    """
    machine = Machine()
    log = machine.load(SMALL)
    epochs, sequences = dict.fromkeys((1, 2), 0), dict.fromkeys((1, 2), start)
    history: list[tuple[int, dict[int, list[Sent]]]] = [(0, {1: [], 2: []})]
    for who, count, bump, roll in steps:
        recent = history[-1][1]
        producer_id = min(who, 2)
        if producer_id and bump:
            epochs[producer_id] += 1
            sequences[producer_id] = 0
        if who == 0:
            append_plain(log)
        elif who == 3:
            send_marker(log, 2, epochs[2])
            if not recent[2]:
                sequences[2] = 0  # nothing of this epoch was before it
            recent = {**recent, 2: [] if bump else recent[2]}
        else:
            sent = send(log, who, sequences[who], count, epochs[who])
            recent = {**recent, who: [*(one for one in recent[who] if one.epoch == sent.epoch), sent][-5:]}
            sequences[who] = (sequences[who] + count) % SEQUENCES
        history.append((log.log_end_offset, recent))
        if roll and log.segments.active.size:
            log.roll()
    if "truncate" in end:
        offset, expected = data.draw(st.sampled_from(history))
        log.truncate_to(offset)
    else:
        expected = history[-1][1]
    if "kill" in end:
        log = killed(machine, log)
    elif end == "stop":
        log = stopped(machine, log)
    for producer_id in (1, 2):
        for one in data.draw(st.permutations(expected[producer_id])):
            check_duplicate(log, one)
        assert known(log, producer_id) == [(one.sequence, one.offset, one.records) for one in expected[producer_id]]
