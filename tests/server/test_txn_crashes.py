"""A broker that dies anywhere in a transaction: what was decided is carried out, the rest is aborted, nothing hangs."""

from collections.abc import Iterator
from itertools import count

import pytest

from ottla.common.error_code import ErrorCode
from tests.server.txn_world import PARTITIONS, TxnWorld
from tests.sim.crash_files import PowerLoss

TXN = "txn"
STORY = (("a", True), ("b", False), ("c", True))
"""Transactions of one producer, and whether they are committed."""


class Producer:
    """Writes one value to each partition in a transaction, and commits an offset."""

    def __init__(self, world: TxnWorld) -> None:
        self.world = world
        response = world.init(TXN)
        assert response.error_code == 0
        self.producer = (response.producer_id, response.producer_epoch)
        self._sequence = 0

    def write(self, value: str) -> None:
        if self.world.version < 2:
            self.world.add(TXN, self.producer, *PARTITIONS)
        for one in PARTITIONS:
            code = self.world.produce(TXN, self.producer, one, value, sequence=self._sequence)
            assert code == 0, ErrorCode(code).name
        self._sequence += 1
        if self.world.version < 2:
            assert self.world.add_offsets(TXN, self.producer) == 0
        code = self.world.commit_offset(TXN, self.producer, ord(value))
        assert code == 0, ErrorCode(code).name

    def end(self, *, committed: bool) -> None:
        response = self.world.end(TXN, self.producer, committed=committed)
        assert response.error_code == 0
        if self.world.version >= 2:
            self.producer = (response.producer_id, response.producer_epoch)
            self._sequence = 0


def tell(world: TxnWorld) -> Iterator[str]:
    """Go through the story; yields a transaction when its end has been acknowledged."""
    producer = Producer(world)
    for name, committed in STORY:
        producer.write(name)
        producer.end(committed=committed)
        yield name


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_story_without_a_crash(version: int) -> None:
    world = TxnWorld(version)
    assert list(tell(world)) == ["a", "b", "c"]
    assert [world.committed(one) for one in PARTITIONS] == [["a", "c"]] * 3
    assert world.offset() == (ord("c"), 0)
    assert world.state(TXN) == "CompleteCommit"
    assert world.open_transactions() == {}


@pytest.mark.parametrize("version", [0, 1, 2])
def test_killed_before_any_write_to_the_disk(version: int) -> None:
    """Every record of the coordinator's log, every batch and every marker is a write: none may be one too many."""
    found_after: dict[str, int] = {}
    for writes in count():
        world = TxnWorld(version)
        world.machine.files.power_off_after(writes)
        acknowledged: list[str] = []
        try:
            acknowledged.extend(tell(world))
        except PowerLoss:
            pass
        else:
            break
        world = world.die()
        found = world.state(TXN)  # as its log had it: it has not gone on yet
        found_after[found] = found_after.get(found, 0) + 1
        world.pass_ms(100)
        assert not world.open_transactions() or found == "Ongoing", "what is decided has been carried out"
        fence(world)
        check(world, acknowledged)
        world.runtime.drop()
    assert set(found_after) == {
        "",
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
    }
    assert found_after["PrepareAbort"] > len(PARTITIONS), "it has died between any two markers"
    assert found_after["PrepareCommit"] > 2 * len(PARTITIONS)


@pytest.mark.parametrize("version", [0, 2])
def test_killed_again_while_it_recovers(version: int) -> None:
    """The markers of a prepared transaction are written again, however often that is interrupted."""
    for writes in count():
        world = TxnWorld(version)
        producer = Producer(world)
        producer.write("a")
        world.machine.files.power_off_after(2)  # the decision, and one marker
        with pytest.raises(PowerLoss):
            producer.end(committed=True)
        world = world.die()
        assert world.state(TXN) == "PrepareCommit"
        world.machine.files.power_off_after(writes)
        try:
            world.pass_ms(100)
        except PowerLoss:
            world = world.die()
            world.pass_ms(100)
        else:
            break
        assert world.state(TXN) == "CompleteCommit"
        fence(world)
        check(world, ["a"])
        world.runtime.drop()
    assert writes == len(PARTITIONS) + 2, "markers, also of the offsets, and that the transaction is complete"


def fence(world: TxnWorld) -> None:
    """The next producer with that transactional id begins, which ends what the last one left open."""
    code = world.init(TXN).error_code
    if code == ErrorCode.CONCURRENT_TRANSACTIONS:
        code = world.init(TXN).error_code
    assert code == 0, ErrorCode(code).name


def check(world: TxnWorld, acknowledged: list[str]) -> None:
    """Nothing hangs, nothing that was aborted is seen, and what was acknowledged is in all partitions or in none."""
    assert world.open_transactions() == {}
    for one in PARTITIONS:
        log = world.broker.log(one)
        assert log.last_stable_offset == log.log_end_offset
    seen = world.committed(PARTITIONS[0])
    assert [world.committed(one) for one in PARTITIONS] == [seen] * 3, "a transaction is in some partitions only"
    committed = [name for name, is_committed in STORY if is_committed]
    assert seen == committed[: len(seen)]
    assert world.offset() == (ord(seen[-1]) if seen else -1, 0), "records and offsets belong together"
    assert set(seen) >= set(acknowledged) & set(committed)
