"""No committed record is lost, and no epoch is led twice, wherever the power goes."""

from random import Random

import pytest

from ottla.raft.config import MetadataLogConfig
from ottla.raft.raft_client import CLEANING_INTERVAL_MS, RaftClient
from ottla.runtime.inline import ManualClock
from tests.raft.quorum_of_one import Witness, client
from tests.raft.turns import TurnRuntime
from tests.sim.crash_files import CrashFiles, CrashPolicy, PowerLoss, SyncSite

DIR = "/data"
CONFIG = MetadataLogConfig(segment_bytes=1_200, retention_bytes=3_000, delete_delay_ms=1_000)


class Life:
    """One node over a disk that loses power: what listeners were told, and which epochs it led."""

    def __init__(self, seed: int, changes: int) -> None:
        self.clock = ManualClock(1_000_000)
        self.files = CrashFiles(self.clock)
        self.files.make_dir(DIR)
        self.files.sync_all()
        self.changes = changes
        self.rng = Random(seed)
        self.told: list[bytes] = []
        self.epochs: list[int] = []

    def boot(self) -> tuple[TurnRuntime, RaftClient[bytes], Witness]:
        runtime = self.runtime = TurnRuntime(self.files, self.clock, self.rng.randrange(1 << 30))
        raft, witness = client(runtime, DIR, log_config=CONFIG), Witness()
        raft.register(witness)
        runtime.run(raft.start())
        return runtime, raft, witness

    def story(self) -> None:
        """Append, roll, snapshot, clean; everything that the witness has heard is noted as it hears it."""
        runtime, raft, witness = self.boot()
        self.epochs.append(raft.leader_and_epoch.epoch)
        self._note(witness)
        for number in range(12):
            for part in range(self.rng.randint(1, 3)):
                raft.schedule_append(raft.leader_and_epoch.epoch, [b"%d.%d" % (number, part) * 20, b"and"])
            try:
                runtime.settle()
            finally:
                self._note(witness)
            if number % 3 == 2:
                last = witness.batches[-1]
                records = list(witness.records)
                runtime.run(raft.create_snapshot(last.last_offset + 1, last.epoch, last.append_time_ms, records))
                self.clock.advance_ms(CLEANING_INTERVAL_MS)
                runtime.run(raft.run_due())
        runtime.run(raft.stop())

    def _note(self, witness: Witness) -> None:
        if len(witness.records) > len(self.told):
            assert witness.records[: len(self.told)] == self.told
            self.told = list(witness.records)

    def live_until_the_power_goes(self) -> bool:
        """Whether the story ended before that."""
        self.files.power_off_after(self.changes)
        try:
            self.story()
        except PowerLoss:
            self.runtime.drop()
            return False
        return True

    def check_after(self, policy: CrashPolicy) -> None:
        self.files.crash(self.rng, policy=policy)
        runtime, raft, witness = self.boot()
        assert witness.records[: len(self.told)] == self.told
        epoch = raft.leader_and_epoch.epoch
        assert all(epoch > led for led in self.epochs)
        raft.schedule_append(epoch, [b"life goes on"])
        runtime.settle()
        assert witness.records[-1] == b"life goes on"
        runtime.run(raft.stop())


@pytest.mark.parametrize("policy", list(CrashPolicy))
def test_the_power_may_go_at_any_change_of_the_disk(policy: CrashPolicy) -> None:
    for seed in range(3):
        ended = False
        step = 0
        while not ended:
            life = Life(seed * 1_000 + step, step)
            ended = life.live_until_the_power_goes()
            life.check_after(policy)
            step += 1
        assert step > 100
        assert len(life.told) > 24
        done = {operation.name for operation in life.files.journal if operation.detail.endswith(".deleted")}
        assert done == {"rename"}, "the story cleaned nothing"


def test_a_commit_before_the_flush_would_be_caught() -> None:
    """The check can fail: without the fsync of the record file committed records are lost."""

    def of_the_log(site: SyncSite) -> bool:
        return site.function == "sync" and site.filename.endswith("segment.py")

    life = Life(1, 1 << 30)
    life.files.ignore_sync_at(of_the_log)
    runtime, raft, witness = life.boot()
    raft.schedule_append(1, [b"told too early"])
    runtime.settle()
    life.told = list(witness.records)
    with pytest.raises(AssertionError):
        life.check_after(CrashPolicy.DROP_UNSYNCED)


def test_a_snapshot_that_was_announced_is_there() -> None:
    life = Life(2, 1 << 30)
    runtime, raft, witness = life.boot()
    raft.schedule_append(1, [b"a"])
    runtime.settle()
    last = witness.batches[-1]
    made = raft.create_snapshot(last.last_offset + 1, 1, last.append_time_ms, witness.records)
    assert runtime.run(made) == (2, 1)
    life.told = list(witness.records)
    life.files.crash(life.rng, policy=CrashPolicy.DROP_UNSYNCED)
    _, raft, witness = life.boot()
    assert raft.latest_snapshot_id == (2, 1)
    assert witness.records == [b"a"]
