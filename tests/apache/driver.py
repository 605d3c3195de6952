"""The operations of java/Driver.java: what Apache's own clients are to do with a broker, as a list.

A producer lingers for an hour unless told otherwise, so each `flush` (or `commit`, `abort`) ends one batch a partition
and a script decides where batches begin and end.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from tests.apache.jvm import Finished

Operation = dict[str, Any]
RecordHeaders = Iterable[tuple[str, bytes | None]]

_BATCH_BY_FLUSH = {
    "linger.ms": "3600000",
    "batch.size": "10000000",
    "delivery.timeout.ms": "3700000",
    "buffer.memory": "67108864",
    "max.request.size": "33554432",
}


class Runs(Protocol):
    """The part of Oracle that runs a main class."""

    def run(self, main_class: str, *args: str, timeout_s: float = 120) -> Finished:
        """Run `main_class`."""
        ...


class ConsumedRecord(NamedTuple):
    """A record as Apache's consumer gave it."""

    offset: int
    timestamp: int
    timestamp_type: str  # CreateTime or LogAppendTime
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    leader_epoch: int


def create_topic(topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> Operation:
    """Create a topic with topic configs."""
    return {"op": "create_topic", "topic": topic, "partitions": partitions, "configs": dict(configs or {})}


def alter_topic(topic: str, configs: Mapping[str, str]) -> Operation:
    """Set topic configs."""
    return {"op": "alter_topic", "topic": topic, "configs": dict(configs)}


def delete_topic(topic: str) -> Operation:
    """Delete a topic."""
    return {"op": "delete_topic", "topic": topic}


def delete_records(topic: str, offset: int, partition: int = 0) -> Operation:
    """Move the log start offset to `offset`."""
    return {"op": "delete_records", "topic": topic, "partition": partition, "offset": offset}


def open_producer(
    producer: str,
    *,
    compression: str = "none",
    transactional_id: str | None = None,
    idempotent: bool = True,
    configs: Mapping[str, str] | None = None,
) -> Operation:
    """Open a producer under a name for the operations that follow; a transactional one is also initialised."""
    settings = {**_BATCH_BY_FLUSH, "compression.type": compression, "enable.idempotence": str(idempotent).lower()}
    if transactional_id is not None:
        settings["transactional.id"] = transactional_id
    return {"op": "open_producer", "producer": producer, "configs": {**settings, **(configs or {})}}


def send(
    producer: str,
    topic: str,
    value: bytes | None,
    *,
    key: bytes | None = None,
    headers: RecordHeaders = (),
    timestamp: int | None = None,
    partition: int = 0,
) -> Operation:
    """Add one record to the producer's current batch of the partition."""
    return {
        "op": "send",
        "producer": producer,
        "topic": topic,
        "partition": partition,
        "timestamp": timestamp,
        "key": _hex(key),
        "value": _hex(value),
        "headers": [[name, _hex(content)] for name, content in headers],
    }


def flush(producer: str) -> Operation:
    """Send the current batches and wait for their acknowledgement; answers {"offsets": [...]} in the order sent."""
    return {"op": "flush", "producer": producer}


def begin(producer: str) -> Operation:
    """Begin a transaction."""
    return {"op": "begin", "producer": producer}


def commit(producer: str) -> Operation:
    """Flush (with its answer) and commit."""
    return {"op": "commit", "producer": producer}


def abort(producer: str) -> Operation:
    """Flush (with its answer) and abort: the data is in the log, followed by the abort marker."""
    return {"op": "abort", "producer": producer}


def close_producer(producer: str) -> Operation:
    """Close a producer; those left open are closed at the end of the script."""
    return {"op": "close_producer", "producer": producer}


def consume(
    topic: str, partition: int = 0, *, isolation: str = "read_uncommitted", start: int | None = None
) -> Operation:
    """Read the partition from `start`, or its own, to its end; answers {"records": [...]}, see `consumed`."""
    configs = {"isolation.level": isolation, "fetch.max.wait.ms": "10"}  # closing waits for the fetch under way
    return {"op": "consume", "topic": topic, "partition": partition, "configs": configs, "start": start}


def or_error(operation: Operation) -> Operation:
    """Let `operation` fail with an error of Kafka; answers {"error": its class in Apache's clients, "message"} then."""
    return {**operation, "or_error": True}


def list_topics() -> Operation:
    """Answer {"topics": [names in order]}."""
    return {"op": "list_topics"}


def describe_topic(topic: str) -> Operation:
    """Answer {"id": …, "partitions": [{"partition", "leader", "replicas"}]}."""
    return {"op": "describe_topic", "topic": topic}


def create_partitions(topic: str, count: int) -> Operation:
    """Raise the topic's partitions to `count`; answers {}."""
    return {"op": "create_partitions", "topic": topic, "count": count}


def describe_configs(name: str, resource_type: str = "TOPIC") -> Operation:
    """Answer {key: {"value", "source", "type", "read_only"}}."""
    return {"op": "describe_configs", "type": resource_type, "name": name}


def alter_configs(name: str, *changes: tuple[str, str, str], resource_type: str = "TOPIC") -> Operation:
    """Do `changes`, each (SET, DELETE, APPEND or SUBTRACT; key; value), incrementally; answers {}."""
    return {"op": "alter_configs", "type": resource_type, "name": name, "changes": [list(each) for each in changes]}


def list_offset(topic: str, spec: str | int, partition: int = 0) -> Operation:
    """Answer {"offset", "timestamp", "leader_epoch"} for earliest, latest, max_timestamp or a timestamp in ms."""
    return {"op": "list_offset", "topic": topic, "partition": partition, "spec": str(spec)}


def describe_log_dirs() -> Operation:
    """Answer {directory: {"topic-partition": bytes}}."""
    return {"op": "describe_log_dirs"}


def describe_cluster() -> Operation:
    """Answer {"cluster_id", "controller", "nodes": [{"id", "host", "port"}]}."""
    return {"op": "describe_cluster"}


def describe_features() -> Operation:
    """Answer {feature: finalized level}."""
    return {"op": "describe_features"}


def describe_quorum() -> Operation:
    """Answer {"leader", "leader_epoch", "high_watermark", "voters"}."""
    return {"op": "describe_quorum"}


def drive(
    oracle: Runs, bootstrap: str, operations: Sequence[Operation], *, timeout_s: float = 120
) -> list[dict[str, Any]]:
    """Do `operations` in order against a broker (Apache's or ours) and return the answers of those that have one."""
    done = oracle.run("Driver", bootstrap, json.dumps(operations), timeout_s=timeout_s)
    assert done.returncode == 0, f"the driver failed:\n{done.stdout}\n{done.stderr}"
    return [json.loads(line) for line in done.stdout.splitlines()]


def consumed(answer: dict[str, Any]) -> list[ConsumedRecord]:
    """Return the records in the answer of a `consume`."""
    return [
        ConsumedRecord(
            record["offset"],
            record["timestamp"],
            record["timestamp_type"],
            _bytes(record["key"]),
            _bytes(record["value"]),
            tuple((name, _bytes(content)) for name, content in record["headers"]),
            record["leader_epoch"],
        )
        for record in answer["records"]
    ]


def _hex(content: bytes | None) -> str | None:
    return None if content is None else content.hex()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)
