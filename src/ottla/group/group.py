"""What every kind of group has in common, as committed offsets and the listing of groups see it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from enum import StrEnum

from ottla.common.uuid import Uuid
from ottla.coordinator.record import CoordinatorRecord
from ottla.protocol.messages.list_groups import ListedGroup


class GroupType(StrEnum):
    """The kinds of groups, under the names that the protocol gives them."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


CommitPartitionValidator = Callable[[str, Uuid, int], None]
"""Takes a topic's name and id and a partition; raises if the committing member may not commit for it."""


class Group(ABC):
    """A group of any kind. The ``validate_…`` methods raise the error that the client is to see."""

    __slots__ = ("group_id",)

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id

    @property
    @abstractmethod
    def type(self) -> GroupType:
        """The kind."""

    @property
    @abstractmethod
    def state_name(self) -> str:
        """The state as ListGroups shows it: ``Stable``."""

    @abstractmethod
    def as_listed_group(self) -> ListedGroup:
        """The group in an answer to ListGroups."""

    def is_in_states(self, states_filter: Collection[str]) -> bool:
        """Whether the state is one of some, which are in lower case."""
        return self.state_name.lower() in states_filter

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """Whether it has no members."""

    @property
    @abstractmethod
    def num_members(self) -> int:
        """How many members it has."""

    @abstractmethod
    def has_member(self, member_id: str) -> bool:
        """Whether somebody is a member."""

    @abstractmethod
    def validate_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_id_or_member_epoch: int,
        *,
        is_transactional: bool,
        api_version: int,
    ) -> CommitPartitionValidator | None:
        """Who may commit; returns what is still to be checked for each partition, if anything is."""

    @abstractmethod
    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Who may read offsets; neither a member nor an epoch (-1) is named by tools and by older clients."""

    @abstractmethod
    def validate_offset_delete(self) -> None:
        """Whether offsets may be deleted now."""

    @abstractmethod
    def validate_delete_group(self) -> None:
        """Whether the group may be deleted now."""

    @abstractmethod
    def is_subscribed_to_topic(self, topic: str) -> bool:
        """Whether somebody in it reads a topic; its offsets then do not expire."""

    @abstractmethod
    def tombstone_records(self) -> list[CoordinatorRecord]:
        """What ends the group in the log."""

    @abstractmethod
    def offset_unused_since_ms(self, commit_timestamp_ms: int) -> int | None:
        """From when on the retention of an offset that was committed then counts; None if it does not expire now."""
