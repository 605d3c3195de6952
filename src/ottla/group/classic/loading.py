"""Classic groups from the log: what a record says of a group."""

from ottla.group.classic.group import ClassicGroup
from ottla.group.classic.member import ClassicGroupMember
from ottla.group.classic.state import ClassicGroupState
from ottla.group.records import GroupMetadataValue


def group_from_record(group_id: str, value: GroupMetadataValue) -> ClassicGroup:
    """A group as its last generation left it: Stable with members, Empty without. Nobody waits for anything."""
    protocol_type = value.protocol_type or None
    timestamp_ms = value.current_state_timestamp
    group = ClassicGroup(
        group_id,
        state=ClassicGroupState.STABLE if value.members else ClassicGroupState.EMPTY,
        generation_id=value.generation,
        protocol_type=protocol_type,
        protocol_name=value.protocol,
        leader_id=value.leader,
        current_state_timestamp_ms=None if timestamp_ms == -1 else timestamp_ms,
    )
    for member in value.members:
        timeout_ms = member.rebalance_timeout
        group.add_member(
            ClassicGroupMember(
                member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout_ms=member.session_timeout if timeout_ms == -1 else timeout_ms,
                session_timeout_ms=member.session_timeout,
                protocol_type=value.protocol_type,
                supported_protocols={value.protocol or "": bytes(member.subscription)},
                assignment=bytes(member.assignment),
            )
        )
    group.compute_subscribed_topics()
    return group
