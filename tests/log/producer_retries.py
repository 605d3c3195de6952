"""Batches of producers and their retries, before and after the end of a log."""

from typing import NamedTuple

from ottla.log.log import Log
from ottla.records.builder import build_batch
from ottla.records.record import SimpleRecord
from tests.log.log_machine import NOW_MS, Machine
from tests.sim.crash_files import CrashPolicy


class Sent(NamedTuple):
    """A batch of a producer, and where it is in the log."""

    producer_id: int
    epoch: int
    sequence: int
    records: int
    offset: int = -1
    value_bytes: int = 10

    def encoded(self) -> bytearray:
        return build_batch(
            [SimpleRecord(NOW_MS, b"k", bytes(self.value_bytes))] * self.records,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=self.sequence,
        )


def send(log: Log, producer_id: int, sequence: int, count: int = 1, epoch: int = 0, value_bytes: int = 10) -> Sent:
    sent = Sent(producer_id, epoch, sequence, count, value_bytes=value_bytes)
    info = log.append_as_leader(sent.encoded(), 0)
    log.update_high_watermark(log.log_end_offset)
    return sent._replace(offset=info.first_offset)


def check_duplicate(log: Log, sent: Sent) -> None:
    """A retry gets the first answer, and nothing is written."""
    end = log.log_end_offset
    info = log.append_as_leader(sent.encoded(), 0)
    assert (info.first_offset, info.last_offset) == (sent.offset, sent.offset + sent.records - 1)
    assert log.log_end_offset == end


def known(log: Log, producer_id: int) -> list[tuple[int, int, int]]:
    """The batches that are remembered, as (first sequence, offset, count)."""
    entry = log.producer_state.last_entry(producer_id)
    return [] if entry is None else [(b.first_sequence, b.first_offset, b.offset_delta + 1) for b in entry.batches]


def killed(machine: Machine, log: Log) -> Log:
    machine.crash(CrashPolicy.KEEP_ALL)
    return machine.load(log.config)


def stopped(machine: Machine, log: Log) -> Log:
    log.close()
    return machine.load(log.config, clean=True)
