"""What a test does beside its groups: topics, records, and questions to the coordinator, all with confluent-kafka."""

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple

from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    KafkaError,
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

from ottla.protocol.messages.offset_fetch import OffsetFetchRequest
from tests.interop.clients.confluent_client import refusals
from tests.interop.groups.member_spec import Partition
from tests.server.group_wire import ready
from tests.server.wire import Wire

BOUND_S = 30
_POLL_S = 0.05
_FETCH_VERSION = 7
"""Of OffsetFetch: the last for one group."""


class Described(NamedTuple):
    """A group as the coordinator describes it."""

    state: str
    kind: str
    assignor: str
    members: dict[str, frozenset[Partition]]
    instance_ids: frozenset[str]


class GroupAdmin:
    """Against one cluster; it knows where the partitions that it wrote to end."""

    def __init__(self, bootstrap: str) -> None:
        self._common: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "reconnect.backoff.max.ms": 200,
            "log_level": 2,
        }
        self._admin = AdminClient(self._common)
        self.ends: dict[Partition, int] = {}

    def anew(self, groups: Iterable[str]) -> "GroupAdmin":
        """Return one for a broker that was started again, once it has loaded what it knows of `groups`."""
        bootstrap = self._common["bootstrap.servers"]
        with Wire(bootstrap) as wire:
            for group in groups:
                ready(wire, group)  # librdkafka's admin client fails, or crashes, where a coordinator loads
        other = GroupAdmin(bootstrap)
        other.ends = self.ends
        return other

    def create_topic(
        self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None
    ) -> list[Partition]:
        """Create it and return its partitions."""
        _only(self._admin.create_topics([NewTopic(topic, partitions, 1, config=dict(configs or {}))]))
        created = [(topic, partition) for partition in range(partitions)]
        self.ends |= dict.fromkeys(created, 0)
        return created

    def create_partitions(self, topic: str, number: int) -> list[Partition]:
        """Raise their number to `number` and return all of them."""
        _only(self._admin.create_partitions([NewPartitions(topic, number)]))
        partitions = [(topic, partition) for partition in range(number)]
        self.ends |= {partition: 0 for partition in partitions if partition not in self.ends}
        return partitions

    def delete_topic(self, topic: str) -> None:
        """Delete it and forget it."""
        _only(self._admin.delete_topics([topic]))
        self.ends = {partition: end for partition, end in self.ends.items() if partition[0] != topic}

    def delete_records(self, partition: Partition, offset: int) -> None:
        """Delete what is before `offset`."""
        _only(self._admin.delete_records([TopicPartition(*partition, offset)]))

    def produce(self, partitions: Iterable[Partition], number: int = 10) -> None:
        """Write `number` records to each, and wait for their acknowledgement."""
        producer = Producer(self._common | {"linger.ms": 5})  # knows of no old topics
        failures: list[KafkaError] = []

        def keep(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                failures.append(error)

        for topic, partition in partitions:
            for _ in range(number):
                producer.produce(topic, b"value", b"key", partition, on_delivery=keep)
            self.ends[topic, partition] += number
        assert producer.flush(BOUND_S) == 0
        assert not failures, failures

    def committed(self, group: str) -> dict[Partition, int]:
        """Return the committed offsets of a group."""
        return {partition: offset for partition, (offset, _) in self.committed_with_metadata(group).items()}

    def await_committed(self, group: str) -> None:
        """Wait until the group has committed all that was written: members tell of records before they commit."""
        deadline = time.monotonic() + BOUND_S
        while (committed := self.committed(group)) != self.ends:
            assert time.monotonic() < deadline, f"{group} has committed {committed} of {self.ends}"
            time.sleep(_POLL_S)

    def committed_with_metadata(self, group: str) -> dict[Partition, tuple[int, str | None]]:
        """Return the committed offsets of a group with their metadata, which confluent-kafka reads beyond its end."""
        with Wire(self._common["bootstrap.servers"]) as wire:
            ready(wire, group)
            answer = wire.ask(OffsetFetchRequest(group_id=group, topics=None, require_stable=True), _FETCH_VERSION)
        assert answer.error_code == 0
        return {
            (topic.name, each.partition_index): (each.committed_offset, each.metadata)
            for topic in answer.topics
            for each in topic.partitions
        }

    def alter_offsets(self, group: str, offsets: Mapping[Partition, int]) -> dict[Partition, str | None]:
        """Commit in the name of a group without members; returns the name of each partition's error."""
        wanted = [TopicPartition(*partition, offset) for partition, offset in offsets.items()]
        answer = _only(self._admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, wanted)]))
        return {
            (each.topic, each.partition): None if each.error is None else each.error.name()
            for each in answer.topic_partitions
        }

    def describe(self, group: str) -> Described:
        """Describe a group, by ConsumerGroupDescribe or DescribeGroups."""
        group_ = _only(self._admin.describe_consumer_groups([group]))
        return Described(
            group_.state.name,
            group_.type.name,
            group_.partition_assignor,
            {
                member.member_id: frozenset((each.topic, each.partition) for each in member.assignment.topic_partitions)
                for member in group_.members
            },
            frozenset(member.group_instance_id for member in group_.members if member.group_instance_id),
        )

    def await_described(self, group: str, predicate: Callable[[Described], bool], what: str) -> Described:
        """Ask until `predicate` is true."""
        deadline = time.monotonic() + BOUND_S
        while not predicate(described := self.describe(group)):
            assert time.monotonic() < deadline, f"{what}: {described}"
            time.sleep(_POLL_S)
        return described

    def groups(self) -> dict[str, tuple[str, str]]:
        """Return all groups with state and type."""
        listed = self._admin.list_consumer_groups(request_timeout=BOUND_S).result(BOUND_S)
        assert not listed.errors, listed.errors
        return {group.group_id: (group.state.name, group.type.name) for group in listed.valid}

    def delete_group(self, group: str) -> None:
        """Delete it; RefusedError if the coordinator does not."""
        _only(self._admin.delete_consumer_groups([group]))

    def set_group_config(self, group: str, configs: Mapping[str, str]) -> None:
        """Set configs of a group."""
        changes = [
            ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in configs.items()
        ]
        resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=changes)
        _only(self._admin.incremental_alter_configs([resource]))


def _only(futures: Mapping[Any, "Future[Any]"]) -> Any:
    (future,) = futures.values()
    with refusals():
        return future.result(BOUND_S)
