"""A quorum of one: elections, appends, commits, snapshots, restarts."""

import errno
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from ottla.common.errors import InvalidConfigError, KafkaStorageError, RecordListTooLargeError
from ottla.metrics.instruments import Gauge
from ottla.metrics.registry import Registry
from ottla.raft.batch import CommittedBatch
from ottla.raft.config import MetadataLogConfig
from ottla.raft.errors import NotLeaderError
from ottla.raft.raft_client import RaftClient
from ottla.raft.voter_set import VoterSet
from ottla.records.control import LeaderChangeMessage
from ottla.runtime.inline import InlineRuntime, ManualClock
from ottla.runtime.inline import run as run_inline
from tests.raft.quorum_of_one import LOCAL, NODE_ID, STATIC_VOTERS, RawSerde, Witness, client
from tests.raft.turns import TurnRuntime
from tests.sim.crash_files import CrashFiles

DIR = "/data"
LOG_DIR = f"{DIR}/__cluster_metadata-0"
QUORUM_STATE = f"{LOG_DIR}/quorum-state"


@pytest.fixture
def runtime() -> TurnRuntime:
    runtime = TurnRuntime()
    runtime.files.make_dir(DIR)
    return runtime


def started(runtime: TurnRuntime, **options: object) -> tuple[RaftClient[bytes], Witness]:
    raft, witness = client(runtime, DIR, **options), Witness()  # type: ignore[arg-type]
    raft.register(witness)
    runtime.run(raft.start())
    return raft, witness


def append(runtime: TurnRuntime, raft: RaftClient[bytes], *records: bytes) -> int:
    offset = raft.schedule_append(raft.leader_and_epoch.epoch, records)
    runtime.settle()
    return offset


async def append_later(raft: RaftClient[bytes]) -> None:
    raft.schedule_append(1, [b"lost"])


def test_a_new_node_leads_epoch_1_and_commits_its_leader_change(runtime: TurnRuntime) -> None:
    raft, witness = started(runtime)
    assert raft.leader_and_epoch == (NODE_ID, 1)
    assert raft.high_watermark == 1
    assert witness.events == [("commit", 0, 0, ()), ("leader", NODE_ID, 1)]
    expected = LeaderChangeMessage(leader_id=1, voters=(1,), granting_voters=(1,))
    assert witness.batches[0].control_records == (expected,)
    assert runtime.files.read(QUORUM_STATE) == (
        b'{"clusterId":"","leaderId":1,"leaderEpoch":1,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1}],'
        b'"data_version":0}'
    )


def test_an_append_is_told_after_the_call_has_returned_and_the_disk_has_it(runtime: TurnRuntime) -> None:
    raft, witness = started(runtime)
    del witness.events[:]
    assert raft.schedule_append(1, [b"a", b"b"]) == 2
    assert raft.schedule_append(1, [b"c"]) == 3
    assert raft.log_end_offset == 4
    assert witness.events == []
    runtime.settle()
    assert witness.events == [("commit", 1, 2, (b"a", b"b")), ("commit", 3, 3, (b"c",))]
    assert raft.high_watermark == 4


def test_appends_of_one_turn_share_a_write_and_a_flush(runtime: TurnRuntime) -> None:
    raft, _ = started(runtime)
    files = runtime.files
    assert isinstance(files, CrashFiles)
    before = len(files.journal)
    for number in range(50):
        raft.schedule_append(1, [b"%d" % number])
    runtime.settle()
    log = [operation.name for operation in files.journal[before:] if operation.path.endswith(".log")]
    assert log == ["pwrite", "sync"]


def test_what_is_scheduled_during_a_flush_goes_with_the_next(runtime: TurnRuntime) -> None:
    raft, witness = started(runtime)

    class Chain(Witness):
        def handle_commit(self, batch: CommittedBatch[bytes]) -> None:
            super().handle_commit(batch)
            if batch.records and batch.last_offset < 20:
                raft.schedule_append(1, [b"next"])

    chain = Chain()
    raft.register(chain)
    append(runtime, raft, b"first")
    assert chain.records == witness.records == [b"first", *[b"next"] * 19]
    assert raft.high_watermark == 21


def test_a_restart_leads_one_epoch_higher_and_replays(runtime: TurnRuntime) -> None:
    raft, _ = started(runtime)
    append(runtime, raft, b"a", b"b")
    runtime.run(raft.stop())
    for epoch in (2, 3):
        raft, witness = started(runtime)
        assert raft.leader_and_epoch == (NODE_ID, epoch)
        assert witness.records == [b"a", b"b"]
        assert witness.leaders == [(NODE_ID, epoch)]
        assert witness.events[-1] == ("leader", NODE_ID, epoch)
        runtime.run(raft.stop())


def test_a_candidate_that_had_not_won_yet_wins_the_same_epoch(runtime: TurnRuntime) -> None:
    raft, _ = started(runtime)
    runtime.run(raft.stop())
    state = b'{"clusterId":"","leaderId":-1,"leaderEpoch":7,"votedId":1,"appliedOffset":0,"currentVoters":[],'
    file = runtime.files.open(QUORUM_STATE)
    file.truncate(0)
    file.pwrite(state + b'"data_version":0}', 0)
    raft, _ = started(runtime)
    assert raft.leader_and_epoch == (NODE_ID, 7)


def test_a_lost_quorum_state_does_not_repeat_an_epoch(runtime: TurnRuntime) -> None:
    raft, _ = started(runtime)
    runtime.run(raft.stop())
    raft, _ = started(runtime)
    runtime.run(raft.stop())
    runtime.files.remove(QUORUM_STATE)
    raft, _ = started(runtime)
    assert raft.leader_and_epoch == (NODE_ID, 3)


def test_a_late_listener_catches_up_with_the_others(runtime: TurnRuntime) -> None:
    raft, early = started(runtime)
    append(runtime, raft, b"a")
    late = Witness()
    raft.register(late)
    raft.schedule_append(1, [b"b"])
    runtime.settle()
    assert sorted(late.events, key=str) == sorted(early.events, key=str)
    assert late.batches == early.batches
    append(runtime, raft, b"c")
    assert late.records == early.records == [b"a", b"b", b"c"]
    raft.unregister(early)
    append(runtime, raft, b"d")
    assert late.records == [b"a", b"b", b"c", b"d"]
    assert early.records == [b"a", b"b", b"c"]


def test_an_append_that_is_refused_leaves_no_gap(runtime: TurnRuntime) -> None:
    raft, witness = started(runtime, log_config=MetadataLogConfig(max_batch_bytes=1000))
    with pytest.raises(RecordListTooLargeError):
        raft.schedule_append(1, [bytes(1000)])
    with pytest.raises(NotLeaderError):
        raft.schedule_append(0, [b"old"])
    assert append(runtime, raft, b"a") == 1
    assert witness.records == [b"a"]


def test_resigning_drops_what_was_not_written_and_leads_again_two_epochs_later(runtime: TurnRuntime) -> None:
    raft, witness = started(runtime)
    append(runtime, raft, b"a")
    raft.schedule_append(1, [b"dropped"])
    raft.resign(1)
    with pytest.raises(NotLeaderError):
        raft.schedule_append(1, [b"refused"])
    runtime.settle()
    assert raft.high_watermark is None
    assert witness.leaders == [(NODE_ID, 1)]
    runtime.pass_ms(2_000)
    assert witness.leaders == [(NODE_ID, 1), (None, 2), (NODE_ID, 3)]
    raft.resign(1)
    append(runtime, raft, b"b")
    assert witness.records == [b"a", b"b"]
    assert raft.describe_quorum().leader_epoch == 3


@pytest.mark.parametrize("hours", [5, -5])
def test_a_wall_clock_that_is_set_puts_no_election_off(runtime: TurnRuntime, hours: int) -> None:
    runtime.clock.set_now_ms(24 * 3_600_000)
    raft, witness = started(runtime)
    raft.resign(1)
    runtime.clock.set_now_ms((24 + hours) * 3_600_000)
    runtime.settle()
    assert witness.leaders == [(NODE_ID, 1)], "the election timeout is still to pass"
    runtime.pass_ms(2_000)
    assert witness.leaders == [(NODE_ID, 1), (None, 2), (NODE_ID, 3)]


def test_what_was_written_before_resigning_is_committed_by_the_next_epoch(runtime: TurnRuntime) -> None:
    raft, witness = started(runtime)
    raft.schedule_append(1, [b"written"])
    runtime._step()  # the write, not yet the flush
    raft.resign(1)
    runtime.settle()
    assert witness.records == []
    runtime.pass_ms(2_000)
    assert witness.records == [b"written"]
    assert witness.leaders[-1] == (NODE_ID, 3)


def test_a_failing_disk_is_fatal(runtime: TurnRuntime) -> None:
    faults: list[BaseException] = []
    raft: RaftClient[bytes] = RaftClient(
        runtime,
        DIR,
        LOCAL,
        RawSerde(),
        static_voters=STATIC_VOTERS,
        fatal_fault=lambda _, error: faults.append(error),
    )
    witness = Witness()
    raft.register(witness)
    runtime.run(raft.start())
    files = runtime.files
    assert isinstance(files, CrashFiles)
    files.fail_next("sync", "*.log")
    raft.schedule_append(1, [b"lost"])
    runtime.settle()
    assert [type(fault) for fault in faults] == [KafkaStorageError]
    assert witness.records == []
    assert raft.high_watermark == 1
    with pytest.raises(NotLeaderError):
        raft.schedule_append(1, [b"refused"])
    runtime.run(raft.stop())


async def resign(raft: RaftClient[bytes]) -> None:
    raft.resign(1)


async def snapshot(raft: RaftClient[bytes]) -> None:
    with pytest.raises(KafkaStorageError):
        await raft.create_snapshot(2, 1, 0, [b"a"])


async def a_new_listener(raft: RaftClient[bytes]) -> None:
    raft.register(Witness())


@pytest.mark.parametrize(
    ("operation", "path", "use"),
    [
        ("pwrite", "*.log", append_later),
        ("sync", "*.log", append_later),
        ("pwrite", "*/quorum-state.tmp", resign),
        ("sync", "*.part", snapshot),
        ("pread", "*.log", a_new_listener),
    ],
)
def test_a_failing_disk_is_told_with_its_directory(
    runtime: TurnRuntime, operation: str, path: str, use: Callable[[RaftClient[bytes]], Coroutine[Any, Any, None]]
) -> None:
    """Before anything else is: whoever hears of it ends the process."""
    told: list[tuple[str, str]] = []
    raft: RaftClient[bytes] = RaftClient(
        runtime,
        DIR,
        LOCAL,
        RawSerde(),
        static_voters=STATIC_VOTERS,
        fatal_fault=lambda message, error: told.append((message, str(error))),
        on_disk_failure=lambda directory, error: told.append((directory, str(error))),
    )
    runtime.run(raft.start())
    append(runtime, raft, b"a")
    files = runtime.files
    assert isinstance(files, CrashFiles)
    files.fail_next(operation, path)
    runtime.run(use(raft))
    runtime.settle()
    runtime.pass_ms(2_000)
    (directory, error), *rest = told
    assert directory == DIR
    assert "injected failure" in error
    assert [message for message, _ in rest] in ([], ["Unexpected error in raft"])
    raft.halt()
    runtime.run(raft.stop())


@pytest.mark.parametrize("path", ["*.log", "*.checkpoint", "*/quorum-state"])
def test_a_start_on_a_disk_that_cannot_be_read(runtime: TurnRuntime, path: str) -> None:
    raft, _ = started(runtime)
    append(runtime, raft, b"a")
    runtime.run(raft.create_snapshot(2, 1, 0, [b"a"]))
    append(runtime, raft, b"b")
    runtime.run(raft.stop())
    told: list[str] = []
    again: RaftClient[bytes] = RaftClient(
        runtime,
        DIR,
        LOCAL,
        RawSerde(),
        static_voters=STATIC_VOTERS,
        on_disk_failure=lambda directory, _error: told.append(directory),
    )
    files = runtime.files
    assert isinstance(files, CrashFiles)
    for operation in ("pread", "read"):
        files.fail_next(operation, path, times=None)
    with pytest.raises(KafkaStorageError):
        runtime.run(again.start())
    assert told == [DIR]


@pytest.mark.parametrize("operation", ["create", "sync_dir"])
def test_want_of_open_files_is_waited_out(operation: str) -> None:
    """Where the log has to roll, and where it is flushed."""
    files = CrashFiles(ManualClock())
    files.make_dir(DIR)
    raft = client(InlineRuntime(files, ManualClock()), DIR, log_config=MetadataLogConfig(segment_bytes=300))
    witness = Witness()
    raft.register(witness)
    run_inline(raft.start())
    files.fail_next(operation, f"{LOG_DIR}*", times=3, number=errno.EMFILE)
    for number in range(6):
        raft.schedule_append(1, [b"%d" % number + bytes(100)])
    assert [record[:1] for record in witness.records] == [b"0", b"1", b"2", b"3", b"4", b"5"]
    assert raft.failure is None
    run_inline(raft.stop())


def test_others_in_the_quorum_are_refused(runtime: TurnRuntime) -> None:
    voters = VoterSet.from_static("1@a:1,2@b:2", "CONTROLLER")
    raft: RaftClient[bytes] = RaftClient(runtime, DIR, LOCAL, RawSerde(), static_voters=voters)
    with pytest.raises(InvalidConfigError, match=r"Node 1 is not the only voter of its quorum \(1, 2\)"):
        runtime.run(raft.start())


def test_describe_quorum(runtime: TurnRuntime) -> None:
    raft, _ = started(runtime)
    append(runtime, raft, b"a")
    info = raft.describe_quorum()
    assert info[:3] == (NODE_ID, 1, 2)
    (voter,) = info.voters
    assert (voter.replica_id, voter.log_end_offset) == (NODE_ID, 2)
    assert voter.last_fetch_timestamp == voter.last_caught_up_timestamp == runtime.clock.now_ms()
    assert info.observers == ()


def test_metrics(runtime: TurnRuntime) -> None:
    raft, _ = started(runtime)
    append(runtime, raft, b"a", b"b")
    assert raft.metrics.current_state == "leader"
    runtime.clock.advance_ms(1000)
    values = {metric.name: metric.read() for metric in raft.metrics.values()}
    assert values["append-records-rate"] > 0
    assert values["current-leader"] == values["current-vote"] == values["current-epoch"] == 1
    assert values["high-watermark"] == values["log-end-offset"] == 3
    assert values["number-of-voters"] == 1
    registry = Registry()
    raft.metrics.register(registry)
    families = {family.name: family for family in registry.collect(0)}
    (epoch,) = families["kafka_server_raftmetrics_current_epoch"].metrics.values()
    assert isinstance(epoch, Gauge)
    assert epoch.read() == 1
    states = families["kafka_server_raftmetrics_current_state"].source
    assert states is not None
    assert list(states()) == [((("current_state", "leader"),), 1)]


def test_it_runs_in_place_too() -> None:
    runtime = InlineRuntime(files=CrashFiles(ManualClock()), clock=ManualClock())
    raft, witness = client(runtime, DIR), Witness()
    runtime.files.make_dir(DIR)
    raft.register(witness)
    run_inline(raft.start())
    raft.schedule_append(1, [b"a"])
    assert witness.records == [b"a"]
    run_inline(raft.stop())


def test_a_listener_may_bring_another_while_it_is_told() -> None:
    runtime = InlineRuntime(files=CrashFiles(ManualClock()), clock=ManualClock())
    runtime.files.make_dir(DIR)
    raft, late, last = client(runtime, DIR), Witness(), Witness()

    class Host(Witness):
        def handle_commit(self, batch: CommittedBatch[bytes]) -> None:
            super().handle_commit(batch)
            if batch.records == (b"a",):
                raft.register(late)

    host = Host()
    raft.register(host)
    raft.register(last)
    run_inline(raft.start())
    raft.schedule_append(1, [b"a"])
    raft.schedule_append(1, [b"b"])
    assert host.records == late.records == last.records == [b"a", b"b"]


def damage(runtime: TurnRuntime, what: bytes) -> None:
    (name,) = [name for name in runtime.files.list_dir(LOG_DIR) if name.endswith(".log")][:1]
    file = runtime.files.open(f"{LOG_DIR}/{name}")
    file.pwrite(b"?", file.pread(file.size(), 0).index(what))


def test_what_was_never_flushed_and_is_damaged_is_cut_off(runtime: TurnRuntime) -> None:
    raft, _ = started(runtime)
    for record in (b"first", b"second", b"third"):
        append(runtime, raft, record)
    runtime.run(raft.stop())
    damage(runtime, b"second")
    raft, witness = started(runtime)
    assert witness.records == [b"first"]
    assert raft.high_watermark == 3


def test_nothing_below_a_snapshot_is_scanned(runtime: TurnRuntime) -> None:
    raft, witness = started(runtime)
    append(runtime, raft, b"first")
    last = witness.batches[-1]
    runtime.run(raft.create_snapshot(last.last_offset + 1, last.epoch, last.append_time_ms, witness.records))
    append(runtime, raft, b"second")
    runtime.run(raft.stop())
    damage(runtime, b"first")
    raft, witness = started(runtime)
    assert witness.records == [b"first", b"second"]
