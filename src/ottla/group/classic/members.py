"""The members of a classic group: who is in it, who leads, who waits, and what they all support."""

from collections.abc import Mapping

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.group.classic.member import ClassicGroupMember, JoinRespond, SyncRespond
from ottla.protocol.messages.join_group import JoinGroupResponse
from ottla.protocol.messages.sync_group import SyncGroupResponse


class Members:
    """Members in the order in which they came, so that every choice among them is repeatable.

    It counts who waits for a join and which protocols are supported, because both are asked on each join of a group
    that may have thousands of members. Dicts without values are sets in order.
    """

    __slots__ = (
        "by_id",
        "leader_id",
        "num_awaiting_join",
        "pending_joins",
        "pending_syncs",
        "protocol_counts",
        "static_member_ids",
    )

    def __init__(self, leader_id: str | None = None) -> None:
        self.by_id: dict[str, ClassicGroupMember] = {}
        self.static_member_ids: dict[str, str] = {}
        """By ``group.instance.id``."""
        self.leader_id = leader_id
        self.pending_joins: dict[str, None] = {}
        """Ids that were given out (MEMBER_ID_REQUIRED) and have not joined yet."""
        self.pending_syncs: dict[str, None] = {}
        """Members of this generation that have not asked for their assignment yet."""
        self.num_awaiting_join = 0
        self.protocol_counts: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.by_id)

    def is_leader(self, member_id: str) -> bool:
        """Whether somebody leads the group."""
        return self.leader_id == member_id

    def add(self, member: ClassicGroupMember, respond: JoinRespond | None = None) -> None:
        """Take in a member, who may wait for its join; the first one leads."""
        if member.group_instance_id is not None:
            assert member.group_instance_id not in self.static_member_ids, "a static member is added twice"
            self.static_member_ids[member.group_instance_id] = member.member_id
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.by_id[member.member_id] = member
        self._count_protocols(member, 1)
        self._await_join(member, respond)
        self.pending_joins.pop(member.member_id, None)

    def remove(self, member_id: str) -> None:
        """Let go of a member or of an id that was given out. Whoever still waits is told UNKNOWN_MEMBER_ID."""
        member = self.by_id.get(member_id)
        if member is not None:
            self.fail_join(member, ErrorCode.UNKNOWN_MEMBER_ID)
            self.fail_sync(member, ErrorCode.UNKNOWN_MEMBER_ID)
            del self.by_id[member_id]
            self._count_protocols(member, -1)
            if member.group_instance_id is not None:
                del self.static_member_ids[member.group_instance_id]
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.by_id), None)
        self.pending_joins.pop(member_id, None)
        self.pending_syncs.pop(member_id, None)

    def update(
        self,
        member: ClassicGroupMember,
        *,
        protocols: Mapping[str, bytes],
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        respond: JoinRespond | None,
    ) -> None:
        """A member joins again, perhaps with other metadata; or no longer waits (``respond`` is None)."""
        self._count_protocols(member, -1)
        member.supported_protocols = protocols
        self._count_protocols(member, 1)
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms
        self._await_join(member, respond)

    def replace_static_member(self, group_instance_id: str, old_member_id: str, new_member_id: str) -> None:
        """Give a static member another id. Whoever waits under the old one is fenced."""
        old = self.by_id[old_member_id]
        self.fail_join(old, ErrorCode.FENCED_INSTANCE_ID, old_member_id)
        self.fail_sync(old, ErrorCode.FENCED_INSTANCE_ID)
        del self.by_id[old_member_id]
        self.by_id[new_member_id] = old.with_member_id(new_member_id)
        if self.leader_id == old_member_id:
            self.leader_id = new_member_id
        self.static_member_ids[group_instance_id] = new_member_id
        if old_member_id in self.pending_syncs:  # the new one has not asked for its assignment either
            del self.pending_syncs[old_member_id]
            self.pending_syncs[new_member_id] = None

    def validate(self, member_id: str, group_instance_id: str | None) -> None:
        """Refuse whoever is no member, or is a static member that another one has replaced."""
        if group_instance_id is not None:
            existing = self.static_member_ids.get(group_instance_id)
            if existing is None:
                raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"{group_instance_id} is not a static member.")
            if existing != member_id:
                raise ApiError(ErrorCode.FENCED_INSTANCE_ID, f"{group_instance_id} has joined as another member.")
        if member_id not in self.by_id:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"{member_id} is not a member.")

    def elect_joined_leader(self) -> bool:
        """Keep the leader if it has joined, else take the first who has; False if nobody has joined."""
        if self.leader_id is None:
            return False
        if self.by_id[self.leader_id].is_awaiting_join:
            return True
        for member in self.by_id.values():
            if member.is_awaiting_join:
                self.leader_id = member.member_id
                return True
        return False

    @property
    def have_all_joined(self) -> bool:
        """Whether nobody is missing: no member, and no id that was given out."""
        return len(self.by_id) == self.num_awaiting_join and not self.pending_joins

    @property
    def rebalance_timeout_ms(self) -> int:
        """How long the slowest member wants to have for a rebalance."""
        return max((member.rebalance_timeout_ms for member in self.by_id.values()), default=0)

    def supports_any(self, protocol_names: Mapping[str, object]) -> bool:
        """Whether all members support one of some protocols."""
        size = len(self.by_id)
        return any(self.protocol_counts.get(name, 0) == size for name in protocol_names)

    def select_protocol(self) -> str:
        """The protocol, among those that all support, that most members prefer; there must be members."""
        size = len(self.by_id)
        candidates = {name: 0 for name, count in self.protocol_counts.items() if count == size}
        for member in self.by_id.values():
            candidates[member.vote(candidates)] += 1
        return max(candidates, key=candidates.__getitem__)

    def complete_join(self, member: ClassicGroupMember, response: JoinGroupResponse) -> bool:
        """Answer a member that waits for its join; False if it does not."""
        respond = member.join_respond
        if respond is None:
            return False
        member.join_respond = None
        self.num_awaiting_join -= 1
        respond(response)
        return True

    def complete_sync(self, member: ClassicGroupMember, response: SyncGroupResponse) -> bool:
        """Answer a member that waits for its assignment; False if it does not."""
        respond = member.sync_respond
        if respond is None:
            return False
        member.sync_respond = None
        respond(response)
        return True

    def fail_join(self, member: ClassicGroupMember, code: ErrorCode, member_id: str = "") -> bool:
        """Refuse a member that waits for its join; False if it does not."""
        return self.complete_join(member, JoinGroupResponse(error_code=code, member_id=member_id))

    def fail_sync(self, member: ClassicGroupMember, code: ErrorCode) -> bool:
        """Refuse a member that waits for its assignment; False if it does not."""
        return self.complete_sync(member, SyncGroupResponse(error_code=code))

    def fail_all(self, code: ErrorCode) -> None:
        """Refuse everybody who waits for anything."""
        for member in list(self.by_id.values()):
            self.fail_join(member, code, member.member_id)
            self.fail_sync(member, code)

    def await_sync(self, member: ClassicGroupMember, respond: SyncRespond) -> None:
        """A member asks for its assignment and waits; if it has asked before, that request is over."""
        self.fail_sync(member, ErrorCode.REBALANCE_IN_PROGRESS)
        member.sync_respond = respond

    def _await_join(self, member: ClassicGroupMember, respond: JoinRespond | None) -> None:
        # A client asks again when it has lost its connection. Whoever may still listen to the first request has to
        # look at the group again; nobody is left without an answer.
        self.fail_join(member, ErrorCode.REBALANCE_IN_PROGRESS, member.member_id)
        if respond is not None:
            member.join_respond = respond
            self.num_awaiting_join += 1

    def _count_protocols(self, member: ClassicGroupMember, change: int) -> None:
        counts = self.protocol_counts
        for name in member.supported_protocols:
            count = counts.get(name, 0) + change
            if count:
                counts[name] = count
            else:
                del counts[name]
