"""JoinGroup: how members come into a classic group, and come back to it."""

from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.config.sections import GroupCoordinatorConfig
from ottla.coordinator.result import NOTHING, CoordinatorResult
from ottla.group.classic.group import ClassicGroup
from ottla.group.classic.join_response import joined_response
from ottla.group.classic.joining import Joining
from ottla.group.classic.member import ClassicGroupMember
from ottla.group.classic.member_id import Randomness, generate_member_id
from ottla.group.classic.rebalance import Rebalance
from ottla.group.classic.state import ClassicGroupState
from ottla.group.classic.static_join import StaticJoin

NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 5 * 60 * 1000
"""How long a new member may wait for its first answer.

It does not know its id yet, so it cannot heartbeat, and its connection is not read while it waits. If it is gone it
has joined again as somebody else; the one that nobody waits for must not stay for ever.
"""


class Join:
    """Joins to a group that exists and is a classic one."""

    __slots__ = ("_config", "_rebalance", "_rng", "_static")

    def __init__(self, *, config: GroupCoordinatorConfig, rebalance: Rebalance, rng: Randomness) -> None:
        self._config = config
        self._rebalance = rebalance
        self._rng = rng
        self._static = StaticJoin(rebalance)

    def join(self, group: ClassicGroup, joining: Joining, now_ms: int) -> CoordinatorResult[None]:
        """Take in a new member, or one that comes back; answer at once, or when the join phase ends."""
        request = joining.request
        member_id = request.member_id
        if group.state is ClassicGroupState.DEAD:
            return joining.refuse(ErrorCode.COORDINATOR_NOT_AVAILABLE, member_id)
        if not self._accepts(group, member_id):
            self._rebalance.remove_member(group, member_id)
            joining.refuse(ErrorCode.GROUP_MAX_SIZE_REACHED)
            return self._rebalance.maybe_complete_join(group, now_ms)  # it may have been the last that was missing
        if not group.supports_protocols(request.protocol_type, joining.protocols):
            return joining.refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id)
        if not member_id:
            return self._join_new_member(group, joining, now_ms)
        if member_id in group.members.pending_joins and request.group_instance_id is None:
            return self._add(group, member_id, joining, now_ms)
        try:
            group.members.validate(member_id, request.group_instance_id)
        except KafkaError as error:
            return joining.refuse(error.code, member_id)
        return self._join_existing_member(group, group.members.by_id[member_id], joining, now_ms)

    def _accepts(self, group: ClassicGroup, member_id: str) -> bool:
        """Whether there is room (``group.max.size``).

        While members rejoin, those that wait are counted: a group that is too large, because the limit was lowered,
        so loses whoever comes last. Afterwards only members are left that had room.
        """
        members, max_size = group.members, self._config.group_max_size
        if group.state is ClassicGroupState.EMPTY:
            return True
        member = members.by_id.get(member_id)
        if group.state is ClassicGroupState.PREPARING_REBALANCE:
            return (member is not None and member.is_awaiting_join) or members.num_awaiting_join < max_size
        return member is not None or len(members) < max_size

    def _join_new_member(self, group: ClassicGroup, joining: Joining, now_ms: int) -> CoordinatorResult[None]:
        """Find an id for somebody who has none."""
        context, request = joining.context, joining.request
        instance_id = request.group_instance_id
        member_id = generate_member_id(context.client_id, instance_id, self._rng)
        if instance_id is not None:
            existing_member_id = group.members.static_member_ids.get(instance_id)
            if existing_member_id is not None:
                return self._static.replace(group, existing_member_id, member_id, joining, now_ms)
        elif context.requires_known_member_id:
            # Clients that never see the answer, and try again and again, leave only ids behind, not members.
            group.members.pending_joins[member_id] = None
            self._rebalance.sessions.schedule(group.group_id, member_id, request.session_timeout_ms)
            return joining.refuse(ErrorCode.MEMBER_ID_REQUIRED, member_id)
        return self._add(group, member_id, joining, now_ms)

    def _add(self, group: ClassicGroup, member_id: str, joining: Joining, now_ms: int) -> CoordinatorResult[None]:
        """A new member waits for the next generation."""
        context, request = joining.context, joining.request
        if group.state is ClassicGroupState.PREPARING_REBALANCE and group.previous_state is ClassicGroupState.EMPTY:
            group.new_member_added = True
        member = ClassicGroupMember(
            member_id,
            group_instance_id=request.group_instance_id,
            client_id=context.client_id,
            client_host=context.client_host,
            rebalance_timeout_ms=joining.rebalance_timeout_ms,
            session_timeout_ms=request.session_timeout_ms,
            protocol_type=request.protocol_type,
            supported_protocols=joining.protocols,
            is_new=True,
        )
        group.add_member(member, joining.respond)
        self._rebalance.sessions.schedule(group.group_id, member_id, NEW_MEMBER_JOIN_TIMEOUT_MS)
        return self._rebalance.prepare_or_complete_join(
            group,
            f"Adding new member {member_id} with group instance id {request.group_instance_id};"
            f" client reason: {joining.reason}",
            now_ms,
        )

    def _join_existing_member(
        self, group: ClassicGroup, member: ClassicGroupMember, joining: Joining, now_ms: int
    ) -> CoordinatorResult[None]:
        """A member joins the next generation, or asks for the present one again.

        In CompletingRebalance it has missed the answer; in Stable a follower has. But a leader that joins in Stable
        wants a rebalance, for instance because a topic has more partitions; and other metadata always brings one.
        """
        is_leader_in_stable = group.state is ClassicGroupState.STABLE and group.members.is_leader(member.member_id)
        if (
            group.state is not ClassicGroupState.PREPARING_REBALANCE
            and not is_leader_in_stable
            and member.matches(joining.protocols)
        ):
            joining.respond(joined_response(group, member))
            return NOTHING
        group.members.update(
            member,
            protocols=joining.protocols,
            rebalance_timeout_ms=joining.rebalance_timeout_ms,
            session_timeout_ms=joining.request.session_timeout_ms,
            respond=joining.respond,
        )
        return self._rebalance.prepare_or_complete_join(
            group,
            f"Member {member.member_id} is joining group during {group.state}; client reason: {joining.reason}",
            now_ms,
        )
