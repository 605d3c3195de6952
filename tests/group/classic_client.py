"""A client of the classic protocol, as clients are: it joins, syncs, heartbeats, and follows what it is told."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from ottla.common.error_code import ErrorCode
from ottla.protocol.messages.join_group import JoinGroupResponse
from ottla.protocol.messages.sync_group import SyncGroupResponse
from tests.group.classic_world import World

T = TypeVar("T")

REJOIN = frozenset(
    {
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
    }
)


@dataclass(eq=False)
class Client:
    """One process. It is ``stopped`` by an error that no client gets over, as when another takes its instance id."""

    number: int
    instance_id: str | None
    api_version: int
    protocols: list[tuple[str, bytes]]
    session_ms: int
    rebalance_ms: int
    member_id: str = ""
    generation_id: int = -1
    is_leader: bool = False
    skips_assignment: bool = False
    has_joined: bool = False
    has_synced: bool = False
    is_stopped: bool = False
    protocol_name: str | None = None
    peers: list[str] = field(default_factory=list)
    assignment: bytes = b""
    joining: list[JoinGroupResponse] | None = None
    syncing: list[SyncGroupResponse] | None = None


def assignment_of(serial: int, member_id: str) -> bytes:
    """What the leader gives a member, in the ``serial``-th assignment of all."""
    return f"{serial}/{member_id}".encode()


class Asked(NamedTuple, Generic[T]):
    """A request: who sent it, what it said then, and the answers, of which there must be one in the end."""

    client: Client
    protocols: list[tuple[str, bytes]]
    member_id: str
    generation_id: int
    answers: list[T]


class Clients:
    """All that clients have asked, and what they were answered."""

    def __init__(self, fatal: Collection[int] = (ErrorCode.FENCED_INSTANCE_ID,)) -> None:
        self._fatal = fatal
        self.joins: list[Asked[JoinGroupResponse]] = []
        self.syncs: list[Asked[SyncGroupResponse]] = []
        self.num_assignments = 0

    def join(self, world: World, client: Client) -> None:
        """Send a JoinGroup, even if one is under way."""
        client.has_joined = client.has_synced = False
        client.syncing = None
        client.joining = world.join(
            client.member_id,
            instance_id=client.instance_id,
            protocols=client.protocols,
            api_version=client.api_version,
            session_ms=client.session_ms,
            rebalance_ms=client.rebalance_ms,
        )
        self.joins.append(Asked(client, client.protocols, client.member_id, -1, client.joining))

    def sync(self, world: World, client: Client) -> None:
        """Send a SyncGroup, with an assignment if it leads."""
        assignments: dict[str, bytes] = {}
        if client.is_leader and not client.skips_assignment:
            self.num_assignments += 1
            assignments = {peer: assignment_of(self.num_assignments, peer) for peer in client.peers}
        client.syncing = world.sync(client.member_id, client.generation_id, assignments, instance_id=client.instance_id)
        self.syncs.append(Asked(client, client.protocols, client.member_id, client.generation_id, client.syncing))

    def hear(self, client: Client) -> None:
        """Take in what has been answered."""
        if client.joining:
            (joined,) = client.joining
            client.joining = None
            self._joined(client, joined)
        if client.syncing:
            (synced,) = client.syncing
            client.syncing = None
            if synced.error_code == ErrorCode.NONE:
                client.has_synced, client.assignment = True, bytes(synced.assignment)
            else:
                self._refused(client, synced.error_code)

    def behave(self, world: World, client: Client) -> None:
        """Do what a client does next; a heartbeat if there is nothing else."""
        self.hear(client)
        if client.is_stopped or client.joining is not None or client.syncing is not None:
            return
        if not client.has_joined:
            self.join(world, client)
        elif not client.has_synced:
            self.sync(world, client)
        else:
            code = world.heartbeat(client.member_id, client.generation_id, client.instance_id)
            if code != ErrorCode.NONE:
                self._refused(client, code)

    def _joined(self, client: Client, joined: JoinGroupResponse) -> None:
        code = joined.error_code
        if code == ErrorCode.MEMBER_ID_REQUIRED:
            client.member_id = joined.member_id
        elif code != ErrorCode.NONE:
            self._refused(client, code)
        else:
            client.has_joined = True
            client.member_id = joined.member_id
            client.generation_id = joined.generation_id
            client.is_leader = joined.leader == joined.member_id
            client.skips_assignment = joined.skip_assignment
            client.protocol_name = joined.protocol_name
            client.peers = [member.member_id for member in joined.members]

    def _refused(self, client: Client, code: int) -> None:
        client.has_joined = client.has_synced = False
        if code in self._fatal:
            client.is_stopped = True
        elif code == ErrorCode.UNKNOWN_MEMBER_ID:
            client.member_id = ""
        else:
            assert code in REJOIN, f"no client knows what to do with {ErrorCode(code).name}"
