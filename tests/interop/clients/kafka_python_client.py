"""kafka-python."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, NewPartitions, NewTopic
from kafka.errors import KafkaError

from tests.apache.driver import ConsumedRecord
from tests.interop.clients.client import BOUND_S, ErrorCode, RefusedError, Sent

_SETTINGS = {"request.timeout.ms": "request_timeout_ms", "max.request.size": "max_request_size"}


class KafkaPython:
    """See client.Client."""

    name = "kafka-python"
    codecs: tuple[str, ...] = ("none", "gzip", "zstd")  # lz4 and snappy want packages that we do not

    def __init__(self, bootstrap: str) -> None:
        self._common: dict[str, Any] = {"bootstrap_servers": bootstrap}

    def produce(
        self,
        topic: str,
        records: Sequence[Sent],
        *,
        partition: int = 0,
        codec: str = "none",
        acks: str = "all",
        idempotent: bool = False,
        settings: Mapping[str, str | int] | None = None,
    ) -> list[int]:
        producer = KafkaProducer(
            **self._common,
            compression_type=None if codec == "none" else codec,
            acks=acks if acks == "all" else int(acks),
            enable_idempotence=idempotent,
            linger_ms=20,
            **{_SETTINGS[key]: value for key, value in (settings or {}).items()},
        )
        with refusals():
            try:
                futures = [
                    producer.send(topic, record.value, record.key, list(record.headers), partition, record.timestamp_ms)
                    for record in records
                ]
                producer.flush(BOUND_S)
                return [future.get(BOUND_S).offset for future in futures]
            finally:
                producer.close(timeout=BOUND_S)

    def consume(
        self, topic: str, *, partition: int = 0, start: int | None = None, isolation: str = "read_uncommitted"
    ) -> list[ConsumedRecord]:
        assigned = TopicPartition(topic, partition)
        with self._consumer(isolation) as consumer, refusals():
            consumer.assign([assigned])
            if start is None:
                consumer.seek_to_beginning(assigned)
            else:
                consumer.seek(assigned, start)
            end = consumer.end_offsets([assigned])[assigned]
            consumed: list[ConsumedRecord] = []
            while consumer.position(assigned) < end:
                consumed += _poll(consumer, assigned)
            return consumed

    def tail(self, topic: str, act: Callable[[], object], count: int, partition: int = 0) -> list[ConsumedRecord]:
        assigned = TopicPartition(topic, partition)
        with self._consumer("read_uncommitted") as consumer:
            consumer.assign([assigned])
            consumer.seek_to_end(assigned)
            consumer.position(assigned)
            act()
            consumed: list[ConsumedRecord] = []
            while len(consumed) < count:
                consumed += _poll(consumer, assigned)
            return consumed

    def watermarks(self, topic: str, partition: int = 0) -> tuple[int, int]:
        assigned = TopicPartition(topic, partition)
        with self._consumer("read_uncommitted") as consumer, refusals():
            return consumer.beginning_offsets([assigned])[assigned], consumer.end_offsets([assigned])[assigned]

    def offset_for_time(self, topic: str, timestamp_ms: int, partition: int = 0) -> int | None:
        assigned = TopicPartition(topic, partition)
        with self._consumer("read_uncommitted") as consumer, refusals():
            found = consumer.offsets_for_times({assigned: timestamp_ms})[assigned]
            return None if found is None else int(found.offset)

    def topics(self) -> set[str]:
        with self._admin() as admin:
            return {name for name in admin.list_topics() if not name.startswith("__")}

    def partitions(self, topic: str) -> list[int]:
        with self._admin() as admin:
            (description,) = admin.describe_topics([topic])
            if description["error_code"]:
                raise RefusedError(description["error_code"])
            return sorted(partition["partition_index"] for partition in description["partitions"])

    def create_topic(self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        with self._admin() as admin:
            admin.create_topics([NewTopic(topic, partitions, 1, topic_configs=dict(configs or {}))])

    def delete_topic(self, topic: str) -> None:
        with self._admin() as admin:
            admin.delete_topics([topic])

    def create_partitions(self, topic: str, count: int) -> None:
        with self._admin() as admin:
            admin.create_partitions({topic: NewPartitions(count)})

    def topic_configs(self, topic: str) -> dict[str, str | None]:
        with self._admin() as admin:
            described = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)], config_filter="all")
            entries = described["topic"][topic]
            if not entries:  # kafka-python drops the error code, and this is the only one that a topic's configs have
                raise RefusedError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            return {key: entry["value"] for key, entry in entries.items()}

    def set_topic_configs(self, topic: str, configs: Mapping[str, str]) -> None:
        with self._admin() as admin:
            resource = ConfigResource(ConfigResourceType.TOPIC, topic, dict(configs))
            answer = admin.alter_configs([resource], incremental=True)["topic"][topic]
            code = re.match(r"\[Error (\d+)\]", str(answer))
            if code is not None:
                raise RefusedError(int(code[1]), answer)

    def delete_records(self, topic: str, offset: int, partition: int = 0) -> None:
        with self._admin() as admin:
            admin.delete_records({TopicPartition(topic, partition): offset})

    def cluster(self) -> tuple[str, list[tuple[int, str, int]]]:
        with self._admin() as admin:
            description = admin.describe_cluster()
            nodes = [(node["broker_id"], node["host"], node["port"]) for node in description["brokers"]]
            return description["cluster_id"], nodes

    @contextmanager
    def _consumer(self, isolation: str) -> Iterator[KafkaConsumer]:
        consumer = KafkaConsumer(
            **self._common,
            group_id=None,
            isolation_level=isolation,
            auto_offset_reset="none",
            fetch_max_wait_ms=50,
            allow_auto_create_topics=False,
        )
        try:
            yield consumer
        finally:
            consumer.close(autocommit=False)

    @contextmanager
    def _admin(self) -> Iterator[KafkaAdminClient]:
        admin = KafkaAdminClient(**self._common)
        try:
            with refusals():
                yield admin
        finally:
            admin.close()


def _poll(consumer: KafkaConsumer, assigned: TopicPartition) -> list[ConsumedRecord]:
    return [
        ConsumedRecord(
            record.offset,
            record.timestamp,
            ("CreateTime", "LogAppendTime")[record.timestamp_type],
            record.key,
            record.value,
            tuple(record.headers),
            -1 if record.leader_epoch is None else record.leader_epoch,
        )
        for record in consumer.poll(timeout_ms=1000).get(assigned, ())
    ]


@contextmanager
def refusals() -> Iterator[None]:
    """Turn kafka-python's errors into ours."""
    try:
        yield
    except KafkaError as error:
        raise RefusedError(error.errno, str(error)) from error
