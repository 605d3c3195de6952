"""Unclean start: scanning a segment, beside reading it and its CRC alone."""

import os

from crc32c import crc32c

from bench.measure import Cost, Row, alternate, cost_of, print_table
from bench.workload import batch_of, open_log, scratch_directory

_SEGMENT_BYTES = 1 << 30
_BATCH_BYTES = 16_384
_CHUNK_BYTES = 1 << 20


def run(rounds: int = 5) -> list[Row]:
    with scratch_directory() as directory:
        path = f"{directory}/bench-0"
        log = open_log(path)
        batch = batch_of(_BATCH_BYTES)
        while log.size_in_bytes + len(batch) <= _SEGMENT_BYTES:
            log.append_as_leader(bytes(batch), 0)
        end_offset = log.log_end_offset
        log.close_handlers()

        def recover() -> Cost:
            cost = cost_of(lambda: _recover(path, end_offset))
            os.unlink(f"{path}/{end_offset:020d}.snapshot")
            return cost

        costs = alternate({"recover": recover, "read": lambda: cost_of(lambda: _read_and_crc(path))}, rounds)
    ratio = costs["read"].cpu_s / costs["recover"].cpu_s
    rows = [
        Row(
            "recovery of an unclean 1 GiB segment of 16 KiB batches (CPU)",
            f"{ratio:.2f} × read and CRC ({costs['recover'].cpu_s:.2f} against {costs['read'].cpu_s:.2f} s)",
            "≥ 0.5 ×",
            ratio >= 0.5,
        )
    ]
    print_table("Recovery", rows)
    return rows


def _recover(path: str, end_offset: int) -> None:
    log = open_log(path)
    assert log.log_end_offset == end_offset, f"recovery lost records: {log.log_end_offset} of {end_offset}"
    log.close_handlers()


def _read_and_crc(path: str) -> None:
    descriptor = os.open(f"{path}/{0:020d}.log", os.O_RDONLY)
    position = 0
    while chunk := os.pread(descriptor, _CHUNK_BYTES, position):
        crc32c(chunk)
        position += len(chunk)
    os.close(descriptor)
