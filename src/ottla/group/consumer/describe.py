"""Consumer groups as ConsumerGroupDescribe shows them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ottla.common.uuid import Uuid
from ottla.group.consumer.group import ConsumerGroup
from ottla.group.consumer.member import ConsumerGroupMember
from ottla.metadata.image.topics import TopicsImage
from ottla.protocol.messages.consumer_group_describe import Assignment, DescribedGroup, Member, TopicPartitions

_CLASSIC_MEMBER: Final = 0
_CONSUMER_MEMBER: Final = 1


def describe_group(group: ConsumerGroup, assignors: Sequence[str], topics: TopicsImage) -> DescribedGroup:
    """A group with all its members."""
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state_name,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.preferred_server_assignor(assignors),
        members=[_describe_member(group, member, topics) for member in group.members.values()],
    )


def _describe_member(group: ConsumerGroup, member: ConsumerGroupMember, topics: TopicsImage) -> Member:
    # What it has still to give up is its own until it has.
    current: dict[Uuid, list[int]] = {}
    for partitions in (member.assigned_partitions, member.partitions_pending_revocation):
        for topic_id, epochs in partitions.items():
            current.setdefault(topic_id, []).extend(epochs)
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=member.subscribed_topic_names,
        subscribed_topic_regex=member.subscribed_topic_regex,
        assignment=_assignment(current, topics),
        target_assignment=_assignment(group.target_assignment.get(member.member_id, {}), topics),
        member_type=_CLASSIC_MEMBER if member.use_classic_protocol else _CONSUMER_MEMBER,
    )


def _assignment(partitions: Mapping[Uuid, Iterable[int]], topics: TopicsImage) -> Assignment:
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, topic_name=name, partitions=sorted(indexes))
            for topic_id, indexes in partitions.items()
            if (name := topics.topic_name(topic_id)) is not None
        ]
    )
