"""One consumer as a load, in a process of its own: ``python -m bench.clients.consumers '{…}'`` prints JSON.

All read the same partitions from their beginning to their known ends, without a group, and count what they get. Each
reads a small topic first, so that nothing is loaded or compiled while the clock runs.
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

BOUND_S = 300
CONSUME_MESSAGES = 10_000
COMPILED = Path(__file__).parents[2] / "build/compiled"
"""``make build/compiled``."""


class Load(NamedTuple):
    """What a consumer took from its making to its last record; ``peak_bytes`` is resident memory."""

    records: int
    wall_s: float
    cpu_s: float
    peak_bytes: int


def measure(client: str, **plan: Any) -> Load:
    """Run a consumer's process to its end; Ottla's as a wheel installs it, its hot path compiled, if that was built."""
    command = [sys.executable, "-m", "bench.clients.consumers", json.dumps({"client": client, **plan})]
    paths = [str(COMPILED), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | ({"PYTHONPATH": os.pathsep.join(paths)} if COMPILED.is_dir() else {})
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=BOUND_S, env=environment)
    if done.returncode:
        raise RuntimeError(f"{client} failed:\n{done.stderr[-2000:]}")
    return Load(**json.loads(done.stdout))


def main() -> None:
    plan = json.loads(sys.argv[1])
    read = CLIENTS[plan["client"]]
    read(plan["bootstrap"], plan["warm_topic"], 1, 1)
    cpu_s, wall_s = time.process_time(), time.perf_counter()
    read(plan["bootstrap"], plan["topic"], plan["partitions"], plan["records"])
    wall_s, cpu_s = time.perf_counter() - wall_s, time.process_time() - cpu_s
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    json.dump(Load(plan["records"], wall_s, cpu_s, peak_bytes)._asdict(), sys.stdout)


Read = Callable[[Any, int], Awaitable[int]]


def _ottla(read: Read) -> Callable[[str, str, int, int], None]:
    async def run(bootstrap: str, topic: str, partitions: int, records: int) -> None:
        from ottla.clients.consumer.consumer import Consumer
        from ottla.common.topic_partition import TopicPartition

        consumer: Consumer[bytes, bytes] = Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
        consumer.assign([TopicPartition(topic, number) for number in range(partitions)])
        async with consumer:
            check(await read(consumer, records), records)

    return lambda *arguments: asyncio.run(run(*arguments))


async def _poll(consumer: Any, records: int) -> int:
    seen = 0
    while seen < records:
        seen += len(await consumer.poll(1_000))
    return seen


async def _one_by_one(consumer: Any, records: int) -> int:
    seen = 0
    async for _ in consumer:
        seen += 1
        if seen == records:
            break
    return seen


async def _arrow(consumer: Any, records: int) -> int:
    seen = 0
    async for batch in consumer.arrow():
        seen += batch.num_rows
        if seen >= records:
            break
    return seen


def _aiokafka(*, one_by_one: bool) -> Callable[[str, str, int, int], None]:
    async def run(bootstrap: str, topic: str, partitions: int, records: int) -> None:
        from aiokafka import AIOKafkaConsumer, TopicPartition

        consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", max_poll_records=500)
        consumer.assign([TopicPartition(topic, number) for number in range(partitions)])
        async with consumer:
            seen = 0
            if one_by_one:
                seen = await _one_by_one(consumer, records)
            while seen < records:
                seen += sum(map(len, (await consumer.getmany(timeout_ms=1_000)).values()))
            check(seen, records)

    return lambda *arguments: asyncio.run(run(*arguments))


def _confluent(bootstrap: str, topic: str, partitions: int, records: int) -> None:
    from confluent_kafka import Consumer, TopicPartition

    settings = {"bootstrap.servers": bootstrap, "group.id": "bench", "enable.auto.commit": False}
    consumer = Consumer(settings | {"auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    seen = 0
    while seen < records:
        messages = consumer.consume(CONSUME_MESSAGES, 1.0)
        failed = [message.error() for message in messages if message.error()]
        if failed:
            raise RuntimeError(failed[0])
        for message in messages:
            message.value()
        seen += len(messages)
    consumer.close()
    check(seen, records)


def _kafka_python(bootstrap: str, topic: str, partitions: int, records: int) -> None:
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    consumer.assign([TopicPartition(topic, number) for number in range(partitions)])
    seen = 0
    while seen < records:
        seen += sum(map(len, consumer.poll(1_000).values()))
    consumer.close()
    check(seen, records)


def check(seen: int, records: int) -> None:
    """No record more, none less."""
    if seen != records:
        raise RuntimeError(f"{seen} records were read, {records} were written")


CLIENTS: dict[str, Callable[[str, str, int, int], None]] = {
    "ottla arrow": _ottla(_arrow),
    "ottla poll": _ottla(_poll),
    "ottla async for": _ottla(_one_by_one),
    "confluent-kafka": _confluent,
    "aiokafka": _aiokafka(one_by_one=False),
    "aiokafka async for": _aiokafka(one_by_one=True),
    "kafka-python": _kafka_python,
}

if __name__ == "__main__":
    main()
