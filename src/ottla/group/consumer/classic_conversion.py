"""Classic groups as consumer groups, and consumer groups as classic ones."""

from collections.abc import Iterable, Mapping

from ottla.common.errors import InvalidRequestError
from ottla.common.uuid import Uuid
from ottla.coordinator.record import CoordinatorRecord
from ottla.group.assignor.spec import Assignment
from ottla.group.classic.group import ClassicGroup
from ottla.group.classic.member import ClassicGroupMember
from ottla.group.consumer.assignment import at_epoch, by_topic_id, by_topic_name
from ottla.group.consumer.group import INITIAL_EPOCH, PROTOCOL_TYPE, ConsumerGroup
from ottla.group.consumer.member import ClassicMember, ClassicProtocol, ConsumerGroupMember, topic_names
from ottla.metadata.image.topics import TopicsImage
from ottla.protocol.consumer_protocol import decode_assignment, decode_subscription, decode_version, encode_assignment


class CustomAssignorError(Exception):
    """An assignor of the user's has put data into an assignment, which would be lost."""


def consumer_group_from(group: ClassicGroup, topics: TopicsImage) -> ConsumerGroup:
    """The consumer group with the members of a classic one, who have and are to have what they were last assigned.

    If the classic group was rebalancing, they are told to join again, and get their assignments then. Raises
    InvalidRequestError if what they say cannot be read, CustomAssignorError if it would be lost.
    """
    consumer_group = ConsumerGroup(group.group_id)
    generation_id = max(group.generation_id, INITIAL_EPOCH)  # 0 before the first generation, and that is for joining
    consumer_group.group_epoch = consumer_group.assignment_epoch = generation_id
    assigned: set[tuple[Uuid, int]] = set()
    for classic_member in group.members.by_id.values():
        assignment = _assignment_of(classic_member, topics)
        for topic_id, partitions in assignment.items():
            for partition in partitions:
                if (topic_id, partition) in assigned:
                    raise InvalidRequestError(f"partition {partition} of topic {topic_id} is assigned twice")
                assigned.add((topic_id, partition))
        # Before the first generation no protocol has been chosen; all of a member's protocols say the same.
        protocols = classic_member.supported_protocols
        subscription = decode_subscription(
            next(iter(protocols.values())) if group.protocol_name is None else protocols[group.protocol_name]
        )
        member = ConsumerGroupMember(
            classic_member.member_id,
            member_epoch=generation_id,
            previous_member_epoch=generation_id,
            instance_id=classic_member.group_instance_id,
            rack_id=subscription.rack_id or None,
            rebalance_timeout_ms=classic_member.rebalance_timeout_ms,
            client_id=classic_member.client_id,
            client_host=classic_member.client_host,
            subscribed_topic_names=topic_names(subscription.topics),
            assigned_partitions=at_epoch(assignment, generation_id),
            classic=ClassicMember(
                classic_member.session_timeout_ms,
                tuple(ClassicProtocol(name, metadata) for name, metadata in protocols.items()),
            ),
        )
        consumer_group.target_assignment[member.member_id] = assignment
        consumer_group.update_member(member)
    return consumer_group


def _assignment_of(member: ClassicGroupMember, topics: TopicsImage) -> Assignment:
    """What a member was last assigned; nothing if it never was."""
    if not member.assignment:
        return {}
    assignment = decode_assignment(member.assignment)
    if assignment.user_data:
        raise CustomAssignorError
    assigned = by_topic_id(((each.topic, each.partitions) for each in assignment.assigned_partitions), topics)
    # A topic may have been made anew since, with fewer partitions.
    return {
        topic_id: [partition for partition in partitions if partition in topics.by_id[topic_id].partitions]
        for topic_id, partitions in assigned.items()
    }


def classic_group_record(
    group: ConsumerGroup,
    members: Iterable[ConsumerGroupMember],
    targets: Mapping[str, Assignment],
    topics: TopicsImage,
    now_ms: int,
) -> CoordinatorRecord:
    """The stable classic group of some classic members, each with its target as its assignment."""
    classic_group = ClassicGroup.from_consumer_group(
        group.group_id, group.group_epoch, [_classic_group_member(member) for member in members], now_ms
    )
    name = classic_group.protocol_name
    assert name is not None, "a group with members has a protocol"
    return classic_group.metadata_record(
        {
            member_id: encode_assignment(
                by_topic_name(targets[member_id], topics), decode_version(member.metadata(name))
            )
            for member_id, member in classic_group.members.by_id.items()
        }
    )


def _classic_group_member(member: ConsumerGroupMember) -> ClassicGroupMember:
    assert member.classic is not None, f"{member.member_id} speaks the consumer protocol"
    return ClassicGroupMember(
        member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=member.classic.session_timeout_ms,
        protocol_type=PROTOCOL_TYPE,
        supported_protocols={protocol.name: protocol.metadata for protocol in member.classic.supported_protocols},
    )
