"""What tests of ``send_batch`` send, and read back."""

from typing import Any

import pyarrow as pa

from ottla.clients.producer.producer import Producer
from tests.clients.producer.produced import values
from tests.node import Node


def producer(kafka: Node, **config: Any) -> Producer:
    """A producer that is not started."""
    return Producer(bootstrap_servers=kafka.bootstrap, **config)


def numbered(first: int, last: int, size: int = 100) -> pa.Table:
    """Rows whose values are numbers, of this size."""
    return pa.table({"value": pa.array([b"%d" % n + b"." * (size - len(b"%d" % n)) for n in range(first, last)])})


def read_numbers(kafka: Node, topic: str) -> list[int]:
    """The numbers that are in a topic."""
    return [int((value or b"").rstrip(b".")) for value in values(kafka, topic)]
