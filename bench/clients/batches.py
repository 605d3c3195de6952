"""``send_batch`` of 100 B values, a table or a list a call, beside confluent-kafka's ``produce``, one by one."""

from collections import defaultdict
from statistics import median

from bench.clients.arena import ClientArena
from bench.clients.batch_producers import CLIENTS, measure
from bench.clients.producers import Load
from bench.measure import Row

RECORDS = 800_000
VALUE_BYTES = 100
WAYS = (
    ("1 partition", 1, False, "none"),
    ("8 partitions", 8, False, "none"),
    ("8 partitions, keys", 8, True, "none"),
    ("8 partitions, keys, lz4", 8, True, "lz4"),
)
OURS, THEIRS, RATIO = "ottla, Arrow", "confluent, no callback", 2.0


def batches(arena: ClientArena) -> list[Row]:
    """A table a way; the bar is on records for a second of the producer's CPU, all its threads together."""
    rows = []
    records = RECORDS // 4 if arena.quick else RECORDS
    for what, partitions, is_keyed, codec in WAYS:
        loads: dict[str, list[Load]] = defaultdict(list)
        for _ in range(arena.rounds):
            for client in CLIENTS:
                with arena.topic(partitions) as topic:
                    plan = {"records": records, "value_bytes": VALUE_BYTES, "keyed": is_keyed, "codec": codec}
                    loads[client].append(measure(client, bootstrap=arena.bootstrap, topic=topic, **plan))
                    arena.check_count(topic, partitions, records + 1)
        print(f"\nsend_batch, {VALUE_BYTES} B, acks=all, {what}")
        print(f"  {'':23} {'records/s':>12} {'CPU a record':>14} {'records/s a core':>18} {'peak memory':>12}")
        per_core = {}
        for client, measured in loads.items():
            cpu_us = median(load.cpu_s / load.records for load in measured) * 1e6
            rate = median(load.records / load.wall_s for load in measured)
            peak_mb = median(load.peak_bytes for load in measured) / 1e6
            per_core[client] = 1e6 / cpu_us
            print(
                f"  {client:23} {rate:>12,.0f} {cpu_us:>11.2f} µs {per_core[client]:>18,.0f} {peak_mb:>9,.0f} MB",
                flush=True,
            )
        ratio = per_core[OURS] / per_core[THEIRS]
        rows.append(Row(f"send_batch, {what}, against {THEIRS}", f"{ratio:.1f} ×", f"≥ {RATIO:g} ×", ratio >= RATIO))
        print(f"  {OURS} is {ratio:.1f} × {THEIRS} (bar: {RATIO:g} ×)")
    return rows
