"""A shard with classic groups only, and a runtime around it that can hold back or fail what is written."""

import struct
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.config.sections import GroupCoordinatorConfig
from ottla.coordinator.record_serde import RecordSerde
from ottla.coordinator.result import CoordinatorResult
from ottla.coordinator.timers import Timers
from ottla.group.classic.context import ClassicRequestContext
from ottla.group.classic.group import ClassicGroup
from ottla.group.classic.manager import ClassicGroupManager
from ottla.group.group_store import GroupStore
from ottla.group.metrics import GroupMetrics
from ottla.group.records import RECORD_TYPES, ConsumerGroupMetadataKey, GroupMetadataKey, GroupMetadataValue
from ottla.metrics.registry import Registry
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from ottla.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from ottla.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from ottla.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from ottla.runtime.inline import ManualClock

GROUP = "group"
SESSION_MS = 10_000
REBALANCE_MS = 60_000
INITIAL_DELAY_MS = 3_000


def subscription(*topics: str) -> bytes:
    """A consumer's metadata, version 0."""
    encoded = b"".join(struct.pack(">h", len(topic.encode())) + topic.encode() for topic in topics)
    return struct.pack(">hi", 0, len(topics)) + encoded + struct.pack(">i", -1)


class World:
    """Virtual time, a log, and a manager on it."""

    def __init__(self, **config: Any) -> None:
        self.clock = ManualClock(1_000_000)
        self.config = GroupCoordinatorConfig(group_initial_rebalance_delay_ms=INITIAL_DELAY_MS, **config)
        self.rng = Random(5)
        self.metrics = GroupMetrics(Registry())
        self.serde = RecordSerde(RECORD_TYPES)
        self.log: list[tuple[bytes, bytes | None]] = []
        self.append_error: ErrorCode | None = None
        """What the next append fails with."""
        self.holds_commits = False
        self.uncommitted: deque[Callable[[KafkaError | None], None]] = deque()
        self._start()

    def _start(self) -> None:
        self.timers = Timers(self.clock.monotonic_ms)
        self.groups = GroupStore()
        self.manager = ClassicGroupManager(
            config=self.config, timers=self.timers, groups=self.groups, rng=self.rng, metrics=self.metrics
        )

    @property
    def now_ms(self) -> int:
        """The wall clock's time."""
        return self.clock.now_ms()

    # -- what the runtime does ----------------------------------------------------------------------------------------

    def run(self, result: CoordinatorResult[Any]) -> bool:
        """Append, replay, and tell of the commit; False if the append failed."""
        settled = result.on_committed or (lambda _error: None)
        if not result.records:
            settled(None)
            return True
        if self.append_error is not None:
            error, self.append_error = ApiError(self.append_error), None
            settled(error)
            return False
        for record in result.records:
            self.log.append(self.serde.encode(record))
            if result.replay:
                self._replay(*self.log[-1])
        if self.holds_commits:
            self.uncommitted.append(settled)
        else:
            settled(None)
        return True

    def commit(self, error: ErrorCode | None = None) -> None:
        """Everything that is held back is committed, or will not be."""
        while self.uncommitted:
            self.uncommitted.popleft()(None if error is None else ApiError(error))

    def advance(self, elapsed_ms: int) -> None:
        """Let time pass, and timers run when they are due."""
        until_ms = self.clock.monotonic_ms() + elapsed_ms
        while (deadline_ms := self.timers.next_deadline_ms) is not None and deadline_ms <= until_ms:
            self.clock.advance_ms(max(deadline_ms - self.clock.monotonic_ms(), 0))
            if (due := self.timers.pop_due(self.clock.monotonic_ms())) is not None:
                self.run(due[1](self.now_ms))
        self.clock.advance_ms(until_ms - self.clock.monotonic_ms())

    def unload(self) -> None:
        """The partition goes elsewhere."""
        self.commit(ErrorCode.NOT_COORDINATOR)
        self.manager.on_unloaded()
        assert not len(self.timers), "timers are left for groups that are gone"

    def reload(self) -> None:
        """The partition goes elsewhere and comes back: only the log is left."""
        self.unload()
        self._start()
        for key, value in self.log:
            self._replay(key, value)
        self.manager.on_loaded(self.now_ms)

    def _replay(self, key: bytes, value: bytes | None) -> None:
        record = self.serde.decode(key, value)
        if isinstance(record.key, GroupMetadataKey):
            assert record.value is None or isinstance(record.value, GroupMetadataValue)
            self.manager.replay_group_metadata(record.key, record.value)
        elif isinstance(record.key, ConsumerGroupMetadataKey):
            assert record.value is None, "consumer groups are the affair of others"
            self.groups.remove(record.key.group_id)

    # -- what clients do ----------------------------------------------------------------------------------------------

    def join(
        self,
        member_id: str = "",
        *,
        instance_id: str | None = None,
        protocols: Iterable[tuple[str, bytes]] = (("range", subscription("topic")),),
        protocol_type: str = "consumer",
        api_version: int = 9,
        client_id: str = "client",
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        group_id: str = GROUP,
    ) -> list[JoinGroupResponse]:
        """JoinGroup; the answers that come, now or later, are in the list."""
        answers: list[JoinGroupResponse] = []
        request = JoinGroupRequest(
            group_id=group_id,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms if api_version else -1,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(name=name, metadata=metadata) for name, metadata in protocols],
        )
        context = ClassicRequestContext(api_version, client_id, "/127.0.0.1")
        self.run(self.manager.join(context, request, answers.append, self.now_ms))
        return answers

    def join_with_id(self, **options: Any) -> tuple[str, list[JoinGroupResponse]]:
        """JoinGroup twice, as a new dynamic member does: for its id, and with it."""
        member_id = self.join(**options)[0].member_id
        return member_id, self.join(member_id, **options)

    def sync(
        self,
        member_id: str,
        generation_id: int,
        assignments: dict[str, bytes] | None = None,
        *,
        instance_id: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
    ) -> list[SyncGroupResponse]:
        """SyncGroup; the answers that come, now or later, are in the list."""
        answers: list[SyncGroupResponse] = []
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=generation_id,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignments=[
                SyncGroupRequestAssignment(member_id=member_id, assignment=assignment)
                for member_id, assignment in (assignments or {}).items()
            ],
        )
        self.run(self.manager.sync(request, answers.append, self.now_ms))
        return answers

    def heartbeat(self, member_id: str, generation_id: int, instance_id: str | None = None) -> int:
        """Heartbeat; its error code."""
        request = HeartbeatRequest(
            group_id=GROUP, generation_id=generation_id, member_id=member_id, group_instance_id=instance_id
        )
        try:
            result = self.manager.heartbeat(request, self.now_ms)
        except KafkaError as error:
            return error.code
        assert not result.records
        return result.response.error_code

    def leave(self, *members: tuple[str, str | None]) -> LeaveGroupResponse:
        """LeaveGroup of members by id and instance id."""
        identities = [
            MemberIdentity(member_id=member_id, group_instance_id=instance) for member_id, instance in members
        ]
        request = LeaveGroupRequest(group_id=GROUP, members=identities)
        result = self.manager.leave(request, self.now_ms)
        self.run(result)
        return result.response

    # -- groups ready to be used --------------------------------------------------------------------------------------

    def stable(self, count: int = 2, instance_ids: Sequence[str] = (), **options: Any) -> list[str]:
        """Make a stable group of dynamic and static members, in generation 1; the first one leads.

        Each is assigned its own number.
        """
        waiting = [self.join_with_id(**options)[1] for _ in range(count)]
        waiting += [self.join(instance_id=instance_id, **options) for instance_id in instance_ids]
        self.advance(INITIAL_DELAY_MS * 2)
        joined = [answer for (answer,) in waiting]
        assert {answer.generation_id for answer in joined} == {1}
        member_ids = [answer.member_id for answer in joined]
        instances: list[str | None] = [*([None] * count), *instance_ids]
        assignments = {member_id: b"%d" % index for index, member_id in enumerate(member_ids)}
        for member_id, instance_id in zip(member_ids[1:], instances[1:], strict=True):
            assert self.sync(member_id, 1, instance_id=instance_id) == []
        (answer,) = self.sync(member_ids[0], 1, assignments, instance_id=instances[0])
        assert answer.assignment == b"0"
        assert self.group.state_name == "Stable"
        return member_ids

    @property
    def group(self) -> ClassicGroup:
        """The group."""
        return self.groups.classic_group(GROUP)
