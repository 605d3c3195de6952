"""A whole topic to a sink that throws it away: every column of every record, as the contender makes them."""

import time

from bench.measure import Row
from bench.spark.arena import PARTITIONS, VALUE_BYTES, SparkArena
from bench.spark.contenders import ALL, Contender
from bench.spark.rates import SCAN_BARS, Rates, Round
from tests.node import Node

RECORDS = 5_000_000
CODECS = ("none", "lz4", "zstd")
_WARM_UP_ROUNDS = 4
"""After two of them the JVM still compiles: the first codec took more CPU than those that come after it."""


def scan(arena: SparkArena) -> list[Row]:
    """Rounds alternate between the contenders; the first ones warm the JVM and Spark's workers."""
    records = RECORDS // 5 if arena.quick else RECORDS
    rounds = 3 if arena.quick else 5
    rows: list[Row] = []
    for name in arena.names:
        for codec in CODECS:
            title = f"scan, {records:,} of {VALUE_BYTES} B, {codec}, {PARTITIONS} partitions, on {name}'s broker"
            rates = Rates(title, SCAN_BARS)
            with arena.alone(name) as node, arena.topic(node, records, codec) as topic:
                for number in range(_WARM_UP_ROUNDS + rounds):
                    for contender in ALL:
                        measured = _round(arena, node, topic, contender, records, is_checked=number == 0)
                        if number >= _WARM_UP_ROUNDS:
                            rates.add(contender, measured)
            rows += rates.print()
    return rows


def _round(arena: SparkArena, node: Node, topic: str, contender: Contender, records: int, *, is_checked: bool) -> Round:
    if is_checked and (found := arena.load(contender, node, topic).count()) != records:
        raise RuntimeError(f"{contender.name} reads {found} of {records} records")
    before, begun = arena.used(node), time.perf_counter()
    arena.load(contender, node, topic).write.format("noop").mode("overwrite").save()
    wall_s = time.perf_counter() - begun
    return Round(records, wall_s, before, arena.used(node))
