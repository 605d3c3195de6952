"""A member of a classic group: what it said when it joined, and what it waits for."""

from collections.abc import Callable, Collection, Mapping

from ottla.protocol.messages.describe_groups import DescribedGroupMember
from ottla.protocol.messages.join_group import JoinGroupResponse
from ottla.protocol.messages.sync_group import SyncGroupResponse

JoinRespond = Callable[[JoinGroupResponse], None]
"""Answers a JoinGroup, exactly once, at once or when the join phase ends."""

SyncRespond = Callable[[SyncGroupResponse], None]
"""Answers a SyncGroup, exactly once, at once or when the assignment is committed."""


class ClassicGroupMember:
    """One member.

    ``supported_protocols`` is the metadata by the name of the protocol, the preferred one first. ``join_respond`` and
    ``sync_respond`` are the answers that it waits for; only :class:`~ottla.group.classic.members.Members` sets them.
    """

    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "group_instance_id",
        "is_new",
        "join_respond",
        "member_id",
        "protocol_type",
        "rebalance_timeout_ms",
        "session_timeout_ms",
        "supported_protocols",
        "sync_respond",
    )

    def __init__(
        self,
        member_id: str,
        *,
        group_instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocol_type: str,
        supported_protocols: Mapping[str, bytes],
        assignment: bytes = b"",
        is_new: bool = False,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.protocol_type = protocol_type
        self.supported_protocols = supported_protocols
        self.assignment = assignment
        self.is_new = is_new
        """Whether it has never had an answer to a join: it cannot heartbeat yet."""
        self.join_respond: JoinRespond | None = None
        self.sync_respond: SyncRespond | None = None

    def with_member_id(self, member_id: str) -> "ClassicGroupMember":
        """The same member under another id; whoever waited is not carried over."""
        return ClassicGroupMember(
            member_id,
            group_instance_id=self.group_instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            session_timeout_ms=self.session_timeout_ms,
            protocol_type=self.protocol_type,
            supported_protocols=self.supported_protocols,
            assignment=self.assignment,
        )

    @property
    def is_static(self) -> bool:
        """Whether it has a ``group.instance.id``."""
        return self.group_instance_id is not None

    @property
    def is_awaiting_join(self) -> bool:
        """Whether it has joined and waits for the generation."""
        return self.join_respond is not None

    @property
    def is_awaiting_sync(self) -> bool:
        """Whether it waits for its assignment."""
        return self.sync_respond is not None

    @property
    def has_satisfied_heartbeat(self) -> bool:
        """Whether it may be silent: whoever waits for us does not heartbeat.

        A new member can expire even while it waits: its connection may be long gone, and it would join under a new id.
        """
        return not self.is_new and (self.join_respond is not None or self.sync_respond is not None)

    def metadata(self, protocol_name: str) -> bytes:
        """What it said for a protocol, which it supports."""
        return self.supported_protocols[protocol_name]

    def matches(self, protocols: Mapping[str, bytes]) -> bool:
        """Whether it said the same before, in the same order of preference."""
        return list(self.supported_protocols.items()) == list(protocols.items())

    def vote(self, candidates: Collection[str]) -> str:
        """The candidate that it prefers; it supports one of them."""
        return next(name for name in self.supported_protocols if name in candidates)

    def describe(self, protocol_name: str | None) -> DescribedGroupMember:
        """The member in an answer to DescribeGroups; without metadata while no protocol is chosen."""
        return DescribedGroupMember(
            member_id=self.member_id,
            group_instance_id=self.group_instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            member_metadata=b"" if protocol_name is None else self.metadata(protocol_name),
            member_assignment=self.assignment,
        )
