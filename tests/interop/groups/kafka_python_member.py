"""A member that uses kafka-python."""

import re
import time
from collections.abc import Iterable, Mapping
from typing import Any

from kafka import ConsumerRebalanceListener, KafkaConsumer, TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

from tests.interop.groups.member_spec import CommitRefusedError, Listener, MemberSpec, Partition

_ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}
_POLL_MS = 3000
"""Long enough for a rebalance: this consumer may stand still, whatever the broker, if one outlasts a poll."""
_FETCH_WAIT_MS = 100


class KafkaPythonMember:
    """See member_spec.GroupConsumer. Its callbacks run on its event loop, where nothing can be committed."""

    def __init__(self, bootstrap: str, spec: MemberSpec, listener: Listener) -> None:
        self._listener = listener
        static: dict[str, Any] = {} if spec.instance_id is None else {"group_instance_id": spec.instance_id}
        self._consumer = KafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=spec.group,
            partition_assignment_strategy=[_ASSIGNORS[name] for name in spec.assignors or ("range",)],
            session_timeout_ms=spec.session_timeout_ms,
            heartbeat_interval_ms=spec.heartbeat_interval_ms,
            max_poll_interval_ms=spec.max_poll_interval_ms,
            auto_offset_reset=spec.offset_reset,
            enable_auto_commit=False,
            fetch_max_wait_ms=_FETCH_WAIT_MS,
            metadata_max_age_ms=1000,
            reconnect_backoff_max_ms=500,
            allow_auto_create_topics=False,
            **static,
        )
        told = _Told(listener)
        if spec.pattern is None:
            self._consumer.subscribe(list(spec.topics), listener=told)
        else:
            self._consumer.subscribe(pattern=re.compile(spec.pattern), listener=told)

    def poll(self) -> list[tuple[str, int, int]]:
        try:
            polled = self._consumer.poll(timeout_ms=_POLL_MS)
        except KafkaError as error:
            self._listener.error(f"{type(error).__name__}: {error}")
            return []
        return [(record.topic, record.partition, record.offset) for records in polled.values() for record in records]

    def commit(self, offsets: Mapping[Partition, int]) -> None:
        wanted = {
            TopicPartition(*partition): OffsetAndMetadata(offset, "", -1) for partition, offset in offsets.items()
        }
        try:
            self._consumer.commit(wanted, timeout_ms=20_000)
        except KafkaError as error:
            raise CommitRefusedError(type(error).__name__) from error

    def idle(self) -> None:
        time.sleep(_FETCH_WAIT_MS / 1000)

    def membership(self) -> tuple[int, str]:
        metadata = self._consumer.group_metadata()
        return metadata.generation_id, metadata.member_id

    def close(self) -> None:
        self._consumer.close()


class _Told(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self._listener.assigned([tuple(each) for each in assigned])

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        self._listener.revoked([tuple(each) for each in revoked])

    def on_partitions_lost(self, lost: Iterable[TopicPartition]) -> None:
        self._listener.lost([tuple(each) for each in lost])
