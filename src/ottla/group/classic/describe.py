"""DescribeGroups: classic groups as admins see them."""

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.group.classic.group import ClassicGroup
from ottla.group.classic.state import ClassicGroupState
from ottla.group.group_store import GroupStore
from ottla.protocol.messages.describe_groups import DescribedGroup

_GROUP_ID_NOT_FOUND_VERSION = 6


def describe_group(groups: GroupStore, group_id: str, api_version: int) -> DescribedGroup:
    """A classic group; one that there is not is Dead, and only from version 6 on an error."""
    try:
        group = groups.classic_group(group_id)
    except KafkaError as error:
        described = DescribedGroup(group_id=group_id, group_state=ClassicGroupState.DEAD.value)
        if api_version >= _GROUP_ID_NOT_FOUND_VERSION:
            described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
            described.error_message = str(error)
        return described
    return _described(group)


def _described(group: ClassicGroup) -> DescribedGroup:
    """What the members say is shown only while everybody agrees on what it means."""
    protocol_name = group.protocol_name if group.state is ClassicGroupState.STABLE else None
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=protocol_name or "",
        members=[member.describe(protocol_name) for member in group.members.by_id.values()],
    )
