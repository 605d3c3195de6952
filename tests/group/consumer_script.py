"""Random histories of a group, done here and written down for Apache's coordinator to do as well."""

from random import Random
from typing import Any

from ottla.common.errors import KafkaError
from ottla.common.uuid import Uuid
from ottla.coordinator.record import CoordinatorRecord
from ottla.group.consumer.group import ConsumerGroup
from ottla.group.record_helpers import new_group_metadata_record
from ottla.group.records import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupTargetAssignmentMemberValue,
    GroupMetadataValue,
    MemberMetadata,
)
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import encode
from ottla.protocol.consumer_protocol import decode_assignment, encode_assignment
from ottla.protocol.message import Message
from ottla.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatRequestTopicPartitions,
    ConsumerGroupHeartbeatResponse,
)
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from ottla.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from ottla.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from ottla.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from tests.group.consumer_world import GROUP, World, context, subscription

TOPICS = ("t0", "t1", "t2", "u0")
REGEXES = ("t.*", "u.*", "t[01]")


class Script(World):
    """A world whose steps are written down, with what came of each."""

    def __init__(self, rng: Random) -> None:
        super().__init__(
            group_consumer_assignment_interval_ms=0,
            offsets_retention_check_interval_ms=10**9,
            group_consumer_max_size=6,
        )
        self.chance = rng
        self.rng = rng  # topic ids
        self.lines = ["new|group.consumer.assignment.interval.ms=0,group.consumer.max.size=6"]
        self.outcomes: list[tuple[object, list[tuple[str, str, int]]]] = [("-", [])]
        self._position = 0

    def note(self, line: str, outcome: object = "-") -> None:
        """A step is done."""
        self.lines.append(line)
        self.outcomes.append((outcome, normal_records(self.records_since(self._position))))
        self._position = len(self.log)

    def _ask(self, line: str, call: Any, version: int) -> Any:
        answers: list[Message] = []
        try:
            response = self.run(call(answers.append))
        except KafkaError as error:
            self.note(line, f"ERR {int(error.code)}")
            return None
        answer = response if response is not None else (answers[0] if answers else None)
        self.note(line, "-" if answer is None else normal_response(answer))
        assert version >= 0
        return answer

    # -- steps --------------------------------------------------------------------------------------------------------

    def beat(self, **fields: Any) -> ConsumerGroupHeartbeatResponse | None:
        owned = fields.pop("owned", None)
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            topic_partitions=None
            if owned is None
            else [
                ConsumerGroupHeartbeatRequestTopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
                for topic_id, partitions in owned.items()
            ],
            **fields,
        )
        answer: ConsumerGroupHeartbeatResponse | None = self._ask(
            f"beat|{encode(request, 1).hex()}",
            lambda _respond: self.shard.consumer_group_heartbeat(
                context(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1), request, self.now_ms
            ),
            1,
        )
        return answer

    def old_join(self, member_id: str, topics: list[str], owned: dict[str, list[int]], **fields: Any) -> Any:
        metadata = subscription(topics, owned)
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=20_000,
            rebalance_timeout_ms=60_000,
            member_id=member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
            **fields,
        )
        return self._ask(
            f"join|9|{encode(request, 9).hex()}",
            lambda respond: self.shard.classic_group_join(context(ApiKey.JOIN_GROUP, 9), request, respond, self.now_ms),
            9,
        )

    def old_sync(self, member_id: str, generation_id: int) -> Any:
        request = SyncGroupRequest(group_id=GROUP, member_id=member_id, generation_id=generation_id)
        return self._ask(
            f"sync|{encode(request, 5).hex()}",
            lambda respond: self.shard.classic_group_sync(request, respond, self.now_ms),
            5,
        )

    def old_heartbeat(self, member_id: str, generation_id: int) -> Any:
        request = HeartbeatRequest(group_id=GROUP, member_id=member_id, generation_id=generation_id)
        return self._ask(
            f"heartbeat|{encode(request, 4).hex()}",
            lambda _respond: self.shard.classic_group_heartbeat(request, self.now_ms),
            4,
        )

    def old_leave(self, *members: tuple[str, str | None]) -> Any:
        request = LeaveGroupRequest(
            group_id=GROUP,
            members=[MemberIdentity(member_id=member_id, group_instance_id=each) for member_id, each in members],
        )
        return self._ask(
            f"leave|{encode(request, 5).hex()}",
            lambda _respond: self.shard.classic_group_leave(request, self.now_ms),
            5,
        )

    def replay_classic_group(self) -> None:
        """A stable classic group of two is in the log."""
        key, value = self.serde.encode(
            new_group_metadata_record(
                GROUP,
                protocol_type="consumer",
                generation_id=self.chance.randint(1, 9),
                protocol_name="range",
                leader="m0",
                current_state_timestamp_ms=self.now_ms,
                members=[
                    MemberMetadata(
                        member_id=member_id,
                        group_instance_id=instance_id,
                        client_id="client",
                        client_host="/127.0.0.1",
                        rebalance_timeout=60_000,
                        session_timeout=20_000 + version,
                        subscription=subscription(["t0", "u0"], {}, version),
                        assignment=encode_assignment([("t0", partitions), ("u0", partitions)], version),
                    )
                    for member_id, instance_id, version, partitions in (("m0", None, 1, [0, 1]), ("m1", "i", 3, [2]))
                ],
            )
        )
        assert value is not None
        self.log.append((key, value))
        self._replay(self.shard, key, value)
        self._position = len(self.log)
        self.note(f"replay|{key.hex()}|{value.hex()}")

    def pass_time(self, elapsed_ms: int) -> None:
        self.advance(elapsed_ms)
        self.note(f"advance|{elapsed_ms}")

    def change_topic(self, name: str, partitions: int) -> None:
        topic = self.image.topics.topic(name)
        if topic is None:
            topic_id = self.create_topic(name, partitions)
            self.note(f"create|{name}|{topic_id}|{partitions}")
        elif len(topic.partitions) < partitions:
            self.add_partitions(name, partitions)
            self.note(f"grow|{topic.id}|{len(topic.partitions)}|{partitions}")
        else:
            self.delete_topic(name)
            self.note(f"delete|{topic.id}")


class Members:
    """Random clients: mostly they say what is true, sometimes what is not."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.rng = script.chance
        self.instances: dict[str, str] = {}
        self.heard: dict[str, dict[Uuid, set[int]]] = {}

    def step(self) -> None:
        """One random step; then time passes, so that no two timers are due at once and background work is done."""
        rng, script = self.rng, self.script
        kind = rng.choices(
            ("join", "beat", "lie", "leave", "topic", "time", "old join", "old sync", "old beat", "old leave"),
            (5, 12, 2, 2, 2, 3, 3, 3, 3, 1),
        )[0]
        getattr(self, kind.replace(" ", "_"))()
        script.pass_time(20)

    @property
    def group(self) -> ConsumerGroup | None:
        group = self.script.groups.get(GROUP)
        return group if isinstance(group, ConsumerGroup) else None

    def _some_id(self) -> str:
        known = list(self.group.members) if self.group is not None else []
        return self.rng.choice([*known, *known, *known, f"m{self.rng.randrange(8)}"])

    def _subscription(self) -> dict[str, Any]:
        names = self.rng.sample(TOPICS, self.rng.randint(1, 3))
        pick = self.rng.random()
        if pick < 0.6:
            return {"subscribed_topic_names": names}
        if pick < 0.8:
            return {"subscribed_topic_regex": self.rng.choice(REGEXES)}
        return {"subscribed_topic_names": names, "subscribed_topic_regex": self.rng.choice((*REGEXES, ""))}

    def join(self) -> None:
        member_id = f"m{self.rng.randrange(8)}"
        instance_id = self.rng.choice((None, None, "i", "j"))
        if self.group is not None and (member := self.group.members.get(member_id)) is not None:
            instance_id = member.instance_id  # no client takes another's id
        self._hear(
            member_id,
            self.script.beat(
                member_id=member_id,
                member_epoch=0,
                instance_id=instance_id,
                rebalance_timeout_ms=30_000,
                server_assignor=self.rng.choice((None, None, "range", "uniform")),
                owned={},
                **self._subscription(),
            ),
        )

    def beat(self) -> None:
        member_id = self._some_id()
        member = None if self.group is None else self.group.members.get(member_id)
        epoch = 1 if member is None else max(member.member_epoch, 1)
        heard = self.heard.get(member_id, {})
        fields: dict[str, Any] = {"owned": self.rng.choice((None, heard, heard, {}))}
        if self.rng.random() < 0.2:
            fields |= self._subscription()
        if self.rng.random() < 0.1:
            fields["rebalance_timeout_ms"] = 30_000
        self._hear(
            member_id,
            self.script.beat(
                member_id=member_id,
                member_epoch=epoch,
                instance_id=None if member is None else member.instance_id,
                **fields,
            ),
        )

    def lie(self) -> None:
        member_id = self._some_id()
        member = None if self.group is None else self.group.members.get(member_id)
        self._hear(
            member_id,
            self.script.beat(
                member_id=member_id,
                member_epoch=self.rng.choice(
                    (1, 2, 99) if member is None else (max(member.previous_member_epoch, 1), 99, 1)
                ),
                instance_id=self.rng.choice((None, "i", "nobody")),
                owned=self.rng.choice((None, self.heard.get(member_id, {}), {})),
            ),
        )

    def leave(self) -> None:
        member_id = self._some_id()
        member = None if self.group is None else self.group.members.get(member_id)
        instance_id = None if member is None else member.instance_id
        self.heard.pop(member_id, None)
        self.script.beat(
            member_id=member_id,
            member_epoch=-1 if instance_id is None else self.rng.choice((-1, -2, -2)),
            instance_id=instance_id,
        )

    def topic(self) -> None:
        self.script.change_topic(self.rng.choice(TOPICS), self.rng.randint(1, 6))

    def time(self) -> None:
        self.script.pass_time(self.rng.choice((100, 3_000, 11_000, 21_000, 46_000)))

    def old_join(self) -> None:
        if self.group is None or self.group.is_empty:
            return
        member_id = self._some_id()
        member = self.group.members.get(member_id)
        image = self.script.image.topics
        owned: dict[str, list[int]] = {}
        if member is not None and self.rng.random() < 0.7:
            for topic_id, epochs in member.assigned_partitions.items():
                if (name := image.topic_name(topic_id)) is not None:
                    owned[name] = sorted(epochs)
        self.script.old_join(member_id, self.rng.sample(TOPICS, self.rng.randint(1, 3)), owned)

    def _classic_id(self) -> tuple[str, int]:
        group = self.group
        members = [] if group is None else [each for each in group.members.values() if each.use_classic_protocol]
        if not members or self.rng.random() < 0.1:
            return self._some_id(), 3
        member = self.rng.choice(members)
        return member.member_id, member.member_epoch if self.rng.random() < 0.9 else 1

    def old_sync(self) -> None:
        if self.group is not None and not self.group.is_empty:
            self.script.old_sync(*self._classic_id())

    def old_beat(self) -> None:
        if self.group is not None:
            self.script.old_heartbeat(*self._classic_id())

    def old_leave(self) -> None:
        if self.group is not None:
            member_id, _ = self._classic_id()
            self.script.old_leave((member_id, None), ("", self.rng.choice(("i", "nobody"))))

    def _hear(self, member_id: str, response: ConsumerGroupHeartbeatResponse | None) -> None:
        if response is not None and response.assignment is not None:
            self.heard[member_id] = {
                each.topic_id: set(each.partitions) for each in response.assignment.topic_partitions
            }


def normal_response(response: Message) -> object:
    """A response without the order of what has none."""
    if isinstance(response, ConsumerGroupHeartbeatResponse):
        assignment = None
        if response.assignment is not None:
            assignment = {each.topic_id: set(each.partitions) for each in response.assignment.topic_partitions}
        return (
            response.error_code,
            response.member_id,
            response.member_epoch,
            response.heartbeat_interval_ms,
            assignment,
        )
    if isinstance(response, SyncGroupResponse) and response.assignment:
        topics = decode_assignment(response.assignment).assigned_partitions
        return (response.error_code, {each.topic: set(each.partitions) for each in topics}, response.assignment[:2])
    return response


def normal_records(records: list[CoordinatorRecord]) -> list[tuple[str, str, int]]:
    """Records without the order of what has none: Java's tables have their own."""
    return sorted((repr(record.key), _normal_value(record.value), record.version) for record in records)


def _normal_value(value: Message | None) -> str:
    if isinstance(value, ConsumerGroupTargetAssignmentMemberValue):
        return repr(sorted((str(topic.topic_id), sorted(topic.partitions)) for topic in value.topic_partitions))
    if isinstance(value, ConsumerGroupCurrentMemberAssignmentValue):
        partitions = [
            sorted(
                (str(topic.topic_id), sorted(zip(topic.partitions, topic.assignment_epochs or (), strict=True)))
                for topic in topics
            )
            for topics in (value.assigned_partitions, value.partitions_pending_revocation)
        ]
        return repr((value.member_epoch, value.previous_member_epoch, value.state, partitions))
    if isinstance(value, GroupMetadataValue):
        # Who leads is up to Java's tables, and so is the order of topics in an assignment.
        members = sorted((member.member_id, member.subscription, len(member.assignment)) for member in value.members)
        return repr((value.generation, value.protocol, value.protocol_type, members))
    return repr(value)
