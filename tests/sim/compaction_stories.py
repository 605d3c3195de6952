"""Stories of compacted logs (see :mod:`tests.sim.stories`)."""

from collections.abc import Callable, Iterator

from tests.sim.log_stories import ABORT, COMMIT
from tests.sim.machine import COMPACTED, Machine


def dirty(machine: Machine, rounds: int = 6) -> None:
    """A compacted log with every key several times, and transactions."""
    for number in range(rounds):
        machine.append(COMPACTED, keys=(b"a", b"b", b"own %d" % number))
        machine.append(COMPACTED, keys=(b"b", b"c"), producer_id=7)
        machine.append(COMPACTED, keys=(b"c", b"d"), producer_id=8, transactional=True)
        machine.end_transaction(COMPACTED, 8, COMMIT if number % 3 else ABORT)
    machine.append(COMPACTED, keys=(b"own 1",), tombstone=True)
    machine.log(COMPACTED).roll()


def truncate_compacted(machine: Machine) -> Iterator[None]:
    """A hole in a compacted log looks like compaction: nobody would notice that a segment came back."""
    machine.start()
    machine.create(COMPACTED)
    dirty(machine)
    machine.flush(COMPACTED)
    machine.checkpoint()
    yield
    machine.truncate(COMPACTED, 8)
    machine.epoch = 3
    machine.append(COMPACTED, keys=(b"a", b"z"))
    machine.flush(COMPACTED)


def dirty_again(machine: Machine) -> None:
    """A log that was compacted and is dirty again: small segments, which the next compaction merges."""
    machine.start()
    machine.create(COMPACTED)
    dirty(machine)
    machine.flush(COMPACTED)
    machine.clean()
    machine.run_deletions()
    dirty(machine, rounds=2)
    machine.flush(COMPACTED)
    machine.checkpoint()


def compaction_swap(machine: Machine) -> Iterator[None]:
    dirty_again(machine)
    yield
    machine.clean()
    machine.run_deletions()
    machine.append(COMPACTED, keys=(b"a", b"z"))
    machine.flush(COMPACTED)


def interrupted_swap(renames: int) -> Callable[[Machine], Iterator[None]]:
    """A swap that stopped in the middle, and the start that puts it right."""

    def story(machine: Machine) -> Iterator[None]:
        dirty_again(machine)
        machine.interrupt(COMPACTED, machine.clean, renames)
        yield
        machine.start()
        machine.check()
        machine.append(COMPACTED, keys=(b"a", b"z"))

    story.__name__ = f"interrupted_swap_after_{renames}_renames"
    return story


def compaction_before_flush(machine: Machine) -> Iterator[None]:
    machine.start()
    machine.create(COMPACTED)
    many = tuple(b"key %d" % number for number in range(20))
    machine.append(COMPACTED, keys=many)
    machine.log(COMPACTED).roll()
    machine.append(COMPACTED, keys=(b"own",))
    machine.log(COMPACTED).roll()
    machine.flush(COMPACTED)
    machine.ledgers[COMPACTED].holes_allowed = True
    machine.runtime.hold_flushes = True
    for _ in range(2):
        machine.append(COMPACTED, keys=many)
        machine.log(COMPACTED).roll()
    yield
    machine.drive(machine.manager.cleaner.clean_filthiest())
    machine.checkpoint()
