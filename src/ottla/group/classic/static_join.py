"""JoinGroup of a static member that comes back under its ``group.instance.id``, after a restart."""

import logging
from typing import NamedTuple

from ottla.common.errors import KafkaError
from ottla.coordinator.result import CoordinatorResult
from ottla.group.classic.group import ClassicGroup
from ottla.group.classic.join_response import joined_response, refused_response, unchanged_response
from ottla.group.classic.joining import Joining
from ottla.group.classic.member import ClassicGroupMember
from ottla.group.classic.rebalance import Rebalance
from ottla.group.classic.state import ClassicGroupState

logger = logging.getLogger(__name__)


class _Replacement(NamedTuple):
    """A static member under its new id, and what it was before."""

    group: ClassicGroup
    joining: Joining
    member: ClassicGroupMember
    old_member_id: str
    old_leader_id: str
    old_protocols: dict[str, bytes]
    old_rebalance_timeout_ms: int
    old_session_timeout_ms: int


class StaticJoin:
    """The new one takes the place of the old one, who is fenced.

    In Stable that makes no rebalance, unless the group would choose another protocol: the new id is written to the log,
    and the member gets its old assignment at its next SyncGroup. In CompletingRebalance it makes one, for the leader
    may assign to the old id.
    """

    __slots__ = ("_rebalance",)

    def __init__(self, rebalance: Rebalance) -> None:
        self._rebalance = rebalance

    def replace(
        self, group: ClassicGroup, old_member_id: str, new_member_id: str, joining: Joining, now_ms: int
    ) -> CoordinatorResult[None]:
        """Put the member that joins in the place of the one that had its instance id."""
        instance_id = joining.request.group_instance_id
        assert instance_id is not None
        members, sessions = group.members, self._rebalance.sessions
        old, old_leader_id = members.by_id[old_member_id], members.leader_id or ""
        members.replace_static_member(instance_id, old_member_id, new_member_id)
        member = members.by_id[new_member_id]
        sessions.end(group, old_member_id)
        sessions.extend(group, member)
        members.update(
            member,
            protocols=joining.protocols,
            rebalance_timeout_ms=joining.rebalance_timeout_ms,
            session_timeout_ms=joining.request.session_timeout_ms,
            respond=joining.respond,
        )
        if group.state is ClassicGroupState.PREPARING_REBALANCE:
            return self._rebalance.maybe_complete_join(group, now_ms)
        if group.state is ClassicGroupState.STABLE and members.select_protocol() == group.protocol_name:
            replacement = _Replacement(
                group,
                joining,
                member,
                old_member_id,
                old_leader_id,
                dict(old.supported_protocols),
                old.rebalance_timeout_ms,
                old.session_timeout_ms,
            )
            return CoordinatorResult(
                [group.metadata_record(group.current_assignments())],
                None,
                lambda error: self._written(replacement, error),
                replay=False,
            )
        return self._rebalance.prepare(
            group,
            f"Updating metadata for static member {new_member_id} with instance id {instance_id};"
            f" client reason: {joining.reason}",
            now_ms,
        )

    def _written(self, replacement: _Replacement, error: KafkaError | None) -> None:
        """The new id is in the log, or is not.

        If a rebalance has begun meanwhile it has counted this join, and answers it when it ends.
        """
        group, member = replacement.group, replacement.member
        if group.state is not ClassicGroupState.STABLE or member.join_respond is not replacement.joining.respond:
            return
        if error is not None:
            self._revert(replacement, error)
            return
        if replacement.joining.context.supports_skipping_assignment:
            response = joined_response(group, member, skip_assignment=True)
        else:
            response = unchanged_response(group, member.member_id, replacement.old_leader_id)
        group.members.complete_join(member, response)
        # Its session may have ended while it waited, which was ignored.
        self._rebalance.sessions.extend(group, member)

    def _revert(self, replacement: _Replacement, error: KafkaError) -> None:
        """Only the old id is in the log: go back to it, and let the client try again."""
        group, member, old_member_id = replacement.group, replacement.member, replacement.old_member_id
        members, sessions = group.members, self._rebalance.sessions
        logger.warning(
            "Failed to persist static member %s of group %s: %s. Reverting to old member id %s",
            member.member_id,
            group.group_id,
            error,
            old_member_id,
        )
        assert member.group_instance_id is not None
        members.complete_join(member, refused_response(error.code))
        members.update(
            member,
            protocols=replacement.old_protocols,
            rebalance_timeout_ms=replacement.old_rebalance_timeout_ms,
            session_timeout_ms=replacement.old_session_timeout_ms,
            respond=None,
        )
        members.replace_static_member(member.group_instance_id, member.member_id, old_member_id)
        sessions.end(group, member.member_id)
        sessions.extend(group, members.by_id[old_member_id])
