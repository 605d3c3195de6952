"""Stories of appending, rolling, retention, truncation, stopping and deleting (see :mod:`tests.sim.stories`)."""

from collections.abc import Iterator

from ottla.common.uuid import Uuid
from ottla.log.clean_shutdown import CleanShutdownFile
from ottla.records.control import ControlRecordType
from tests.sim.machine import PLAIN, SHORT, Machine

ABORT, COMMIT = ControlRecordType.ABORT, ControlRecordType.COMMIT
TOPIC_ID = Uuid.from_string("Ar3u7SNGQHWe_rmJkZm2Nw")


def first_start(machine: Machine) -> Iterator[None]:
    yield
    machine.start()
    machine.create(PLAIN, TOPIC_ID)
    machine.append(PLAIN, 3)
    machine.flush(PLAIN)


def append_and_flush(machine: Machine) -> Iterator[None]:
    machine.start()
    machine.create(PLAIN)
    machine.append(PLAIN, 3)
    machine.checkpoint()
    yield
    machine.append(PLAIN, 3, producer_id=7)
    machine.flush(PLAIN)
    machine.append(PLAIN, 2, producer_id=8, transactional=True)
    machine.checkpoint()
    machine.end_transaction(PLAIN, 8, ABORT)
    machine.flush(PLAIN)
    machine.append(PLAIN, 2)


def write_segments(machine: Machine) -> None:
    """About three segments: producers, transactions that end either way, two epochs."""
    for number in range(6):
        machine.epoch = number // 3
        machine.append(PLAIN, 3)
        machine.append(PLAIN, 2, producer_id=7)
        machine.append(PLAIN, 2, producer_id=8, transactional=True)
        machine.end_transaction(PLAIN, 8, COMMIT if number % 2 else ABORT)


def roll(machine: Machine) -> Iterator[None]:
    machine.start()
    machine.create(PLAIN)
    machine.append(PLAIN, 3)
    yield
    write_segments(machine)
    machine.checkpoint()
    machine.append(PLAIN, 2, producer_id=7)
    machine.flush(PLAIN)
    machine.checkpoint()


def delete_records(machine: Machine) -> Iterator[None]:
    machine.start()
    machine.create(PLAIN)
    write_segments(machine)
    yield
    machine.delete_records(PLAIN, 17)
    machine.epoch = 5
    machine.append(PLAIN)
    machine.checkpoint()
    machine.retain(PLAIN)
    machine.checkpoint()
    machine.run_deletions()


def retention(machine: Machine) -> Iterator[None]:
    machine.start()
    machine.create(SHORT)
    machine.append(SHORT, 2, producer_id=7)
    for _ in range(12):
        machine.append(SHORT, 3, producer_id=8)
    yield
    machine.append(SHORT, 3)
    assert machine.retain(SHORT)
    machine.flush(SHORT)
    machine.checkpoint()
    # All batches of producer 7 are gone; what is known of it lives in snapshots alone.
    machine.ledgers[SHORT].remembered_producers.add(7)
    machine.run_deletions()
    machine.append(SHORT, 3)
    machine.flush(SHORT)


def truncate(machine: Machine) -> Iterator[None]:
    machine.start()
    machine.create(PLAIN)
    write_segments(machine)
    machine.flush(PLAIN)
    machine.checkpoint()
    assert machine.log(PLAIN).segments.active.base_offset > 19
    yield
    machine.truncate(PLAIN, 19)
    machine.epoch = 3
    machine.append(PLAIN, 2)
    machine.append(PLAIN, 1, producer_id=9)
    machine.append(PLAIN, 2, producer_id=9)
    machine.flush(PLAIN)
    machine.checkpoint()
    machine.run_deletions()


def truncate_within_a_segment(machine: Machine) -> Iterator[None]:
    machine.start()
    machine.create(PLAIN)
    machine.append(PLAIN, 3)
    machine.append(PLAIN, 2, producer_id=8, transactional=True)
    machine.end_transaction(PLAIN, 8, ABORT)
    machine.append(PLAIN, 3)
    machine.flush(PLAIN)
    machine.checkpoint()
    yield
    machine.truncate(PLAIN, 3)
    machine.epoch = 1
    machine.append(PLAIN, 2)
    machine.append(PLAIN, 4)
    machine.flush(PLAIN)


def truncate_fully(machine: Machine) -> Iterator[None]:
    machine.start()
    machine.create(PLAIN)
    write_segments(machine)
    machine.flush(PLAIN)
    machine.checkpoint()
    yield
    machine.truncate_fully(PLAIN, 100)
    machine.epoch = 4
    machine.append(PLAIN, 2, producer_id=5)
    machine.flush(PLAIN)
    machine.checkpoint()
    machine.append(PLAIN, 2)


def delete_records_before_flush(machine: Machine) -> Iterator[None]:
    machine.start()
    machine.create(PLAIN)
    machine.runtime.hold_flushes = True
    write_segments(machine)
    yield
    machine.delete_records(PLAIN, machine.log(PLAIN).log_end_offset)
    machine.drive(machine.manager.checkpoint_recovery_points())
    machine.runtime.hold_flushes = False
    machine.flush(PLAIN)


def clean_stop(machine: Machine) -> Iterator[None]:
    machine.start()
    machine.create(PLAIN)
    write_segments(machine)
    yield
    machine.stop()
    machine.start()
    machine.check()
    machine.append(PLAIN, 3, producer_id=9)
    machine.append(PLAIN, 3)


def stop_unflushed(machine: Machine) -> Iterator[None]:
    machine.start()
    machine.create(PLAIN)
    machine.flush(PLAIN)
    yield
    machine.append(PLAIN, 3, producer_id=8, transactional=True)
    machine.end_transaction(PLAIN, 8, ABORT)
    for number in range(5):
        machine.append(PLAIN, 2 + number, producer_id=7)
    machine.delete_records(PLAIN, 4)
    machine.stop()
    # All batches of producer 8 are given up, and no roll has taken a snapshot.
    machine.ledgers[PLAIN].remembered_producers.add(8)


def delete_log(machine: Machine) -> Iterator[None]:
    machine.start()
    machine.create(SHORT)
    machine.append(SHORT, 3)
    machine.create(PLAIN)
    machine.append(PLAIN, 3)
    machine.flush(PLAIN)
    yield
    machine.delete(SHORT)
    machine.run_deletions()


def replace_current_with_future(machine: Machine) -> Iterator[None]:
    machine.start()
    machine.create(PLAIN)
    write_segments(machine)
    machine.flush(PLAIN)
    machine.checkpoint()
    machine.copy_to_future(PLAIN)
    yield
    machine.replace_current_with_future(PLAIN)
    machine.run_deletions()


def clean_shutdown_marker(machine: Machine) -> Iterator[None]:
    """Gone from the disk before anything else is written."""
    machine.start()
    machine.stop()
    yield
    machine.is_marked = None
    CleanShutdownFile(machine.disk, machine.paths[0]).delete()
    machine.is_marked = False
