"""Whatever happens in whatever order, every listener sees the same records, each once, in order."""

from collections.abc import Awaitable
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.raft.config import MetadataLogConfig
from ottla.raft.offset_and_epoch import OffsetAndEpoch
from ottla.raft.raft_client import CLEANING_INTERVAL_MS, RaftClient
from tests.raft.quorum_of_one import NODE_ID, Witness, client
from tests.raft.turns import TurnRuntime

DIR = "/data"
CONFIG = MetadataLogConfig(segment_bytes=1_500, retention_bytes=4_000)
STEPS = ("append", "append", "append", "turns", "register", "unregister", "snapshot", "clean", "resign", "restart")


class World:
    """One node, and what it must have committed."""

    def __init__(self) -> None:
        self.runtime = TurnRuntime()
        self.runtime.files.make_dir(DIR)
        self.chance = Random(0)
        self.count = 0
        self.snapshots: list[Awaitable[OffsetAndEpoch | None]] = []
        self.boot()

    def boot(self) -> None:
        self.raft: RaftClient[bytes] = client(self.runtime, DIR, log_config=CONFIG)
        self.first = Witness()
        self.witnesses = [self.first]
        self.raft.register(self.first)
        self.runtime.run(self.raft.start())

    def append(self) -> None:
        if self.raft.leader_and_epoch.leader_id is None or self.raft.high_watermark is None:
            return
        records = [b"%d-%d" % (self.count, part) * 10 for part in range(self.chance.randint(1, 3))]
        self.count += 1
        self.raft.schedule_append(self.raft.leader_and_epoch.epoch, records)

    def turns(self) -> None:
        for _ in range(self.chance.randint(1, 4)):
            if self.runtime._ready:
                self.runtime._step()

    def register(self) -> None:
        self.witnesses.append(Witness())
        self.raft.register(self.witnesses[-1])

    def unregister(self) -> None:
        if len(self.witnesses) > 1:
            self.raft.unregister(self.witnesses.pop(self.chance.randrange(1, len(self.witnesses))))

    def snapshot(self) -> None:
        last = self.first.batches[-1] if self.first.batches else None
        if last is not None:
            records = list(self.first.records)
            making = self.raft.create_snapshot(last.last_offset + 1, last.epoch, last.append_time_ms, records)
            self.snapshots.append(self.runtime.spawn(making))  # which goes on meanwhile

    def clean(self) -> None:
        self.runtime.clock.advance_ms(CLEANING_INTERVAL_MS)
        self.runtime.run(self.raft.run_due())

    def resign(self) -> None:
        self.raft.resign(self.raft.leader_and_epoch.epoch)
        if self.chance.random() < 0.7:
            self.runtime.pass_ms(3_000)

    def restart(self) -> None:
        self.settle()
        told = self.first.records
        self.runtime.run(self.raft.stop())
        self.boot()
        assert self.first.records[: len(told)] == told

    def settle(self) -> None:
        self.runtime.pass_ms(3_000)
        for snapshot in self.snapshots:
            self.runtime.run(_outcome(snapshot))
        self.snapshots.clear()
        for witness in self.witnesses:
            assert witness.records == self.first.records
            check(witness)
            assert witness.leaders[-1] == self.raft.leader_and_epoch == (NODE_ID, self.raft.leader_and_epoch.epoch)


async def _outcome(snapshot: Awaitable[OffsetAndEpoch | None]) -> OffsetAndEpoch | None:
    return await snapshot


def check(witness: Witness) -> None:
    """Batches follow each other without a gap, snapshots only reach forward, epochs only rise."""
    position = 0
    for event in witness.events:
        if event[0] == "snapshot":
            snapshot_id = event[1]
            assert isinstance(snapshot_id, OffsetAndEpoch)
            assert snapshot_id.offset >= position
            position = snapshot_id.offset
        elif event[0] == "commit":
            assert event[1] == position
            position = event[2] + 1  # type: ignore[operator]
    epochs = [epoch for _, epoch in witness.leaders]
    assert epochs == sorted(epochs)
    assert len(set(witness.leaders)) == len(witness.leaders)
    assert len(set(witness.records)) == len(witness.records)


@settings(max_examples=60)
@given(st.lists(st.sampled_from(STEPS), min_size=15, max_size=60))
def test_all_listeners_agree(steps: list[str]) -> None:
    world = World()
    for step in steps:
        getattr(world, step)()
    world.settle()
    world.append()
    world.settle()
