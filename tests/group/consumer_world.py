"""A shard of groups with virtual time, topics that come and go, and a log that can fail or be replayed from scratch."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from random import Random
from typing import Any, TypeVar

from ottla.common.endpoint import SecurityProtocol
from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.common.kafka_principal import KafkaPrincipal
from ottla.common.uuid import Uuid
from ottla.config.sections import GroupCoordinatorConfig
from ottla.coordinator.record import CoordinatorRecord
from ottla.coordinator.record_serde import RecordSerde
from ottla.coordinator.result import CoordinatorResult
from ottla.coordinator.timers import Timers
from ottla.group.consumer.context import ConsumerGroupConfig
from ottla.group.consumer.group import ConsumerGroup
from ottla.group.group import Group
from ottla.group.metrics import GroupMetrics
from ottla.group.records import RECORD_TYPES
from ottla.group.shard import GroupCoordinatorShard
from ottla.metadata.image.metadata import EMPTY_IMAGE, MetadataImage
from ottla.metadata.image.metadata_delta import MetadataDelta
from ottla.metadata.image.provenance import MetadataProvenance
from ottla.metadata.records.topics import PartitionRecord, RemoveTopicRecord, TopicRecord
from ottla.metrics.registry import Registry
from ottla.network.request import UNKNOWN_CLIENT, ClientInformation, RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import encode
from ottla.protocol.consumer_protocol import (
    ConsumerProtocolSubscription,
    OwnedTopicPartitions,
    decode_assignment,
)
from ottla.protocol.headers import RequestHeader
from ottla.protocol.messages.consumer_group_describe import DescribedGroup
from ottla.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatRequestTopicPartitions,
    ConsumerGroupHeartbeatResponse,
)
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from ottla.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from ottla.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from ottla.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from ottla.runtime.inline import ManualClock

T = TypeVar("T")

GROUP = "group"
SESSION_MS = 45_000
CLASSIC_SESSION_MS = 10_000
REBALANCE_MS = 60_000

Partitions = Mapping[Uuid, Collection[int]]


class _Peer:
    connection_id = "1"
    client_address = "127.0.0.1"
    principal = KafkaPrincipal("User", "ANONYMOUS")
    listener_name = "PLAINTEXT"
    security_protocol = SecurityProtocol.PLAINTEXT
    client_information: ClientInformation = UNKNOWN_CLIENT
    from_privileged_listener = False


def context(api_key: ApiKey, version: int) -> RequestContext:
    """Who asks: a client on this machine."""
    return RequestContext(RequestHeader(api_key, version, 1, "client"), _Peer())


class World:
    """One shard, and what is around it."""

    def __init__(
        self,
        *,
        group_configs: Callable[[str], ConsumerGroupConfig] | None = None,
        describable: Callable[[Sequence[str]], Collection[str]] | None = None,
        **config: Any,
    ) -> None:
        self.clock = ManualClock(1_000_000)
        self.config = GroupCoordinatorConfig(**({"group_consumer_assignment_interval_ms": 0} | config))
        self.group_configs = group_configs or (lambda _group_id: ConsumerGroupConfig())
        self.describable = describable
        self.serde = RecordSerde(RECORD_TYPES)
        self.log: list[tuple[bytes, bytes | None]] = []
        self.appends_fail = False
        self.holds_commits = False
        self.uncommitted: list[Callable[[KafkaError | None], None]] = []
        self.image: MetadataImage = EMPTY_IMAGE
        self.rng = Random(7)
        self.metrics = GroupMetrics(Registry())
        self._start()
        self.shard.on_loaded(self.image, self.now_ms)

    def _start(self) -> None:
        self.timers = Timers(self.clock.monotonic_ms)
        describable = self.describable
        self.shard = GroupCoordinatorShard(
            config=self.config,
            timers=self.timers,
            rng=self.rng,
            metrics=self.metrics,
            group_configs=self.group_configs,
            describable_topics=None if describable is None else lambda _context, topics: describable(topics),
        )

    @property
    def now_ms(self) -> int:
        """The wall clock's time."""
        return self.clock.now_ms()

    # -- the runtime --------------------------------------------------------------------------------------------------

    def run(self, result: CoordinatorResult[T]) -> T:
        """Append, replay, commit; the error of the append if that fails."""
        settle = result.on_committed or (lambda _error: None)
        if result.records and self.appends_fail:
            error = ApiError(ErrorCode.NOT_COORDINATOR)
            settle(error)
            raise error
        for record in result.records:
            self.log.append(self.serde.encode(record))
            if result.replay:
                self._replay(self.shard, *self.log[-1])
        if self.holds_commits:
            self.uncommitted.append(settle)
        else:
            settle(None)
        return result.response

    def commit(self) -> None:
        """Everything so far is committed."""
        settles, self.uncommitted = self.uncommitted, []
        for settle in settles:
            settle(None)

    def advance(self, elapsed_ms: int) -> None:
        """Let time pass; timers run when they are due."""
        until_ms = self.clock.monotonic_ms() + elapsed_ms
        while (deadline_ms := self.timers.next_deadline_ms) is not None and deadline_ms <= until_ms:
            self.clock.advance_ms(max(deadline_ms - self.clock.monotonic_ms(), 0))
            if (due := self.timers.pop_due(self.clock.monotonic_ms())) is not None:
                try:
                    self.run(due[1](self.now_ms))
                except KafkaError:
                    assert self.appends_fail
        self.clock.advance_ms(until_ms - self.clock.monotonic_ms())

    def reload(self) -> None:
        """The partition goes elsewhere and comes back: only the log is left."""
        self.shard.on_unloaded()
        self._start()
        for key, value in self.log:
            self._replay(self.shard, key, value)
        self.shard.on_loaded(self.image, self.now_ms)

    def replayed(self) -> dict[str, Group]:
        """The groups as the log alone makes them."""
        shard = GroupCoordinatorShard(
            config=self.config,
            timers=Timers(self.clock.monotonic_ms),
            rng=Random(0),
            metrics=GroupMetrics(Registry()),
            group_configs=self.group_configs,
        )
        for key, value in self.log:
            self._replay(shard, key, value)
        return {group.group_id: group for group in shard.all_groups}

    def _replay(self, shard: GroupCoordinatorShard, key: bytes, value: bytes | None) -> None:
        shard.replay(0, -1, -1, self.serde.decode(key, value))

    def records_since(self, position: int) -> list[CoordinatorRecord]:
        """What was written after a position of the log."""
        return [self.serde.decode(key, value) for key, value in self.log[position:]]

    # -- topics -------------------------------------------------------------------------------------------------------

    def _change_metadata(self, *records: Any) -> None:
        delta = MetadataDelta(self.image)
        for record in records:
            delta.replay(record)
        self.image = delta.apply(MetadataProvenance(self.image.offset + len(records), 1, self.now_ms))
        self.shard.on_metadata(delta, self.image, self.now_ms)

    def create_topic(self, name: str, partitions: int) -> Uuid:
        """A topic, whose id is new."""
        topic_id = Uuid.random(self.rng)
        self._change_metadata(TopicRecord(name=name, topic_id=topic_id), *_partitions(topic_id, 0, partitions))
        return topic_id

    def add_partitions(self, name: str, partitions: int) -> None:
        """A topic grows to so many partitions."""
        topic = self.image.topics.by_name[name]
        self._change_metadata(*_partitions(topic.id, len(topic.partitions), partitions))

    def delete_topic(self, name: str) -> None:
        """A topic is gone."""
        self._change_metadata(RemoveTopicRecord(topic_id=self.image.topics.by_name[name].id))

    # -- the consumer protocol ----------------------------------------------------------------------------------------

    def heartbeat(
        self,
        member_id: str,
        epoch: int,
        *,
        owned: Partitions | None = None,
        topics: Sequence[str] | None = None,
        regex: str | None = None,
        instance_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        assignor: str | None = None,
        rack_id: str | None = None,
        group_id: str = GROUP,
    ) -> ConsumerGroupHeartbeatResponse:
        """ConsumerGroupHeartbeat."""
        request = ConsumerGroupHeartbeatRequest(
            group_id=group_id,
            member_id=member_id,
            member_epoch=epoch,
            instance_id=instance_id,
            rack_id=rack_id,
            rebalance_timeout_ms=rebalance_timeout_ms,
            subscribed_topic_names=topics,
            subscribed_topic_regex=regex,
            server_assignor=assignor,
            topic_partitions=None
            if owned is None
            else [
                ConsumerGroupHeartbeatRequestTopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
                for topic_id, partitions in owned.items()
            ],
        )
        return self.run(
            self.shard.consumer_group_heartbeat(context(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1), request, self.now_ms)
        )

    def join(self, member_id: str, **fields: Any) -> ConsumerGroupHeartbeatResponse:
        """The first heartbeat of a member."""
        first: dict[str, Any] = {"rebalance_timeout_ms": REBALANCE_MS, "owned": {}} | fields
        return self.heartbeat(member_id, 0, **first)

    def describe(self, group_id: str = GROUP) -> DescribedGroup:
        """ConsumerGroupDescribe."""
        (described,) = self.shard.consumer_group_describe([group_id])
        return described

    @property
    def group(self) -> ConsumerGroup:
        """The consumer group."""
        group = self.groups[GROUP]
        assert isinstance(group, ConsumerGroup)
        return group

    @property
    def groups(self) -> dict[str, Group]:
        """All groups by id."""
        return {group.group_id: group for group in self.shard.all_groups}

    def commit_offset(self, member_id: str, epoch: int, topic: str, partition: int, version: int = 9) -> int:
        """OffsetCommit for one partition; the error of the request or of the partition."""
        request = OffsetCommitRequest(
            group_id=GROUP,
            generation_id_or_member_epoch=epoch,
            member_id=member_id,
            topics=[
                OffsetCommitRequestTopic(
                    name=topic,
                    topic_id=self.image.topics.by_name[topic].id,
                    partitions=[OffsetCommitRequestPartition(partition_index=partition, committed_offset=1)],
                )
            ],
        )
        try:
            response = self.run(self.shard.commit_offset(context(ApiKey.OFFSET_COMMIT, version), request, self.now_ms))
        except KafkaError as error:
            return error.code
        return response.topics[0].partitions[0].error_code

    # -- the classic protocol -----------------------------------------------------------------------------------------

    def classic_join(
        self,
        member_id: str = "",
        *,
        topics: Sequence[str] = ("t",),
        owned: Mapping[str, Sequence[int]] | None = None,
        protocols: Sequence[str] = ("range",),
        instance_id: str | None = None,
        metadata: bytes | None = None,
        protocol_type: str = "consumer",
        version: int = 9,
        session_ms: int = CLASSIC_SESSION_MS,
    ) -> list[JoinGroupResponse]:
        """JoinGroup; the answers that come, now or later, are in the list."""
        if metadata is None:
            metadata = subscription(topics, owned or {})
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(name=name, metadata=metadata) for name in protocols],
        )
        answers: list[JoinGroupResponse] = []
        joining = context(ApiKey.JOIN_GROUP, version)
        self.run(self.shard.classic_group_join(joining, request, answers.append, self.now_ms))
        return answers

    def classic_sync(
        self,
        member_id: str,
        generation_id: int,
        *,
        assignments: Iterable[Any] = (),
        instance_id: str | None = None,
        protocol_name: str | None = None,
    ) -> list[SyncGroupResponse]:
        """SyncGroup; the answers that come, now or later, are in the list."""
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=generation_id,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_name=protocol_name,
            assignments=list(assignments),
        )
        answers: list[SyncGroupResponse] = []
        self.run(self.shard.classic_group_sync(request, answers.append, self.now_ms))
        return answers

    def classic_heartbeat(self, member_id: str, generation_id: int, instance_id: str | None = None) -> int:
        """Heartbeat; its error."""
        request = HeartbeatRequest(
            group_id=GROUP, generation_id=generation_id, member_id=member_id, group_instance_id=instance_id
        )
        try:
            return self.run(self.shard.classic_group_heartbeat(request, self.now_ms)).error_code
        except KafkaError as error:
            return error.code

    def classic_leave(self, *members: tuple[str, str | None]) -> LeaveGroupResponse:
        """LeaveGroup of members by id and instance id."""
        request = LeaveGroupRequest(
            group_id=GROUP,
            members=[
                MemberIdentity(member_id=member_id, group_instance_id=instance_id) for member_id, instance_id in members
            ],
        )
        return self.run(self.shard.classic_group_leave(request, self.now_ms))


def _partitions(topic_id: Uuid, first: int, end: int) -> list[PartitionRecord]:
    return [
        PartitionRecord(topic_id=topic_id, partition_id=index, replicas=[0], isr=[0], leader=0)
        for index in range(first, end)
    ]


def subscription(topics: Sequence[str], owned: Mapping[str, Sequence[int]], version: int = 3) -> bytes:
    """What a classic consumer says when it joins."""
    said = ConsumerProtocolSubscription(
        topics=topics,
        owned_partitions=[
            OwnedTopicPartitions(topic=topic, partitions=sorted(partitions)) for topic, partitions in owned.items()
        ],
    )
    return version.to_bytes(2, "big") + encode(said, version)


def synced(answers: Sequence[SyncGroupResponse]) -> dict[str, set[int]]:
    """The assignment in the one answer to a SyncGroup."""
    (answer,) = answers
    assert answer.error_code == ErrorCode.NONE
    return {each.topic: set(each.partitions) for each in decode_assignment(answer.assignment).assigned_partitions}


def assigned(response: ConsumerGroupHeartbeatResponse) -> dict[Uuid, set[int]]:
    """The assignment in a heartbeat's answer."""
    assert response.assignment is not None
    return {each.topic_id: set(each.partitions) for each in response.assignment.topic_partitions}


def refused(call: Callable[[], object]) -> ErrorCode:
    """The error that a call is refused with."""
    try:
        answer = call()
    except KafkaError as error:
        return ErrorCode(error.code)
    raise AssertionError(f"not refused: {answer}")


def durable_state(group: Group) -> dict[str, Any]:
    """What the log must be able to bring back of a consumer group."""
    assert isinstance(group, ConsumerGroup)
    subscriptions = group.subscriptions
    return {
        "epochs": (group.group_epoch, group.assignment_epoch, group.assignment_timestamp_ms, group.metadata_hash),
        "members": dict(group.members),
        "static members": dict(group.static_members),
        "topics": dict(subscriptions.topics),
        "regexes": (dict(subscriptions.regexes), dict(subscriptions.resolved)),
        "targets": {
            member_id: {topic_id: set(partitions) for topic_id, partitions in assignment.items()}
            for member_id, assignment in group.target_assignment.items()
        },
        "owners": group.owners.owned(),
        "assignors": dict(group.server_assignors),
        "classic": (group.num_classic_members, dict(group.classic_protocols)),
        "state": group.state,
    }
