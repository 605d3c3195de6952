"""A member that uses aiokafka."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import KafkaError

from tests.interop.groups.member_spec import CommitRefusedError, Listener, MemberSpec, Partition

_ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}
_POLL_MS = 100


class AiokafkaMember:
    """See member_spec.GroupConsumer; its event loop runs while it is polled or idle."""

    def __init__(self, bootstrap: str, spec: MemberSpec, listener: Listener) -> None:
        self._listener = listener
        self._loop = asyncio.new_event_loop()
        self._consumer = self._loop.run_until_complete(self._start(bootstrap, spec))

    async def _start(self, bootstrap: str, spec: MemberSpec) -> AIOKafkaConsumer:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=spec.group,
            group_instance_id=spec.instance_id,
            partition_assignment_strategy=[_ASSIGNORS[name] for name in spec.assignors or ("range",)],
            session_timeout_ms=spec.session_timeout_ms,
            heartbeat_interval_ms=spec.heartbeat_interval_ms,
            max_poll_interval_ms=spec.max_poll_interval_ms,
            auto_offset_reset=spec.offset_reset,
            enable_auto_commit=False,
            fetch_max_wait_ms=_POLL_MS,
            metadata_max_age_ms=1000,
        )
        told = _Told(consumer, self._listener)
        if spec.pattern is None:
            consumer.subscribe(list(spec.topics), listener=told)
        else:
            consumer.subscribe(pattern=spec.pattern, listener=told)
        await consumer.start()
        return consumer

    def poll(self) -> list[tuple[str, int, int]]:
        try:
            polled = self._loop.run_until_complete(self._consumer.getmany(timeout_ms=_POLL_MS))
        except KafkaError as error:
            self._listener.error(f"{type(error).__name__}: {error}")
            return []
        return [(record.topic, record.partition, record.offset) for records in polled.values() for record in records]

    def commit(self, offsets: Mapping[Partition, int]) -> None:
        self._loop.run_until_complete(_commit(self._consumer, offsets))

    def idle(self) -> None:
        self._loop.run_until_complete(asyncio.sleep(_POLL_MS / 1000))

    def membership(self) -> tuple[int, str]:
        return _membership(self._consumer)

    def close(self) -> None:
        self._loop.run_until_complete(self._consumer.stop())
        self._loop.close()


class _Told(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, consumer: AIOKafkaConsumer, listener: Listener) -> None:
        self._consumer = consumer
        self._listener = listener

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self._listener.assigned([tuple(each) for each in assigned])

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        try:
            if offsets := self._listener.uncommitted():
                await _commit(self._consumer, offsets)
                self._listener.committed(offsets)
        except CommitRefusedError as error:
            self._listener.refused(error)
        self._listener.revoked([tuple(each) for each in revoked])


async def _commit(consumer: AIOKafkaConsumer, offsets: Mapping[Partition, int]) -> None:
    try:
        await consumer.commit({TopicPartition(*partition): offset for partition, offset in offsets.items()})
    except KafkaError as error:
        raise CommitRefusedError(type(error).__name__) from error


def _membership(consumer: AIOKafkaConsumer) -> tuple[int, str]:
    coordinator: Any = consumer._coordinator  # it shows its generation nowhere else
    return coordinator.generation, coordinator.member_id
