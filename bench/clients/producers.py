"""One producer as a load, in a process of its own: ``python -m bench.clients.producers '{…}'`` prints JSON.

All send one by one with acks=all, idempotent, and let batches linger for 5 ms, as Kafka 4's producers do by default.
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

BOUND_S = 300
COMPILED = Path(__file__).parents[2] / "build/compiled"
LINGER_MS = 5
KEYS = [b"%08d" % number for number in range(1_000)]


class Load(NamedTuple):
    """What a producer took from the first send to the last acknowledgement; ``peak_bytes`` is resident memory."""

    records: int
    wall_s: float
    cpu_s: float
    peak_bytes: int


def measure(client: str, **plan: Any) -> Load:
    """Run a producer's process to its end; Ottla's as a wheel installs it, if that was built (make build/compiled)."""
    command = [sys.executable, "-m", "bench.clients.producers", json.dumps({"client": client, **plan})]
    paths = [str(COMPILED), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | ({"PYTHONPATH": os.pathsep.join(paths)} if COMPILED.is_dir() else {})
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=BOUND_S, env=environment)
    if done.returncode:
        raise RuntimeError(f"{client} failed:\n{done.stderr[-2000:]}")
    return Load(**json.loads(done.stdout))


def main() -> None:
    plan = json.loads(sys.argv[1])
    load = CLIENTS[plan["client"]](plan)
    json.dump(load._asdict(), sys.stdout)


class Meter:
    """From here to ``read``."""

    def __init__(self, records: int) -> None:
        self._records = records
        self._cpu_s, self._wall_s = time.process_time(), time.perf_counter()

    def read(self) -> Load:
        """What was taken since."""
        wall_s, cpu_s = time.perf_counter() - self._wall_s, time.process_time() - self._cpu_s
        return Load(self._records, wall_s, cpu_s, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


async def _ottla(plan: dict[str, Any]) -> Load:
    from ottla.clients.producer.producer import Producer

    topic, records, value = plan["topic"], plan["records"], bytes(plan["value_bytes"])
    async with Producer(bootstrap_servers=plan["bootstrap"], acks="all", linger_ms=LINGER_MS) as producer:
        await producer.send_and_wait(topic, value)
        meter = Meter(records)
        if plan["keyed"]:
            for number in range(records):
                last = await producer.send(topic, value, key=KEYS[number % 1_000])
        else:
            for _ in range(records):
                last = await producer.send(topic, value)
        await producer.flush()
        last.result()
        return meter.read()


async def _aiokafka(plan: dict[str, Any]) -> Load:
    from aiokafka import AIOKafkaProducer

    topic, records, value = plan["topic"], plan["records"], bytes(plan["value_bytes"])
    producer = AIOKafkaProducer(
        bootstrap_servers=plan["bootstrap"], acks="all", enable_idempotence=True, linger_ms=LINGER_MS
    )
    async with producer:
        await producer.send_and_wait(topic, value)
        meter = Meter(records)
        if plan["keyed"]:
            for number in range(records):
                last = await producer.send(topic, value, key=KEYS[number % 1_000])
        else:
            for _ in range(records):
                last = await producer.send(topic, value)
        await producer.flush()
        await last
        return meter.read()


def _confluent(plan: dict[str, Any]) -> Load:
    from confluent_kafka import Producer

    topic, records, value = plan["topic"], plan["records"], bytes(plan["value_bytes"])
    failed: list[object] = []
    settings = {
        "bootstrap.servers": plan["bootstrap"],
        "acks": "all",
        "enable.idempotence": True,
        "linger.ms": LINGER_MS,
        "queue.buffering.max.messages": 400_000,
    }
    producer = Producer(settings)

    def check(error: object, _: object) -> None:
        if error is not None:
            failed.append(error)

    producer.produce(topic, value)
    producer.flush(BOUND_S)
    meter = Meter(records)
    for number in range(records):
        key = KEYS[number % 1_000] if plan["keyed"] else None
        while True:
            try:
                producer.produce(topic, value, key=key, on_delivery=check)
                break
            except BufferError:
                producer.poll(0.01)
    if producer.flush(BOUND_S) or failed:
        raise RuntimeError(f"not delivered: {failed[:3]}")
    return meter.read()


def _kafka_python(plan: dict[str, Any]) -> Load:
    from kafka import KafkaProducer

    topic, records, value = plan["topic"], plan["records"], bytes(plan["value_bytes"])
    producer = KafkaProducer(
        bootstrap_servers=plan["bootstrap"], acks="all", enable_idempotence=True, linger_ms=LINGER_MS
    )
    producer.send(topic, value).get(BOUND_S)
    meter = Meter(records)
    for number in range(records):
        last = producer.send(topic, value, key=KEYS[number % 1_000] if plan["keyed"] else None)
    producer.flush()
    last.get(BOUND_S)
    load = meter.read()
    producer.close()
    return load


CLIENTS: dict[str, Callable[[dict[str, Any]], Load]] = {
    "ottla": lambda plan: asyncio.run(_ottla(plan)),
    "aiokafka": lambda plan: asyncio.run(_aiokafka(plan)),
    "confluent-kafka": _confluent,
    "kafka-python": _kafka_python,
}

if __name__ == "__main__":
    main()
