"""One way to send many records, in a process of its own: ``python -m bench.clients.batch_producers '{…}'``.

All send with acks=all, idempotent, and know at the end that everything was acknowledged.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from bench.clients.producers import BOUND_S, KEYS, LINGER_MS, Load, Meter


def measure(client: str, **plan: Any) -> Load:
    """Run a producer's process to its end."""
    command = [sys.executable, "-m", "bench.clients.batch_producers", json.dumps({"client": client, **plan})]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=BOUND_S)
    if done.returncode:
        raise RuntimeError(f"{client} failed:\n{done.stderr[-2000:]}")
    return Load(**json.loads(done.stdout))


def main() -> None:
    plan = json.loads(sys.argv[1])
    load = CLIENTS[plan["client"]](plan)
    json.dump(load._asdict(), sys.stdout)


def _table(plan: dict[str, Any]) -> Any:
    import pyarrow as pa

    values = pa.array([bytes(plan["value_bytes"])] * plan["records"], pa.binary())
    if not plan["keyed"]:
        return pa.table({"value": values})
    keys = [KEYS[number % len(KEYS)] for number in range(plan["records"])]
    return pa.table({"key": pa.array(keys, pa.binary()), "value": values})


def _list(plan: dict[str, Any]) -> Any:
    value = bytes(plan["value_bytes"])
    if plan["keyed"]:
        return [(KEYS[number % len(KEYS)], value) for number in range(plan["records"])]
    return [value] * plan["records"]


async def _ottla(plan: dict[str, Any], make: Callable[[dict[str, Any]], Any], *, compiled: bool) -> Load:
    from ottla.clients.producer.kernel_loader import KERNELS
    from ottla.clients.producer.producer import Producer

    records = make(plan)
    if compiled:
        KERNELS.load()
    else:
        KERNELS.note_rows(1 << 40)  # as if they were being loaded, for good
    settings = {"compression_type": plan["codec"]}
    async with Producer(bootstrap_servers=plan["bootstrap"], acks="all", linger_ms=LINGER_MS, **settings) as producer:
        await (await producer.send_batch(plan["topic"], records[:1]))
        meter = Meter(plan["records"])
        delivery = await producer.send_batch(plan["topic"], records)
        await delivery
        return meter.read()


def _confluent(plan: dict[str, Any], *, callback: bool) -> Load:
    from confluent_kafka import Producer

    topic, records, value = plan["topic"], plan["records"], bytes(plan["value_bytes"])
    failed: list[object] = []
    settings = {
        "bootstrap.servers": plan["bootstrap"],
        "acks": "all",
        "enable.idempotence": True,
        "linger.ms": LINGER_MS,
        "compression.type": plan["codec"],
        "queue.buffering.max.messages": 1_000_000,
    }
    producer = Producer(settings)

    def check(error: object, _: object) -> None:
        if error is not None:
            failed.append(error)

    more: dict[str, Any] = {"on_delivery": check} if callback else {}
    producer.produce(topic, value)
    producer.flush(BOUND_S)
    produce, keys = producer.produce, KEYS * (records // len(KEYS) + 1) if plan["keyed"] else None
    meter = Meter(records)
    for number in range(records):
        while True:
            try:
                if keys is None:
                    produce(topic, value, **more)
                else:
                    produce(topic, value, keys[number], **more)
                break
            except BufferError:
                producer.poll(0.01)
    if producer.flush(BOUND_S) or failed:
        raise RuntimeError(f"not delivered: {failed[:3]}")
    return meter.read()


CLIENTS: dict[str, Callable[[dict[str, Any]], Load]] = {
    "ottla, Arrow": lambda plan: asyncio.run(_ottla(plan, _table, compiled=True)),
    "ottla, list": lambda plan: asyncio.run(_ottla(plan, _list, compiled=True)),
    "ottla, list, no numba": lambda plan: asyncio.run(_ottla(plan, _list, compiled=False)),
    "confluent, no callback": lambda plan: _confluent(plan, callback=False),
    "confluent, callback": lambda plan: _confluent(plan, callback=True),
}

if __name__ == "__main__":
    main()
