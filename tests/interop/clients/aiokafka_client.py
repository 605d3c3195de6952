"""aiokafka."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError, for_code

from tests.apache.driver import ConsumedRecord
from tests.interop.clients.client import BOUND_S, RefusedError, Sent

_SETTINGS = {"request.timeout.ms": "request_timeout_ms", "max.request.size": "max_request_size"}
_Answer = TypeVar("_Answer")


class Aiokafka:
    """See client.Client; every call runs an event loop of its own."""

    name = "aiokafka"
    codecs: tuple[str, ...] = ("none", "gzip", "snappy", "lz4", "zstd")

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
        async def work() -> list[int]:
            async with AIOKafkaProducer(
                **self._common,
                compression_type=None if codec == "none" else codec,
                acks=acks if acks == "all" else int(acks),
                enable_idempotence=idempotent,
                linger_ms=20,
                **{_SETTINGS[key]: value for key, value in (settings or {}).items()},
            ) as producer:
                futures = [
                    await producer.send(
                        topic, record.value, record.key, partition, record.timestamp_ms, list(record.headers)
                    )
                    for record in records
                ]
                await producer.flush()
                return [-1 if acks == "0" else (await future).offset for future in futures]

        return _run(work())

    def consume(
        self, topic: str, *, partition: int = 0, start: int | None = None, isolation: str = "read_uncommitted"
    ) -> list[ConsumedRecord]:
        assigned = TopicPartition(topic, partition)

        async def work() -> list[ConsumedRecord]:
            async with self._consumer(isolation) as consumer:
                consumer.assign([assigned])
                if start is None:
                    await consumer.seek_to_beginning(assigned)
                else:
                    consumer.seek(assigned, start)
                end = (await consumer.end_offsets([assigned]))[assigned]
                consumed: list[ConsumedRecord] = []
                while await consumer.position(assigned) < end:
                    consumed += await _poll(consumer, assigned)
                return consumed

        return _run(work())

    def tail(self, topic: str, act: Callable[[], object], count: int, partition: int = 0) -> list[ConsumedRecord]:
        assigned = TopicPartition(topic, partition)

        async def work() -> list[ConsumedRecord]:
            async with self._consumer("read_uncommitted") as consumer:
                consumer.assign([assigned])
                await consumer.seek_to_end(assigned)
                await asyncio.to_thread(act)
                consumed: list[ConsumedRecord] = []
                while len(consumed) < count:
                    consumed += await _poll(consumer, assigned)
                return consumed

        return _run(work())

    def watermarks(self, topic: str, partition: int = 0) -> tuple[int, int]:
        assigned = TopicPartition(topic, partition)

        async def work() -> tuple[int, int]:
            async with self._consumer("read_uncommitted") as consumer:
                consumer.assign([assigned])
                low = (await consumer.beginning_offsets([assigned]))[assigned]
                return low, (await consumer.end_offsets([assigned]))[assigned]

        return _run(work())

    def offset_for_time(self, topic: str, timestamp_ms: int, partition: int = 0) -> int | None:
        assigned = TopicPartition(topic, partition)

        async def work() -> int | None:
            async with self._consumer("read_uncommitted") as consumer:
                consumer.assign([assigned])
                found = (await consumer.offsets_for_times({assigned: timestamp_ms}))[assigned]
                return None if found is None else int(found.offset)

        return _run(work())

    def topics(self) -> set[str]:
        async def work() -> set[str]:
            async with self._admin() as admin:
                return {name for name in await admin.list_topics() if not name.startswith("__")}

        return _run(work())

    def partitions(self, topic: str) -> list[int]:
        async def work() -> list[int]:
            async with self._admin() as admin:
                (description,) = await admin.describe_topics([topic])
                if description["error_code"]:
                    raise RefusedError(description["error_code"])
                return sorted(partition["partition"] for partition in description["partitions"])

        return _run(work())

    def create_topic(self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        async def work() -> None:
            async with self._admin() as admin:
                new = NewTopic(topic, partitions, 1, topic_configs=dict(configs or {}))
                _check([error[1] for error in (await admin.create_topics([new])).topic_errors])

        _run(work())

    def delete_topic(self, topic: str) -> None:
        async def work() -> None:
            async with self._admin() as admin:
                _check([error[1] for error in (await admin.delete_topics([topic])).topic_error_codes])

        _run(work())

    def create_partitions(self, topic: str, count: int) -> None:
        async def work() -> None:
            async with self._admin() as admin:
                answer = await admin.create_partitions({topic: NewPartitions(count)})
                _check([error[1] for error in answer.topic_errors])

        _run(work())

    def topic_configs(self, topic: str) -> dict[str, str | None]:
        async def work() -> dict[str, str | None]:
            async with self._admin() as admin:
                (answer,) = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
                ((code, _, _, _, entries),) = answer.resources
                _check([code])
                return {entry[0]: entry[1] for entry in entries}

        return _run(work())

    def set_topic_configs(self, topic: str, configs: Mapping[str, str]) -> None:
        """With AlterConfigs, which is all that aiokafka has: what is not named goes back to its default."""

        async def work() -> None:
            async with self._admin() as admin:
                resource = ConfigResource(ConfigResourceType.TOPIC, topic, configs=dict(configs))
                (answer,) = await admin.alter_configs([resource])
                _check([each[0] for each in answer.resources])

        _run(work())

    def delete_records(self, topic: str, offset: int, partition: int = 0) -> None:
        async def work() -> None:
            async with self._admin() as admin:
                await admin.delete_records({TopicPartition(topic, partition): RecordsToDelete(before_offset=offset)})

        _run(work())

    def cluster(self) -> tuple[str, list[tuple[int, str, int]]]:
        async def work() -> tuple[str, list[tuple[int, str, int]]]:
            async with self._admin() as admin:
                description = await admin.describe_cluster()
                nodes = [(node["node_id"], node["host"], node["port"]) for node in description["brokers"]]
                return description["cluster_id"], nodes

        return _run(work())

    @asynccontextmanager
    async def _consumer(self, isolation: str) -> AsyncIterator[AIOKafkaConsumer]:
        async with AIOKafkaConsumer(
            **self._common, group_id=None, isolation_level=isolation, auto_offset_reset="none", fetch_max_wait_ms=50
        ) as consumer:
            yield consumer

    @asynccontextmanager
    async def _admin(self) -> AsyncIterator[AIOKafkaAdminClient]:
        admin = AIOKafkaAdminClient(**self._common)
        await admin.start()
        try:
            yield admin
        finally:
            await admin.close()


def _run(work: Coroutine[Any, Any, _Answer]) -> _Answer:
    """Run `work`, bounded in time, with aiokafka's errors turned into ours."""

    async def bounded() -> _Answer:
        return await asyncio.wait_for(work, BOUND_S)

    try:
        return asyncio.run(bounded())
    except KafkaError as error:
        raise RefusedError(error.errno, str(error)) from error


def _check(codes: Sequence[int]) -> None:
    for code in codes:
        if code:
            raise for_code(code)


async def _poll(consumer: AIOKafkaConsumer, assigned: TopicPartition) -> list[ConsumedRecord]:
    return [
        ConsumedRecord(
            record.offset,
            record.timestamp,
            ("CreateTime", "LogAppendTime")[record.timestamp_type],
            record.key,
            record.value,
            tuple(record.headers),
            -1,  # aiokafka does not say
        )
        for record in (await consumer.getmany(assigned, timeout_ms=1000)).get(assigned, ())
    ]
