"""confluent-kafka, which is librdkafka."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    TIMESTAMP_CREATE_TIME,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its stubs do not export them
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from tests.apache.driver import ConsumedRecord
from tests.interop.clients.client import BOUND_S, RefusedError, Sent


class Confluent:
    """See client.Client."""

    name = "confluent-kafka"
    codecs: tuple[str, ...] = ("none", "gzip", "snappy", "lz4", "zstd")

    def __init__(self, bootstrap: str) -> None:
        self._common: dict[str, Any] = {"bootstrap.servers": bootstrap, "log_level": 2}
        self._admin = AdminClient(self._common)

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
        producer = Producer(
            self._common
            | {"compression.type": codec, "acks": acks, "enable.idempotence": idempotent, "linger.ms": 20}
            | dict(settings or {})
        )
        offsets: list[int | None] = [None] * len(records)
        errors: list[KafkaError] = []

        def delivered(number: int) -> Callable[[KafkaError | None, Message], None]:
            def keep(error: KafkaError | None, message: Message) -> None:
                if error is not None:
                    errors.append(error)
                else:
                    offsets[number] = message.offset() if acks != "0" else -1

            return keep

        with refusals():
            for number, record in enumerate(records):
                timestamp: dict[str, Any] = {} if record.timestamp_ms is None else {"timestamp": record.timestamp_ms}
                producer.produce(
                    topic,
                    record.value,
                    record.key,
                    partition,
                    on_delivery=delivered(number),
                    headers=list(record.headers),
                    **timestamp,
                )
            left = producer.flush(BOUND_S)
        if errors:
            raise RefusedError(errors[0].code(), errors[0].str())
        assert left == 0, f"{left} records were not delivered"
        return [offset for offset in offsets if offset is not None]

    def consume(
        self, topic: str, *, partition: int = 0, start: int | None = None, isolation: str = "read_uncommitted"
    ) -> list[ConsumedRecord]:
        consumed: list[ConsumedRecord] = []
        with self._consumer(isolation) as consumer:
            consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING if start is None else start)])
            while (record := _next(consumer)) is not None:
                consumed.append(record)
        return consumed

    def tail(self, topic: str, act: Callable[[], object], count: int, partition: int = 0) -> list[ConsumedRecord]:
        with self._consumer("read_uncommitted") as consumer:
            consumer.assign([TopicPartition(topic, partition, OFFSET_END)])
            assert _next(consumer) is None
            act()
            consumed: list[ConsumedRecord] = []
            while len(consumed) < count:
                record = _next(consumer)
                if record is not None:
                    consumed.append(record)
            return consumed

    def watermarks(self, topic: str, partition: int = 0) -> tuple[int, int]:
        with self._consumer("read_uncommitted") as consumer, refusals():
            low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), BOUND_S, cached=False)
            return low, high

    def offset_for_time(self, topic: str, timestamp_ms: int, partition: int = 0) -> int | None:
        with self._consumer("read_uncommitted") as consumer, refusals():
            (found,) = consumer.offsets_for_times([TopicPartition(topic, partition, timestamp_ms)], BOUND_S)
            return None if found.offset == OFFSET_END else int(found.offset)

    def topics(self) -> set[str]:
        return {name for name in self._admin.list_topics(timeout=BOUND_S).topics if not name.startswith("__")}

    def partitions(self, topic: str) -> list[int]:
        description = self._admin.list_topics(topic, timeout=BOUND_S).topics[topic]
        if description.error is not None:
            raise RefusedError(description.error.code(), description.error.str())
        return sorted(description.partitions)

    def create_topic(self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        _only(self._admin.create_topics([NewTopic(topic, partitions, 1, config=dict(configs or {}))]))

    def delete_topic(self, topic: str) -> None:
        _only(self._admin.delete_topics([topic]))

    def create_partitions(self, topic: str, count: int) -> None:
        _only(self._admin.create_partitions([NewPartitions(topic, count)]))

    def topic_configs(self, topic: str) -> dict[str, str | None]:
        entries = _only(self._admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]))
        return {name: entry.value for name, entry in entries.items()}

    def set_topic_configs(self, topic: str, configs: Mapping[str, str]) -> None:
        changes = [
            ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in configs.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=changes)
        _only(self._admin.incremental_alter_configs([resource]))

    def delete_records(self, topic: str, offset: int, partition: int = 0) -> None:
        _only(self._admin.delete_records([TopicPartition(topic, partition, offset)]))

    def cluster(self) -> tuple[str, list[tuple[int, str, int]]]:
        description = self._admin.describe_cluster().result(BOUND_S)
        return description.cluster_id, [(node.id, node.host, node.port) for node in description.nodes]

    @contextmanager
    def _consumer(self, isolation: str) -> Iterator[Consumer]:
        consumer = Consumer(
            self._common
            | {
                "group.id": "unused",  # librdkafka wants one even where partitions are assigned
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": isolation,
                "auto.offset.reset": "error",
                "fetch.wait.max.ms": 50,
            }
        )
        with closing(consumer):
            yield consumer


def _next(consumer: Consumer) -> ConsumedRecord | None:
    """The next record; None at the end of the partition."""
    message = consumer.poll(BOUND_S)
    assert message is not None, "neither a record nor the end"
    error = message.error()
    if error is not None:
        if error.code() == KafkaError._PARTITION_EOF:
            return None
        raise RefusedError(-error.code() if error.code() < 0 else error.code(), error.str())
    kind, timestamp = message.timestamp()
    offset, epoch = message.offset(), message.leader_epoch()
    assert offset is not None
    headers: Any = message.headers() or ()
    return ConsumedRecord(
        offset,
        timestamp,
        "CreateTime" if kind == TIMESTAMP_CREATE_TIME else "LogAppendTime",
        message.key(),
        message.value(),
        tuple(headers),
        -1 if epoch is None else epoch,
    )


def _only(futures: Mapping[Any, "Future[Any]"]) -> Any:
    """The result of the one thing that was asked."""
    (future,) = futures.values()
    with refusals():
        return future.result(BOUND_S)


@contextmanager
def refusals() -> Iterator[None]:
    """Turn librdkafka's errors into ours."""
    try:
        yield
    except KafkaException as error:
        raise RefusedError(error.args[0].code(), error.args[0].str()) from error
