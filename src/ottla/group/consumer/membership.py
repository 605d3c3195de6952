"""Who the sender of a request is: a member, a new one, or a static member who comes back."""

from ottla.coordinator.record import CoordinatorRecord
from ottla.group.assignor.spec import Assignment
from ottla.group.consumer.group import ConsumerGroup
from ottla.group.consumer.member import JOIN_GROUP_MEMBER_EPOCH, ConsumerGroupMember
from ottla.group.consumer.member_validation import (
    known_static_member,
    throw_if_instance_id_is_fenced,
    throw_if_instance_id_is_unreleased,
    throw_if_member_epoch_is_invalid,
)
from ottla.group.record_helpers import (
    new_consumer_group_current_assignment_record,
    new_consumer_group_current_assignment_tombstone_record,
    new_consumer_group_member_subscription_record,
    new_consumer_group_member_subscription_tombstone_record,
    new_consumer_group_target_assignment_record,
    new_consumer_group_target_assignment_tombstone_record,
)


def heartbeating_member(
    group: ConsumerGroup,
    member_id: str,
    instance_id: str | None,
    records: list[CoordinatorRecord],
    *,
    member_epoch: int,
    owned: Assignment | None,
) -> ConsumerGroupMember:
    """The member behind a ConsumerGroupHeartbeat that does not leave; UNKNOWN_MEMBER_ID and others if it is none."""
    is_joining = member_epoch == JOIN_GROUP_MEMBER_EPOCH
    if instance_id is None:
        member = _new_member(group, member_id) if is_joining else group.member(member_id)
    elif is_joining:
        return joining_static_member(group, member_id, instance_id, records, use_classic_protocol=False)
    else:
        member = known_static_member(group, instance_id)
        throw_if_instance_id_is_fenced(member, member_id)
    throw_if_member_epoch_is_invalid(member, member_epoch, owned)
    return member


def joining_classic_member(
    group: ConsumerGroup,
    member_id: str,
    instance_id: str | None,
    records: list[CoordinatorRecord],
    *,
    is_unknown_member: bool,
) -> ConsumerGroupMember:
    """The member behind a JoinGroup; a static one that brings its member id has to be known under it."""
    if instance_id is None:
        return _new_member(group, member_id)
    if is_unknown_member:
        return joining_static_member(group, member_id, instance_id, records, use_classic_protocol=True)
    member = known_static_member(group, instance_id)
    throw_if_instance_id_is_fenced(member, member_id)
    return member


def joining_static_member(
    group: ConsumerGroup,
    member_id: str,
    instance_id: str,
    records: list[CoordinatorRecord],
    *,
    use_classic_protocol: bool,
) -> ConsumerGroupMember:
    """A static member that joins takes the place of the one that had its instance id, with all that this one has.

    Between members of the consumer protocol the place must have been left; the classic protocol knows no such thing.
    """
    existing = group.static_member(instance_id)
    if existing is None:
        return _new_member(group, member_id)
    if not use_classic_protocol and not existing.use_classic_protocol:
        throw_if_instance_id_is_unreleased(existing, member_id)
    member = existing._replace(
        member_id=member_id, member_epoch=JOIN_GROUP_MEMBER_EPOCH, previous_member_epoch=JOIN_GROUP_MEMBER_EPOCH
    )
    # The timers of the member that is replaced are left alone, in case it is not: they do nothing once it is gone.
    group_id = group.group_id
    target = group.target_assignment.get(existing.member_id, {})
    records += removal_records(group_id, existing.member_id)
    records += (
        new_consumer_group_member_subscription_record(group_id, member),
        new_consumer_group_target_assignment_record(group_id, member_id, target),
        new_consumer_group_current_assignment_record(group_id, member),
    )
    return member


def removal_records(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """The end of a member, in the order in which replay can take it apart."""
    return [
        new_consumer_group_current_assignment_tombstone_record(group_id, member_id),
        new_consumer_group_target_assignment_tombstone_record(group_id, member_id),
        new_consumer_group_member_subscription_tombstone_record(group_id, member_id),
    ]


def _new_member(group: ConsumerGroup, member_id: str) -> ConsumerGroupMember:
    """The member of that id, or a new one."""
    return group.members.get(member_id) or ConsumerGroupMember(member_id)
