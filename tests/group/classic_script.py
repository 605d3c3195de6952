"""Random histories of a classic group, as a script that Apache's coordinator can follow, with what ours does.

A history ends where Apache's choice depends on the order of a Java hash map (who leads next, which of two protocols
with as many votes), and where we do better on purpose.
"""

from random import Random
from typing import Any

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.coordinator.result import CoordinatorResult
from ottla.group.classic.context import ClassicRequestContext
from ottla.group.classic.group import ClassicGroup
from ottla.group.classic.join import Join
from ottla.group.classic.manager import ClassicGroupManager
from ottla.group.classic.members import Members
from ottla.protocol.codec import encode
from ottla.protocol.message import Message
from ottla.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from ottla.protocol.messages.join_group import JoinGroupRequest
from ottla.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from ottla.protocol.messages.sync_group import SyncGroupRequest
from tests.group.classic_client import Client, Clients
from tests.group.classic_world import GROUP, INITIAL_DELAY_MS, World

JOIN_VERSION, SYNC_VERSION, HEARTBEAT_VERSION, LEAVE_VERSION = 9, 5, 4, 5
MAX_SIZE = 4
FATAL = (
    ErrorCode.FENCED_INSTANCE_ID,
    ErrorCode.GROUP_MAX_SIZE_REACHED,
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
)


class DivergedError(Exception):
    """From here on two right answers are possible."""


class Counting:
    """Chance that counts, as the script's in Java does."""

    def __init__(self) -> None:
        self._drawn = 0

    def randbytes(self, n: int, /) -> bytes:
        """The next number."""
        self._drawn += 1
        return (self._drawn << 32).to_bytes(8, "big") + bytes(n - 8)


class Outcome:
    """What one step brought."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, Message | int]] = []
        """The steps of the requests that are answered now, with their responses, or the code that refuses them."""
        self.log: list[tuple[bytes, bytes | None]] = []


class ScriptedManager(ClassicGroupManager):
    """Writes down what it is asked."""

    __slots__ = ("world",)

    world: "ScriptedWorld"

    def join(self, context: ClassicRequestContext, request: JoinGroupRequest, respond: Any, now_ms: int) -> Any:
        """JoinGroup."""
        answer = self.world.asked(f"join|{context.api_version}|{encode(request, JOIN_VERSION).hex()}", respond)
        return super().join(context, request, answer, now_ms)

    def sync(self, request: SyncGroupRequest, respond: Any, now_ms: int) -> Any:
        """SyncGroup."""
        answer = self.world.asked(f"sync|{encode(request, SYNC_VERSION).hex()}", respond)
        return super().sync(request, answer, now_ms)

    def heartbeat(self, request: HeartbeatRequest, now_ms: int) -> CoordinatorResult[HeartbeatResponse]:
        """Heartbeat."""
        answer = self.world.asked(f"heartbeat|{encode(request, HEARTBEAT_VERSION).hex()}", lambda _: None)
        try:
            result = super().heartbeat(request, now_ms)
        except KafkaError as error:
            answer(error.code)
            raise
        answer(result.response)
        return result

    def leave(self, request: LeaveGroupRequest, now_ms: int) -> CoordinatorResult[LeaveGroupResponse]:
        """LeaveGroup."""
        answer = self.world.asked(f"leave|{encode(request, LEAVE_VERSION).hex()}", lambda _: None)
        result = super().leave(request, now_ms)
        answer(result.response)
        return result


class ScriptedWorld(World):
    """A world whose steps are written down."""

    def __init__(self) -> None:
        self.lines = [
            f"new|group.initial.rebalance.delay.ms={INITIAL_DELAY_MS},group.max.size={MAX_SIZE},"
            "group.min.session.timeout.ms=1"
        ]
        self.outcomes = [Outcome()]
        super().__init__(group_max_size=MAX_SIZE)

    def _start(self) -> None:
        super()._start()
        if not hasattr(self, "counting"):
            self.counting = Counting()
        self.manager = manager = ScriptedManager(
            config=self.config, timers=self.timers, groups=self.groups, rng=self.counting, metrics=self.metrics
        )
        manager.world = self

    def _step(self, line: str) -> None:
        self.lines.append(line)
        self.outcomes.append(Outcome())

    def asked(self, line: str, respond: Any) -> Any:
        """A request comes; what answers it tells of it too."""
        self._step(line)
        step = len(self.lines) - 1

        def answer(response: Any) -> None:
            self.outcomes[-1].answers.append((step, response))
            respond(response)

        return answer

    def run(self, result: CoordinatorResult[Any]) -> bool:
        """Keep what is written."""
        before = len(self.log)
        is_written = super().run(result)
        self.outcomes[-1].log += self.log[before:]
        return is_written

    def advance(self, elapsed_ms: int) -> None:
        """Let time pass."""
        self._step(f"advance|{elapsed_ms}")
        super().advance(elapsed_ms)

    def reload(self) -> None:
        """Let another shard take over."""
        self._step("reload")
        super().reload()

    def fail_next(self) -> None:
        """Let the next append fail."""
        self._step(f"fail|{ErrorCode.COORDINATOR_NOT_AVAILABLE.value}")
        self.append_error = ErrorCode.COORDINATOR_NOT_AVAILABLE


def watch_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop where Apache's choice is that of a hash map, or where we do better."""
    remove, elect, select = Members.remove, Members.elect_joined_leader, Members.select_protocol
    replace, accept = Members.replace_static_member, Join._accepts

    def removed(members: Members, member_id: str) -> None:
        if members.leader_id == member_id and len(members) > 2:
            raise DivergedError
        remove(members, member_id)

    def elected(members: Members) -> bool:
        leader = members.by_id.get(members.leader_id or "")
        if leader is not None and not leader.is_awaiting_join and members.num_awaiting_join > 1:
            raise DivergedError
        return elect(members)

    def selected(members: Members) -> str:
        candidates = {name: 0 for name, count in members.protocol_counts.items() if count == len(members)}
        for member in members.by_id.values():
            candidates[member.vote(candidates)] += 1
        votes = sorted(candidates.values())
        if len(votes) > 1 and votes[-1] == votes[-2]:
            raise DivergedError
        return select(members)

    def replaced(members: Members, group_instance_id: str, old_member_id: str, new_member_id: str) -> None:
        if old_member_id in members.pending_syncs:
            raise DivergedError  # Apache would wait for the old one's sync
        replace(members, group_instance_id, old_member_id, new_member_id)

    def accepted(join: Join, group: ClassicGroup, member_id: str) -> bool:
        is_accepted = accept(join, group, member_id)
        if not is_accepted and member_id:
            raise DivergedError  # Apache would wait for others though everybody is there
        return is_accepted

    monkeypatch.setattr(Join, "_accepts", accepted)
    monkeypatch.setattr(Members, "remove", removed)
    monkeypatch.setattr(Members, "elect_joined_leader", elected)
    monkeypatch.setattr(Members, "select_protocol", selected)
    monkeypatch.setattr(Members, "replace_static_member", replaced)


class History:
    """Clients that mostly behave, and a coordinator that mostly works."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.world = ScriptedWorld()
        self.clients = Clients(FATAL)
        self.live: list[Client] = []
        self.num_clients = 0

    def run(self, steps: int) -> None:
        """Go on until histories would part."""
        try:
            for _ in range(steps):
                self._step()
        except DivergedError:
            # What was not finished is not compared.
            self.world.lines.pop()
            self.world.outcomes.pop()

    def _step(self) -> None:
        rng, world = self.rng, self.world
        kind = rng.randrange(20)
        if kind < 3 and len(self.live) < MAX_SIZE + 1:
            self._start()
        elif kind < 12:
            for client in self.live:
                self.clients.behave(world, client)
                if rng.random() < 0.1:
                    break
        elif kind < 15:
            world.advance(rng.choice([1, 499, 1_013, 3_001, 5_003, 7_019, 61_000]))
        elif kind < 18 and self.live:
            self._act(rng.choice(self.live))
        elif kind == 18 and world.groups.get(GROUP) is not None:
            world.fail_next()
        elif kind == 19:
            world.reload()

    def _start(self) -> None:
        rng = self.rng
        self.num_clients += 1
        protocols = rng.choice([["range"], ["range", "sticky"], ["sticky", "range"]])
        client = Client(
            self.num_clients,
            rng.choice([None, None, "a", "b"]),
            rng.choice([1, 4, 8, 9, 9]),
            [(name, b"%d" % rng.randrange(2)) for name in protocols],
            rng.choice([6_000, 9_000]),
            rng.choice([5_000, 20_000]),
        )
        self.live.append(client)
        self.clients.behave(self.world, client)

    def _act(self, client: Client) -> None:
        world, clients = self.world, self.clients
        clients.hear(client)
        kind = self.rng.randrange(6)
        if kind == 0:
            self.live.remove(client)
        elif kind == 1:
            self.live.remove(client)
            if client.member_id and world.groups.get(GROUP) is not None:
                world.leave((client.member_id, client.instance_id))
        elif kind == 2:
            if client.joining is None and client.syncing is None and not client.is_stopped:
                client.protocols = [(name, b"%d" % self.rng.randrange(3)) for name, _ in client.protocols]
                clients.join(world, client)
        elif kind == 3:
            if client.has_joined:
                clients.sync(world, client)
        elif kind == 4:
            world.heartbeat(client.member_id, client.generation_id - self.rng.randrange(2), client.instance_id)
        elif world.groups.get(GROUP) is not None:
            world.leave(("", self.rng.choice(["a", "b", None])), ("nobody", None))
