"""How long a micro-batch takes of a stream that never stops: a few records at a time, batch after batch."""

import threading
import time
from statistics import median, quantiles
from typing import Any

from confluent_kafka import Producer

from bench.measure import Row
from bench.spark.arena import PARTITIONS, VALUE_BYTES, SparkArena, values
from bench.spark.contenders import OTTLA, STOCK, Contender
from tests.node import Node

BATCHES = 60
RECORDS_A_SECOND = 2_000
_BAR = 1.4
_WARM_UP_BATCHES = 20
_BOUND_S = 180


def latency(arena: SparkArena) -> list[Row]:
    """Two queries for each contender, in turn; the median of all their batches counts, which Spark itself times."""
    batches = BATCHES // 2 if arena.quick else BATCHES
    rows: list[Row] = []
    for name in arena.names:
        times: dict[str, list[float]] = {STOCK.name: [], OTTLA.name: []}
        with arena.alone(name) as node, arena.topic(node) as topic, _Trickle(node, topic):
            for _ in range(2):
                for contender in (STOCK, OTTLA):
                    times[contender.name] += _durations(arena, node, topic, contender, batches)
        print(f"\nmicro-batches without a pause, {RECORDS_A_SECOND:,} of {VALUE_BYTES} B a second, on {name}'s broker")
        for contender_name, durations in times.items():
            p90 = quantiles(durations, n=10)[-1]
            print(f"  {contender_name:14} {median(durations):>8.0f} ms   p90 {p90:>6.0f} ms", flush=True)
        ratio = median(times[OTTLA.name]) / median(times[STOCK.name])
        print(f"  ottla takes {ratio:.2f} × stock (bar: {_BAR:g} ×) {'OK' if ratio <= _BAR else 'MISS'}")
        rows.append(Row(f"micro-batch on {name}'s broker", f"{ratio:.2f} ×", f"≤ {_BAR:g} ×", ratio <= _BAR))
    return rows


def _durations(arena: SparkArena, node: Node, topic: str, contender: Contender, batches: int) -> list[float]:
    """What a query's batches with rows took, in ms, after those that warm it up."""
    source: dict[str, str] = {
        "kafka.bootstrap.servers": node.bootstrap,
        "subscribe": topic,
        "startingOffsets": "latest",
    }
    stream = arena.spark.readStream.format(contender.format).options(**source).load()
    query = stream.writeStream.format("noop").trigger(processingTime="0 seconds").start()
    found: dict[int, float] = {}
    try:
        deadline = time.monotonic() + _BOUND_S
        while len(found) < _WARM_UP_BATCHES + batches:
            if time.monotonic() > deadline or not query.isActive:
                raise RuntimeError(f"{contender.name}: {len(found)} batches came: {query.exception()}")
            for progress in query.recentProgress:
                if progress.numInputRows:
                    found[progress.batchId] = _trigger_ms(progress)
            time.sleep(0.2)
    finally:
        query.stop()
    return [found[number] for number in sorted(found)][_WARM_UP_BATCHES:]


def _trigger_ms(progress: Any) -> float:
    return float(progress.durationMs["triggerExecution"])


class _Trickle:
    """Writes to all partitions of a topic, some records every few milliseconds, until the end of the context."""

    def __init__(self, node: Node, topic: str) -> None:
        self._producer = Producer({"bootstrap.servers": node.bootstrap, "linger.ms": 1})
        self._topic = topic
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="trickle")

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._producer.flush(_BOUND_S)

    def _run(self) -> None:
        some = values()
        number = 0
        while not self._ended.wait(0.02):
            for _ in range(RECORDS_A_SECOND // 50):
                self._producer.produce(self._topic, some[number % len(some)], partition=number % PARTITIONS)
                number += 1
            self._producer.poll(0)
