"""Rows that Spark makes as they are wanted, to a topic."""

import time

from bench.measure import Row
from bench.spark.arena import PARTITIONS, VALUE_BYTES, SparkArena, end_offsets
from bench.spark.contenders import ALL, Contender
from bench.spark.rates import WRITE_BARS, Rates, Round
from tests.node import Node

RECORDS = 2_000_000
_WARM_UP_ROUNDS = 2


def write(arena: SparkArena) -> list[Row]:
    """A new topic each round; what was written is counted."""
    records = RECORDS // 5 if arena.quick else RECORDS
    rounds = 3 if arena.quick else 5
    rows: list[Row] = []
    for name in arena.names:
        title = f"write, {records:,} of {VALUE_BYTES} B, {PARTITIONS} partitions, on {name}'s broker"
        rates = Rates(title, WRITE_BARS)
        with arena.alone(name) as node:
            for number in range(_WARM_UP_ROUNDS + rounds):
                for contender in ALL:
                    with arena.topic(node) as topic:
                        measured = _round(arena, node, topic, contender, records)
                        if number >= _WARM_UP_ROUNDS:
                            rates.add(contender, measured)
        rows += rates.print()
    return rows


def _round(arena: SparkArena, node: Node, topic: str, contender: Contender, records: int) -> Round:
    before, begun = arena.used(node), time.perf_counter()
    arena.save(contender, node, topic, records, VALUE_BYTES)
    wall_s = time.perf_counter() - begun
    measured = Round(records, wall_s, before, arena.used(node))
    if (found := end_offsets(node.bootstrap, topic)) != records:
        raise RuntimeError(f"{contender.name} wrote {found} of {records} records")
    return measured
