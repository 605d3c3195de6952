"""Apache's own Java clients, through tests/apache/driver.py."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.apache import driver
from tests.apache.driver import ConsumedRecord, Operation
from tests.interop.clients.client import ErrorCode, RefusedError, Sent
from tests.oracle import Oracle

_CODES = {
    "OffsetOutOfRangeException": ErrorCode.OFFSET_OUT_OF_RANGE,
    "UnknownTopicOrPartitionException": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    "RecordTooLargeException": ErrorCode.MESSAGE_TOO_LARGE,
    "InvalidTopicException": ErrorCode.INVALID_TOPIC_EXCEPTION,
    "TopicExistsException": ErrorCode.TOPIC_ALREADY_EXISTS,
    "InvalidPartitionsException": ErrorCode.INVALID_PARTITIONS,
    "InvalidReplicationFactorException": ErrorCode.INVALID_REPLICATION_FACTOR,
    "InvalidConfigurationException": ErrorCode.INVALID_CONFIG,
    "PolicyViolationException": ErrorCode.POLICY_VIOLATION,
}


class Java:
    """See client.Client."""

    name = "java"
    codecs: tuple[str, ...] = ("none", "gzip", "snappy", "lz4", "zstd")

    def __init__(self, oracle: Oracle, bootstrap: str) -> None:
        self._oracle = oracle
        self._bootstrap = bootstrap

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
        configs = {"acks": acks, **{key: str(value) for key, value in (settings or {}).items()}}
        operations = [driver.open_producer("p", compression=codec, idempotent=idempotent, configs=configs)]
        operations += [
            driver.send(
                "p",
                topic,
                record.value,
                key=record.key,
                headers=record.headers,
                timestamp=record.timestamp_ms,
                partition=partition,
            )
            for record in records
        ]
        (answer,) = self._drive(*operations, driver.flush("p"))
        return [int(offset) for offset in answer["offsets"]]

    def consume(
        self, topic: str, *, partition: int = 0, start: int | None = None, isolation: str = "read_uncommitted"
    ) -> list[ConsumedRecord]:
        (answer,) = self._drive(driver.consume(topic, partition, isolation=isolation, start=start))
        return driver.consumed(answer)

    def watermarks(self, topic: str, partition: int = 0) -> tuple[int, int]:
        specs = ("earliest", "latest")
        low, high = self._drive(*(driver.list_offset(topic, spec, partition) for spec in specs))
        return low["offset"], high["offset"]

    def offset_for_time(self, topic: str, timestamp_ms: int, partition: int = 0) -> int | None:
        (answer,) = self._drive(driver.list_offset(topic, timestamp_ms, partition))
        return None if answer["offset"] == -1 else int(answer["offset"])

    def topics(self) -> set[str]:
        (answer,) = self._drive(driver.list_topics())
        return set(answer["topics"])

    def partitions(self, topic: str) -> list[int]:
        (answer,) = self._drive(driver.describe_topic(topic))
        return [partition["partition"] for partition in answer["partitions"]]

    def create_topic(self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        self._drive(driver.create_topic(topic, partitions, configs))

    def delete_topic(self, topic: str) -> None:
        self._drive(driver.delete_topic(topic))

    def create_partitions(self, topic: str, count: int) -> None:
        self._drive(driver.create_partitions(topic, count))

    def topic_configs(self, topic: str) -> dict[str, str | None]:
        (answer,) = self._drive(driver.describe_configs(topic))
        return {key: entry["value"] for key, entry in answer.items()}

    def set_topic_configs(self, topic: str, configs: Mapping[str, str]) -> None:
        self._drive(driver.alter_topic(topic, configs))

    def delete_records(self, topic: str, offset: int, partition: int = 0) -> None:
        self._drive(driver.delete_records(topic, offset, partition))

    def cluster(self) -> tuple[str, list[tuple[int, str, int]]]:
        (answer,) = self._drive(driver.describe_cluster())
        return answer["cluster_id"], [(node["id"], node["host"], node["port"]) for node in answer["nodes"]]

    def _drive(self, *operations: Operation) -> list[dict[str, Any]]:
        """Do `operations`, of which the last may be refused."""
        answers = driver.drive(self._oracle, self._bootstrap, [*operations[:-1], driver.or_error(operations[-1])])
        for answer in answers:
            if "error" in answer:
                raise RefusedError(_CODES[answer["error"]], answer["message"])
        return answers
