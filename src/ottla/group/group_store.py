"""The groups of one shard, of every kind."""

from typing import TypeVar

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.group.classic.group import ClassicGroup
from ottla.group.group import Group

G = TypeVar("G", bound=Group)


class GroupStore:
    """Groups by id; all managers of a shard share it. A group has one kind at a time."""

    __slots__ = ("groups",)

    def __init__(self) -> None:
        self.groups: dict[str, Group] = {}

    def get(self, group_id: str) -> Group | None:
        """The group of any kind, if there is one."""
        return self.groups.get(group_id)

    def group(self, group_id: str) -> Group:
        """The group of any kind; GROUP_ID_NOT_FOUND if there is none."""
        group = self.groups.get(group_id)
        if group is None:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        return group

    def typed(self, group_id: str, group_class: type[G], kind: str) -> G:
        """The group of one class; GROUP_ID_NOT_FOUND if there is none, or one of another ``kind`` ("a consumer")."""
        group = self.group(group_id)
        if not isinstance(group, group_class):
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not {kind} group.")
        return group

    def classic_group(self, group_id: str) -> ClassicGroup:
        """The classic group; GROUP_ID_NOT_FOUND if there is none, or one of another kind."""
        return self.typed(group_id, ClassicGroup, "a classic")

    def find_classic_group(self, group_id: str) -> ClassicGroup | None:
        """The classic group, if there is one: for timers, which may be late."""
        group = self.groups.get(group_id)
        return group if isinstance(group, ClassicGroup) else None

    def add(self, group: Group) -> None:
        """Take in a group, in place of one that has its id."""
        self.groups[group.group_id] = group

    def remove(self, group_id: str) -> None:
        """Forget a group, if there is one."""
        self.groups.pop(group_id, None)

    def get_or_create_simple_group(self, group_id: str) -> Group:
        """The group, or a new one for the replay of an offset that somebody committed without ever joining.

        Such a simple group is an empty classic group that no record tells of, so a group of another kind may take its
        place (``is_simple_group``).
        """
        group = self.groups.get(group_id)
        if group is None:
            group = self.groups[group_id] = ClassicGroup(group_id)
        return group
