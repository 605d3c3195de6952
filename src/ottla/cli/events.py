"""Events as JSON, one a line: what Kafka's system tests read from the verifiable clients."""

import json
import sys
import time
from typing import Any


def emit(name: str, **fields: Any) -> None:
    """Print an event with its time; the fields come in the order in which they are given."""
    event = {"timestamp": time.time_ns() // 1_000_000, "name": name, **fields}
    sys.stdout.write(json.dumps(event, separators=(",", ":"), ensure_ascii=False) + "\n")
    sys.stdout.flush()


def java_class(error: BaseException) -> str:
    """What Kafka's tool prints for the class of an error."""
    name = type(error).__name__.removesuffix("Error")
    return f"class org.apache.kafka.common.errors.{name}Exception"
