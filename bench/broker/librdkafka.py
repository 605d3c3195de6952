"""librdkafka as a load, in a process of its own: ``python -m bench.broker.librdkafka '{…}'`` prints JSON."""

import json
import subprocess
import sys
import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

_BURST = 1_000
_QUEUE = 200_000
_BOUND_S = 120


def measure(**plan: Any) -> dict[str, Any]:
    """Run a client process to its end and return what it measured."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.broker.librdkafka", json.dumps(plan)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"librdkafka's client failed:\n{done.stderr[-2000:]}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def main() -> None:
    plan = json.loads(sys.argv[1])
    work = {"produce": _produce, "sync": _sync, "paced": _paced, "consume": _consume}[plan["kind"]]
    json.dump(work(plan), sys.stdout)


def _producer(plan: dict[str, Any]) -> Producer:
    settings = {"bootstrap.servers": plan["bootstrap"], "queue.buffering.max.messages": _QUEUE * 2}
    return Producer(settings | plan.get("settings", {}))


def _produce(plan: dict[str, Any]) -> dict[str, Any]:
    """Send `messages` as fast as the broker takes them; seconds from the first to the last acknowledgement."""
    producer, topic = _producer(plan), plan["topic"]
    value = _payload(plan["value_bytes"])
    failed: list[str] = []

    def check(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failed.append(str(error))

    producer.list_topics(topic, _BOUND_S)
    burst = [{"value": value} for _ in range(_BURST)]
    begun = time.perf_counter()
    for _ in range(plan["messages"] // _BURST):
        while len(producer) > _QUEUE:
            producer.poll(0.001)
        producer.produce_batch(topic, burst, partition=0)
    producer.produce(topic, value, partition=0, on_delivery=check)
    if producer.flush(_BOUND_S) or failed:
        raise RuntimeError(f"not delivered: {failed}")
    return {"wall_s": time.perf_counter() - begun}


def _sync(plan: dict[str, Any]) -> dict[str, Any]:
    """Send one message after another, each when the last is acknowledged; latencies in microseconds."""
    producer, topic = _producer(plan), plan["topic"]
    value = _payload(plan["value_bytes"])
    answered: list[KafkaError | None] = []

    def answer(error: KafkaError | None, _: Message) -> None:
        answered.append(error)

    latencies = []
    clock = time.perf_counter_ns
    for _ in range(plan["messages"]):
        sent = clock()
        producer.produce(topic, value, partition=0, on_delivery=answer)
        while not answered:
            producer.poll(1)
        latencies.append((clock() - sent) / 1000)
        error = answered.pop()
        if error is not None:
            raise RuntimeError(str(error))
    return {"latencies_us": latencies[len(latencies) // 5 :]}


def _paced(plan: dict[str, Any]) -> dict[str, Any]:
    """Send `rate` messages a second for `seconds`, a few each millisecond; latencies to acknowledgement in µs."""
    producer, topic, rate = _producer(plan), plan["topic"], plan["rate"]
    value = _payload(plan["value_bytes"])
    latencies: list[float] = []

    def keep(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            raise RuntimeError(str(error))
        latency = message.latency()
        latencies.append((latency or 0) * 1e6)

    producer.produce(topic, value, partition=0)
    producer.flush(_BOUND_S)
    total = int(rate * plan["seconds"])
    begun = time.perf_counter()
    sent = 0
    while sent < total:
        producer.poll(0.001)
        for _ in range(min(total, int((time.perf_counter() - begun) * rate)) - sent):
            producer.produce(topic, value, partition=0, on_delivery=keep)
            sent += 1
    producer.flush(_BOUND_S)
    return {"latencies_us": latencies[total // 5 :], "rate": total / (time.perf_counter() - begun)}


def _consume(plan: dict[str, Any]) -> dict[str, Any]:
    """Read all partitions from their start; seconds from the first message to the last of `messages`."""
    consumer = Consumer(
        {
            "bootstrap.servers": plan["bootstrap"],
            "group.id": "unused",
            "enable.auto.commit": False,
            "check.crcs": False,
            "queued.max.messages.kbytes": 262_144,
            # By default a consumer that has 100,000 messages waiting asks for no more for a second, whatever becomes of
            # them meanwhile: a broker that is faster than this process would be measured by that second.
            "fetch.queue.backoff.ms": 1,
            "fetch.message.max.bytes": 4 << 20,
        }
    )
    consumer.assign([TopicPartition(plan["topic"], partition, 0) for partition in range(plan["partitions"])])
    first = consumer.poll(_BOUND_S)
    if first is None or first.error() is not None:
        raise RuntimeError("no first message")
    begun = time.perf_counter()
    count = 1
    while count < plan["messages"]:
        messages = consumer.consume(min(10_000, plan["messages"] - count), _BOUND_S)
        if not messages:
            raise RuntimeError(f"only {count} messages came")
        count += len(messages)
    wall_s = time.perf_counter() - begun
    consumer.close()
    return {"wall_s": wall_s}


def _payload(size_bytes: int) -> bytes:
    """Text that compresses about as events do."""
    event = b'{"id":%012d,"user":"u-%06d","action":"view","page":"/catalogue/item","ms":%05d}'
    text = b"".join(event % (number * 7919, number * 104_729 % 10**6, number * 31) for number in range(20))
    return (text * (size_bytes // len(text) + 1))[:size_bytes]


if __name__ == "__main__":
    main()
