"""A broker that dies at any write while it ends a transaction for its producer: fenced, or after its time.

tests/server/test_txn_crashes.py kills it in transactions that their producers end.
"""

from collections.abc import Callable
from itertools import count

import pytest

from tests.server.test_txn_crashes import TXN, Producer, check, fence
from tests.server.txn_world import PARTITIONS, TxnWorld
from tests.sim.crash_files import PowerLoss

VERSIONS = (0, 1, 2)
TIMEOUT_MS = 60_000
LONG_ENOUGH_MS = TIMEOUT_MS + 20_000
"""Transactions are looked through every ten seconds."""


def begun(version: int) -> TxnWorld:
    """A world in which one transaction is committed, and another has written everywhere."""
    world = TxnWorld(version)
    producer = Producer(world)
    producer.write("a")
    producer.end(committed=True)
    producer.write("b")
    return world


def new_producer(world: TxnWorld) -> None:
    fence(world)


def its_time_is_over(world: TxnWorld) -> None:
    world.pass_ms(LONG_ENOUGH_MS)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("end", [new_producer, its_time_is_over])
def test_killed_at_any_write_while_a_transaction_is_ended(end: Callable[[TxnWorld], None], version: int) -> None:
    """It is over at last, without anybody's help, and nothing of it is seen."""
    found_after: dict[str, int] = {}
    for writes in count():
        world = begun(version)
        world.machine.files.power_off_after(writes)
        try:
            end(world)
        except PowerLoss:
            pass
        else:
            break
        world = world.die()
        found = world.state(TXN)
        found_after[found] = found_after.get(found, 0) + 1
        world.pass_ms(100)
        if found != "Ongoing":
            assert world.open_transactions() == {}, "what is decided has been carried out"
        world.pass_ms(LONG_ENOUGH_MS)
        assert world.state(TXN) in ("CompleteAbort", "Empty")
        check(world, ["a"])
        fence(world)
        check(world, ["a"])
        assert world.committed(PARTITIONS[0]) == ["a"]
        world.runtime.drop()
    assert end is its_time_is_over or "CompleteAbort" in found_after
    assert found_after["Ongoing"] == 1, "only the decision is still to be written then"
    assert found_after["PrepareAbort"] >= len(PARTITIONS) + 2, "before any of the markers, and before the end"


@pytest.mark.parametrize("version", VERSIONS)
def test_killed_at_any_write_of_a_recovery_that_ends_what_timed_out(version: int) -> None:
    """The time was over while the broker was away; it dies again whenever it does something about it."""
    for writes in count():
        world = begun(version).die()
        world.machine.clock.advance_ms(LONG_ENOUGH_MS)
        world.machine.files.power_off_after(writes)
        try:
            world.pass_ms(LONG_ENOUGH_MS)
        except PowerLoss:
            world = world.die()
            world.pass_ms(LONG_ENOUGH_MS)
        else:
            break
        assert world.state(TXN) == "CompleteAbort"
        check(world, ["a"])
        world.runtime.drop()
    assert writes >= len(PARTITIONS) + 3, "the decision, markers, also of the offsets, and the end"
