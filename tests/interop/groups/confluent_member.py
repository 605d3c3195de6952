"""A member that uses confluent-kafka."""

import struct
import time
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from tests.interop.groups.member_spec import CommitRefusedError, Listener, MemberSpec, Partition

_METADATA_MAGIC = b"CGMDv2:"
_POLL_S = 0.1


class ConfluentMember:
    """See member_spec.GroupConsumer."""

    def __init__(self, bootstrap: str, spec: MemberSpec, listener: Listener) -> None:
        self._listener = listener
        self._consumer = Consumer(_config(bootstrap, spec) | {"error_cb": self._on_error})
        self._consumer.subscribe(
            list(spec.topics) if spec.pattern is None else [spec.pattern],
            on_assign=self._on_assign,
            on_revoke=self._on_revoke,
            on_lost=self._on_lost,
        )

    def poll(self) -> list[tuple[str, int, int]]:
        records = []
        for message in self._consumer.consume(500, _POLL_S):
            error = message.error()
            if error is not None:
                self._listener.error(f"{error.name()}: {error.str()}")
                continue
            topic, partition, offset = message.topic(), message.partition(), message.offset()
            assert topic is not None
            assert partition is not None
            assert offset is not None
            records.append((topic, partition, offset))
        return records

    def commit(self, offsets: Mapping[Partition, int]) -> None:
        wanted = [TopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()]
        try:
            for each in self._consumer.commit(offsets=wanted, asynchronous=False) or ():
                if each.error is not None:
                    raise KafkaException(each.error)
        except KafkaException as error:
            raise CommitRefusedError(error.args[0].name()) from error

    def idle(self) -> None:
        time.sleep(_POLL_S)

    def membership(self) -> tuple[int, str]:
        metadata: Any = self._consumer.consumer_group_metadata()
        assert metadata.startswith(_METADATA_MAGIC)
        (generation,) = struct.unpack_from("=i", metadata, len(_METADATA_MAGIC))
        return generation, self._consumer.memberid() or ""

    def close(self) -> None:
        self._consumer.close()

    def _on_assign(self, _: Consumer, partitions: Sequence[TopicPartition]) -> None:
        self._listener.assigned(_plain(partitions))

    def _on_revoke(self, _: Consumer, partitions: Sequence[TopicPartition]) -> None:
        try:
            if offsets := self._listener.uncommitted():
                self.commit(offsets)
                self._listener.committed(offsets)
        except CommitRefusedError as error:
            self._listener.refused(error)
        self._listener.revoked(_plain(partitions))

    def _on_error(self, error: KafkaError) -> None:
        """Hear of what ends a consumer; connections break where a broker restarts, and that is no error."""
        if error.code() == KafkaError._FATAL:
            self._listener.error(error.str())

    def _on_lost(self, _: Consumer, partitions: Sequence[TopicPartition]) -> None:
        self._listener.lost(_plain(partitions))


def _config(bootstrap: str, spec: MemberSpec) -> dict[str, Any]:
    config: dict[str, Any] = {
        "bootstrap.servers": bootstrap,
        "group.id": spec.group,
        "group.protocol": spec.protocol,
        "max.poll.interval.ms": spec.max_poll_interval_ms,
        "auto.offset.reset": spec.offset_reset,
        "enable.auto.commit": False,
        "fetch.wait.max.ms": 100,
        "topic.metadata.refresh.interval.ms": 1000,
        "topic.metadata.propagation.max.ms": 1000,
        "reconnect.backoff.max.ms": 500,
        # Else it forgets the only broker while that is away, and waits for answers of the one it has forgotten.
        "metadata.recovery.strategy": "none",
        "log_level": 2,
    }
    if spec.instance_id is not None:
        config["group.instance.id"] = spec.instance_id
    if spec.protocol == "consumer":
        if spec.assignors:
            config["group.remote.assignor"] = spec.assignors[0]
        return config
    return config | {
        "session.timeout.ms": spec.session_timeout_ms,
        "heartbeat.interval.ms": spec.heartbeat_interval_ms,
        "partition.assignment.strategy": ",".join(spec.assignors or ("range",)),
    }


def _plain(partitions: Sequence[TopicPartition]) -> list[Partition]:
    return [(each.topic, each.partition) for each in partitions]
