"""A whole topic to a sink that throws it away: every column of every record, as the contender makes them."""

import time
from typing import NamedTuple

from bench.measure import Row
from bench.spark.arena import PARTITIONS, VALUE_BYTES, WIDE_VALUE_BYTES, SparkArena
from bench.spark.contenders import ALL, READY, Contender
from bench.spark.rates import SCAN_BARS, Rates, Round
from bench.spark.ready import ReadySource
from tests.node import Node


class Size(NamedTuple):
    """Of a topic."""

    value_bytes: int
    records: int


NARROW, WIDE = Size(VALUE_BYTES, 5_000_000), Size(WIDE_VALUE_BYTES, 1_000_000)
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_FIRST_WARM_UP_ROUNDS = 4
"""After two of them the JVM still compiles: the first codec took more CPU than those that come after it."""
_WARM_UP_ROUNDS = 2


def scan(arena: SparkArena, size: Size) -> list[Row]:
    """Rounds alternate between the contenders; the first ones warm the JVM and Spark's workers."""
    arena.spark.dataSource.register(ReadySource)
    warm_ups = _FIRST_WARM_UP_ROUNDS
    rows: list[Row] = []
    value_bytes, records = size.value_bytes, size.records // 5 if arena.quick else size.records
    for name in arena.names:
        for codec in CODECS:
            title = f"scan, {records:,} of {value_bytes} B, {codec}, {PARTITIONS} partitions, on {name}'s broker"
            rates = Rates(title, SCAN_BARS)
            with arena.alone(name) as node, arena.topic(node, records, codec, value_bytes) as topic:
                for contender in ALL:
                    _check(arena, node, topic, contender, records)
                for number in range(warm_ups + (3 if arena.quick else 5)):
                    for contender in (*ALL, READY):
                        measured = _round(arena, node, topic, contender, records, value_bytes)
                        if number >= warm_ups:
                            rates.add(contender, measured)
            rows += rates.print()
            warm_ups = _WARM_UP_ROUNDS
    return rows


def _check(arena: SparkArena, node: Node, topic: str, contender: Contender, records: int) -> None:
    if (found := arena.load(contender, node, topic).count()) != records:
        raise RuntimeError(f"{contender.name} reads {found} of {records} records")


def _round(arena: SparkArena, node: Node, topic: str, contender: Contender, records: int, value_bytes: int) -> Round:
    before, begun = arena.used(node), time.perf_counter()
    if contender is READY:
        ready = {"rows": records, "valueBytes": value_bytes, "tasks": PARTITIONS}
        frame = arena.spark.read.format(READY.format).options(**ready).load()
    else:
        frame = arena.load(contender, node, topic)
    frame.write.format("noop").mode("overwrite").save()
    wall_s = time.perf_counter() - begun
    return Round(records, wall_s, before, arena.used(node))
