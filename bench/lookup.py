"""Finding an offset: index, then a walk over batch headers."""

from collections.abc import Callable
from functools import partial
from random import Random

from bench.measure import Row, alternate, cost_of, print_table
from bench.workload import batch_of, open_log, scratch_directory

_LOG_BYTES = 256 << 20
_LOOKUPS = 20_000


def run(rounds: int = 7) -> list[Row]:
    rows = []
    for size_bytes in (1024, 16_384):
        with scratch_directory() as directory:
            log = open_log(f"{directory}/bench-0")
            batch = batch_of(size_bytes)
            while log.size_in_bytes < _LOG_BYTES:
                log.append_as_leader(bytes(batch), 0)
            rng = Random(7)
            offsets = [rng.randrange(log.log_end_offset) for _ in range(_LOOKUPS)]
            costs = alternate(
                {
                    "find": partial(cost_of, partial(_each, log.segments.active.find_batch, offsets)),
                    "read": partial(cost_of, partial(_each, partial(log.read, max_bytes=1 << 20), offsets)),
                },
                rounds,
            )
            log.close_handlers()
        find_us, read_us = (costs[name].cpu_s / _LOOKUPS * 1e6 for name in ("find", "read"))
        label = f"{size_bytes // 1024} KiB batches (CPU)"
        rows.append(Row(f"random offset lookup, {label}", f"{find_us:.1f} µs", "≤ 10 µs", find_us <= 10))
        rows.append(Row(f"whole read down to a file range, {label}", f"{read_us:.1f} µs", ""))
    print_table("Lookup", rows)
    return rows


def _each(look_up: Callable[[int], object], offsets: list[int]) -> None:
    for offset in offsets:
        look_up(offset)
