"""A group changes its protocol while its members go on: classic to consumer, and back."""

import logging
from collections.abc import Sequence
from enum import Enum
from typing import Protocol

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, InvalidRequestError, KafkaError
from ottla.coordinator.record import CoordinatorRecord
from ottla.group.classic.group import ClassicGroup
from ottla.group.classic.state import ClassicGroupState
from ottla.group.consumer.classic_conversion import CustomAssignorError, classic_group_record, consumer_group_from
from ottla.group.consumer.context import ConsumerGroupContext, not_found
from ottla.group.consumer.group import ConsumerGroup
from ottla.group.consumer.member import ConsumerGroupMember
from ottla.group.record_helpers import (
    new_consumer_group_current_assignment_record,
    new_consumer_group_epoch_record,
    new_consumer_group_member_subscription_record,
    new_consumer_group_target_assignment_metadata_record,
    new_consumer_group_target_assignment_record,
)

logger = logging.getLogger(__name__)


class MigrationPolicy(Enum):
    """``group.consumer.migration.policy``: which way groups may change."""

    BIDIRECTIONAL = (True, True)
    UPGRADE = (True, False)
    DOWNGRADE = (False, True)
    DISABLED = (False, False)

    def __init__(self, allows_upgrade: bool, allows_downgrade: bool) -> None:
        self.allows_upgrade = allows_upgrade
        self.allows_downgrade = allows_downgrade

    @classmethod
    def parse(cls, name: str) -> "MigrationPolicy":
        """The policy of a name in any case; an unknown one allows nothing."""
        return cls.__members__.get(name.upper(), cls.DISABLED)


class ClassicGroups(Protocol):
    """What the classic protocol does when one of its groups appears."""

    def adopt(self, group: ClassicGroup, rebalance_reason: str | None, now_ms: int) -> None:
        """A consumer group is a classic one now: start its sessions, and a rebalance if a reason is given."""


class Migration:
    """Decides whether a group may change, and with which records it does."""

    __slots__ = ("_classic_groups", "_context", "_downgrading")

    def __init__(self, context: ConsumerGroupContext, classic_groups: ClassicGroups) -> None:
        self._context = context
        self._classic_groups = classic_groups
        self._downgrading: dict[str, None] = {}
        """Groups that are classic now, and may have to rebalance when that is committed."""

    @property
    def policy(self) -> MigrationPolicy:
        """The broker's policy."""
        return MigrationPolicy.parse(self._context.config.group_consumer_migration_policy)

    # -- classic to consumer ------------------------------------------------------------------------------------------

    def upgrade(self, group: ClassicGroup, records: list[CoordinatorRecord]) -> ConsumerGroup:
        """The consumer group that the records will make of a classic one, for somebody who joins it.

        GROUP_ID_NOT_FOUND if that may not be. The caller tells the members who wait in the classic group to join again
        when the change is committed.
        """
        self._validate_upgrade(group)
        group_id = group.group_id
        try:
            upgraded = consumer_group_from(group, self._context.image.topics)
        except InvalidRequestError as error:
            raise not_found(
                f"Cannot upgrade classic group {group_id} to consumer group because the embedded consumer protocol is "
                "malformed."
            ) from error
        except CustomAssignorError as error:
            raise not_found(
                f"Cannot upgrade classic group {group_id} to consumer group because an unsupported custom assignor is "
                "in use. Please refer to the documentation or switch to a default assignor before re-attempting the "
                "upgrade."
            ) from error
        upgraded.metadata_hash = self._context.metadata_hash(upgraded.subscriptions.topics)
        records += group.tombstone_records()
        records += _group_records(upgraded)
        logger.info("[GroupId %s] Converting the classic group to a consumer group.", group_id)
        return upgraded

    def is_rebalancing(self, group: ClassicGroup) -> bool:
        """Whether a classic group's assignment is out of date."""
        return group.state is not ClassicGroupState.STABLE or group.group_id in self._downgrading

    def _validate_upgrade(self, group: ClassicGroup) -> None:
        why = None
        if not self.policy.allows_upgrade:
            why = "online upgrade is disabled"
        elif not group.uses_consumer_group_protocol:
            why = "the group does not use the consumer embedded protocol"
        elif group.num_members > self._context.config.group_consumer_max_size:
            why = "the group size exceeds the consumer group maximum size"
        if why is not None:
            raise not_found(f"Cannot upgrade classic group {group.group_id} to consumer group because {why}.")

    # -- consumer to classic ------------------------------------------------------------------------------------------

    def may_downgrade_without(self, group: ConsumerGroup, leaving: Sequence[ConsumerGroupMember]) -> bool:
        """Whether a group may become a classic one because some members leave and all others speak that protocol."""
        num_members = group.num_members - len(leaving)
        return num_members > 0 and self._may_downgrade(group, leaving, num_members)

    def may_downgrade_with_replaced(self, group: ConsumerGroup, replaced: ConsumerGroupMember | None) -> bool:
        """The same, because a static member of the consumer protocol is replaced by one of the classic protocol."""
        if replaced is None or replaced.use_classic_protocol:
            return False
        return self._may_downgrade(group, [replaced], group.num_members)

    def _may_downgrade(self, group: ConsumerGroup, without: Sequence[ConsumerGroupMember], num_members: int) -> bool:
        return (
            group.all_use_classic_protocol_except(without)
            and self.policy.allows_downgrade
            and num_members <= self._context.config.group_max_size
        )

    def downgrade_without(
        self, group: ConsumerGroup, leaving: Sequence[ConsumerGroupMember], now_ms: int
    ) -> tuple[list[CoordinatorRecord], str]:
        """The records that make a classic group of those who stay, and the reason for which it has to rebalance."""
        gone = {member.member_id for member in leaving}
        staying = [member for member in group.members.values() if member.member_id not in gone]
        targets = {member.member_id: group.target_assignment.get(member.member_id, {}) for member in staying}
        records = group.tombstone_records()
        records.append(classic_group_record(group, staying, targets, self._context.image.topics, now_ms))
        self._downgrading[group.group_id] = None
        return records, f"Downgrade group {group.group_id} from consumer to classic for member leaving."

    def downgrade_with_replaced(
        self, group: ConsumerGroup, replaced: ConsumerGroupMember, joining: ConsumerGroupMember, now_ms: int
    ) -> list[CoordinatorRecord]:
        """The records that make a classic group once others have put ``joining`` in the place of ``replaced``."""
        members = [each for each in group.members.values() if each.member_id != replaced.member_id]
        targets = {member.member_id: group.target_assignment.get(member.member_id, {}) for member in members}
        targets[joining.member_id] = group.target_assignment.get(replaced.member_id, {})
        records = group.tombstone_records_with_replaced_member(replaced.member_id, joining.member_id)
        topics = self._context.image.topics
        records.append(classic_group_record(group, [*members, joining], targets, topics, now_ms))
        self._downgrading[group.group_id] = None
        return records

    def settle_downgrade(
        self, group_id: str, rebalance_reason: str | None, now_ms: int, error: KafkaError | None
    ) -> None:
        """The records are committed, or lost. Meanwhile somebody may have joined the classic group and begun its
        rebalance, or have made it a consumer group again.
        """
        self._downgrading.pop(group_id, None)
        group = self._context.groups.find_classic_group(group_id)
        if error is None and group is not None:
            logger.info("[GroupId %s] Converted the consumer group to a classic group.", group_id)
            self._classic_groups.adopt(group, rebalance_reason if group.can_rebalance else None, now_ms)

    def throw_if_classic_member_cannot_join(self, group: ConsumerGroup) -> None:
        """INCONSISTENT_GROUP_PROTOCOL where groups keep their protocol."""
        if self.policy is MigrationPolicy.DISABLED:
            raise ApiError(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
                f"Cannot join the consumer group {group.group_id} with the classic protocol because the group "
                "migration is disabled.",
            )


def _group_records(group: ConsumerGroup) -> list[CoordinatorRecord]:
    """All that there is to a group, in the order in which replay can build it."""
    group_id, members = group.group_id, group.members.values()
    return [
        *(new_consumer_group_member_subscription_record(group_id, member) for member in members),
        new_consumer_group_epoch_record(group_id, group.group_epoch, group.metadata_hash),
        *(
            new_consumer_group_target_assignment_record(group_id, member_id, assignment)
            for member_id, assignment in group.target_assignment.items()
        ),
        new_consumer_group_target_assignment_metadata_record(
            group_id, group.assignment_epoch, group.assignment_timestamp_ms
        ),
        *(new_consumer_group_current_assignment_record(group_id, member) for member in members),
    ]
