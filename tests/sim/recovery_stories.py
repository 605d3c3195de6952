"""Stories of starting on what a crash has left, with more crashes meanwhile (see :mod:`tests.sim.stories`)."""

from collections.abc import Iterator

from ottla.log.names import log_file_name, offset_index_file_name, txn_index_file_name
from tests.sim.compaction_stories import dirty
from tests.sim.log_stories import write_segments
from tests.sim.machine import COMPACTED, PLAIN, Machine


def recovery(machine: Machine) -> Iterator[None]:
    """Three segments, never flushed, with damage in the middle one."""
    machine.start()
    machine.create(PLAIN)
    write_segments(machine)
    machine.flush(PLAIN)
    machine.damage(PLAIN, segment=1)
    yield
    machine.start()
    machine.check()
    machine.append(PLAIN, 4)
    machine.flush(PLAIN)


def recovery_of_a_compacted_log(machine: Machine) -> Iterator[None]:
    """As above; behind the damage nobody would notice a hole."""
    machine.start()
    machine.create(COMPACTED)
    dirty(machine)
    machine.flush(COMPACTED)
    machine.damage(COMPACTED, segment=1)
    yield
    machine.start()
    machine.check()


def recovery_of_indexes(machine: Machine) -> Iterator[None]:
    """Index files whose names were lost, from the recovery point on and below it."""
    machine.start()
    machine.create(PLAIN)
    write_segments(machine)
    machine.flush(PLAIN)
    second = machine.log(PLAIN).segments.values()[1].base_offset
    machine.lose(PLAIN, offset_index_file_name(0), txn_index_file_name(0), txn_index_file_name(second))
    yield
    machine.start()
    machine.check()
    machine.append(PLAIN, 4)
    machine.flush(PLAIN)
    machine.checkpoint()


def recovery_of_everything_lost(machine: Machine) -> Iterator[None]:
    """The log start was moved to the end, and then the records were lost."""
    machine.start()
    machine.create(PLAIN)
    write_segments(machine)
    machine.delete_records(PLAIN, machine.log(PLAIN).log_end_offset)
    machine.checkpoint()
    machine.lose(PLAIN, *(log_file_name(base) for base in machine.log(PLAIN).segments.base_offsets))
    yield
    machine.start()
    machine.append(PLAIN, 4)
    machine.flush(PLAIN)
