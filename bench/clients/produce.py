"""``send`` one by one, 100 B values: Ottla's producer, aiokafka's, confluent-kafka's and kafka-python's."""

from collections import defaultdict
from statistics import median

from bench.clients.arena import ClientArena
from bench.clients.producers import CLIENTS, Load, measure
from bench.measure import Row

RECORDS = 200_000
VALUE_BYTES = 100
RATIO = 2.0
WAYS = (("1 partition", 1, False), ("8 partitions", 8, False), ("8 partitions, keys", 8, True))


def produce(arena: ClientArena) -> list[Row]:
    """A table a way; the bar is on records for a second of the client's CPU, which other processes cannot slow down."""
    rows = []
    for what, partitions, is_keyed in WAYS:
        loads: dict[str, list[Load]] = defaultdict(list)
        for _ in range(arena.rounds):
            for client in CLIENTS:
                with arena.topic(partitions) as topic:
                    records = RECORDS // 4 if arena.quick else RECORDS
                    loads[client].append(
                        measure(
                            client,
                            bootstrap=arena.bootstrap,
                            topic=topic,
                            records=records,
                            value_bytes=VALUE_BYTES,
                            keyed=is_keyed,
                        )
                    )
                    arena.check_count(topic, partitions, records + 1)
        print(f"\nsend one by one, {VALUE_BYTES} B, acks=all, {what}")
        print(f"  {'':16} {'records/s':>12} {'CPU a record':>14} {'records/s a core':>18} {'peak memory':>12}")
        per_core = {}
        for client, measured in loads.items():
            cpu_us = median(load.cpu_s / load.records for load in measured) * 1e6
            rate = median(load.records / load.wall_s for load in measured)
            peak_mb = median(load.peak_bytes for load in measured) / 1e6
            per_core[client] = 1e6 / cpu_us
            print(
                f"  {client:16} {rate:>12,.0f} {cpu_us:>11.2f} µs {per_core[client]:>18,.0f} {peak_mb:>9,.0f} MB",
                flush=True,
            )
        ratio = per_core["ottla"] / per_core["aiokafka"]
        rows.append(Row(f"send, {what}, against aiokafka", f"{ratio:.1f} ×", f"≥ {RATIO:g} ×", ratio >= RATIO))
        print(f"  Ottla is {ratio:.1f} × aiokafka (bar: {RATIO:g} ×)")
    return rows
