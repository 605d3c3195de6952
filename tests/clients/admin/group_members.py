"""Members of groups, by librdkafka, for tests that look at groups from outside."""

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer

from tests.clients.admin.waiting import attempts


@contextmanager
def member(bootstrap: str, group_id: str, topic: str, partitions: int, **config: str | int) -> Iterator[Consumer]:
    """A consumer that has been assigned so many partitions."""
    settings: dict[str, str | int | bool] = {
        "bootstrap.servers": bootstrap,
        "group.id": group_id,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        # It must not wake up in other tests, when the broker is stopped.
        "log_level": 2,
        **{key.replace("_", "."): value for key, value in config.items()},
    }
    consumer = Consumer(settings)
    try:
        consumer.subscribe([topic])
        for _ in attempts("The assignment"):
            consumer.poll(0.1)
            if len(consumer.assignment()) == partitions:
                break
        yield consumer
    finally:
        consumer.close()
