"""librdkafka against both: throughput at each acks, the seeds' two profiles, and one record at a time."""

from statistics import quantiles
from typing import Any

from bench.broker.arena import Arena, loaded
from bench.broker.board import Line, at_most, megabytes_per_second, microseconds, milliseconds, per_second
from bench.broker.librdkafka import measure

SIZES = {"100 B": (100, 600_000), "1 KiB": (1024, 200_000)}
# Seed 002, "Batching Everywhere": the two ends of its latency and throughput trade-off.
LOW_LATENCY: dict[str, Any] = {"linger.ms": 0, "batch.size": 16_384, "acks": "1", "compression.type": "none"}
HIGH_THROUGHPUT: dict[str, Any] = {
    "linger.ms": 100,
    "batch.size": 1 << 20,
    "acks": "all",
    "compression.type": "lz4",
    "message.max.bytes": 2 << 20,
}
PACE = 5_000


def throughput(arena: Arena) -> None:
    """Messages a second with librdkafka's own batching."""
    with arena.board("librdkafka, one producer") as board:
        for size, (value_bytes, messages) in SIZES.items():
            for acks in ("0", "1", "all"):
                line = Line(f"{size}, acks={acks}", per_second)
                for number, (name, node) in enumerate(arena.turns(arena.rounds + 1)):
                    with arena.topic(node) as topic:
                        answer = measure(
                            kind="produce",
                            bootstrap=node.bootstrap,
                            topic=topic,
                            value_bytes=value_bytes,
                            messages=messages // (1 if arena.long else 4),
                            settings={"acks": acks},
                        )
                    if number >= len(arena.names):
                        board.add(line, name, messages // (1 if arena.long else 4) / answer["wall_s"])


def profiles(arena: Arena) -> None:
    """The seeds' low-latency and high-throughput producers."""
    low_50, low_99 = (Line(f"low latency, {PACE:,} messages/s, {which}", milliseconds) for which in ("p50", "p99"))
    fast = Line("low latency, as fast as it goes", per_second)
    high = Line("high throughput", per_second)
    high_bytes = Line("  in bytes, before compression", megabytes_per_second)
    messages = 1_000_000 if arena.long else 200_000
    with arena.board("The seeds' producer profiles, 100 B") as board:
        for number, (name, node) in enumerate(arena.turns(arena.rounds + 1)):
            with arena.topic(node) as topic:
                plan: dict[str, Any] = {"bootstrap": node.bootstrap, "topic": topic, "value_bytes": 100}
                paced = measure(kind="paced", rate=PACE, seconds=3 if arena.long else 1, settings=LOW_LATENCY, **plan)
                flat = measure(kind="produce", messages=messages // 5, settings=LOW_LATENCY, **plan)
                full = measure(kind="produce", messages=messages, settings=HIGH_THROUGHPUT, **plan)
            if number < len(arena.names):
                continue
            p50, p99 = percentiles(paced["latencies_us"])
            board.add(low_50, name, p50 / 1000)
            board.add(low_99, name, p99 / 1000)
            board.add(fast, name, messages // 5 / flat["wall_s"])
            board.add(high, name, messages / full["wall_s"])
            board.add(high_bytes, name, messages * 100 / full["wall_s"])


def sync(arena: Arena) -> None:
    """One record at a time, each sent when the last is acknowledged."""
    lines = (
        Line("librdkafka, p50", microseconds, at_most(0.6)),
        Line("librdkafka, p99", microseconds),
        Line("raw socket, p50", microseconds),
        Line("raw socket, p99", microseconds),
    )
    messages = 10_000 if arena.long else 2_000
    with arena.board("Synchronous produces of 100 B, acks=all") as board:
        for number, (name, node) in enumerate(arena.turns(arena.rounds + 1)):
            with arena.topic(node) as topic:
                answer = measure(
                    kind="sync",
                    bootstrap=node.bootstrap,
                    topic=topic,
                    value_bytes=100,
                    messages=messages,
                    settings={"acks": "all", "linger.ms": 0},
                )
                raw = loaded(node, kind="sync", topic=topic, value_bytes=100, requests=messages)
            if number < len(arena.names):
                continue
            figures = (*percentiles(answer["latencies_us"]), *percentiles(raw.load.latencies_us))
            for line, figure in zip(lines, figures, strict=True):
                board.add(line, name, figure)


def percentiles(values: list[float]) -> tuple[float, float]:
    """Return the median and the 99th percentile."""
    cuts = quantiles(values, n=100)
    return cuts[49], cuts[98]
