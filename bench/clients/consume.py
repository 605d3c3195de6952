"""Reading 100 B values back: Ottla's consumer in its three ways, confluent-kafka's, aiokafka's and kafka-python's."""

from collections import defaultdict
from statistics import median

from confluent_kafka import Producer

from bench.clients.arena import ClientArena
from bench.clients.consumers import CLIENTS, COMPILED, Load, measure
from bench.measure import Row

RECORDS = 1_000_000
VALUE_BYTES = 100
PARTITIONS = 4
BATCH_BYTES = 16_384
"""Kafka's default: what most topics are written in."""
BARS = (
    ("ottla arrow", "confluent-kafka", 2.0),
    ("ottla poll", "aiokafka", 1.0),
    ("ottla async for", "aiokafka async for", 1.0),
)


def consume(arena: ClientArena) -> list[Row]:
    """One topic, read by all in turn; the bars are on records for a second of the client's CPU."""
    records = RECORDS // 4 if arena.quick else RECORDS
    loads: dict[str, list[Load]] = defaultdict(list)
    with arena.topic(PARTITIONS) as topic, arena.topic(1) as warm_topic:
        _fill(arena.bootstrap, warm_topic, 1, 1)
        _fill(arena.bootstrap, topic, PARTITIONS, records)
        for _ in range(arena.rounds):
            for client in CLIENTS:
                plan = {"topic": topic, "warm_topic": warm_topic, "partitions": PARTITIONS, "records": records}
                loads[client].append(measure(client, bootstrap=arena.bootstrap, **plan))
    compiled = "compiled" if COMPILED.is_dir() else "not compiled: see make bench"
    print(f"\nconsume, {VALUE_BYTES} B, batches of {BATCH_BYTES:,} B, {PARTITIONS} partitions")
    print(f"Ottla's hot path is {compiled}")
    print(f"  {'':18} {'records/s':>12} {'CPU a record':>14} {'records/s a core':>18} {'peak memory':>12}")
    per_core = {}
    for client, measured in loads.items():
        cpu_us = median(load.cpu_s / load.records for load in measured) * 1e6
        rate = median(load.records / load.wall_s for load in measured)
        peak_mb = median(load.peak_bytes for load in measured) / 1e6
        per_core[client] = 1e6 / cpu_us
        print(
            f"  {client:18} {rate:>12,.0f} {cpu_us:>11.2f} µs {per_core[client]:>18,.0f} {peak_mb:>9,.0f} MB",
            flush=True,
        )
    rows = []
    for ours, theirs, bar in BARS:
        ratio = per_core[ours] / per_core[theirs]
        rows.append(Row(f"{ours} against {theirs}", f"{ratio:.1f} ×", f"≥ {bar:g} ×", ratio >= bar))
        print(f"  {ours} is {ratio:.1f} × {theirs} (bar: {bar:g} ×)")
    return rows


def _fill(bootstrap: str, topic: str, partitions: int, records: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "batch.size": BATCH_BYTES, "linger.ms": 50})
    value = bytes(VALUE_BYTES)
    for number in range(records):
        while True:
            try:
                producer.produce(topic, value, partition=number % partitions)
                break
            except BufferError:
                producer.poll(0.05)
    if producer.flush(60):
        raise RuntimeError("not all records were written")
