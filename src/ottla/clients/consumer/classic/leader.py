"""The leader's duty: from what the members said to what each of them gets."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from ottla.clients.consumer.assignors.assignor import (
    Assignment,
    MemberSubscription,
    PartitionAssignor,
    RebalanceProtocol,
    TopicRacks,
)
from ottla.clients.consumer.group_metadata import ConsumerGroupMetadata
from ottla.clients.consumer.member_machine import by_topic
from ottla.clients.errors import IllegalStateError
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.protocol.consumer_protocol import (
    ConsumerProtocolSubscription,
    OwnedTopicPartitions,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from ottla.protocol.messages.join_group import JoinGroupResponseMember
from ottla.protocol.messages.sync_group import SyncGroupRequestAssignment

_CHECKS_ITSELF = "cooperative-sticky"
"""Its members' claims can overlap when some lag behind; it looks at the generations."""


def write_subscription(
    topics: Iterable[str],
    user_data: bytes | None,
    owned: Iterable[TopicPartition],
    generation_id: int,
    rack_id: str | None,
) -> bytes:
    """What a member tells the leader for one assignor."""
    owned_by_topic = by_topic(frozenset(owned))
    return encode_subscription(
        ConsumerProtocolSubscription(
            topics=sorted(topics),
            user_data=user_data,
            owned_partitions=[
                OwnedTopicPartitions(topic=topic, partitions=indexes) for topic, indexes in owned_by_topic.items()
            ],
            generation_id=generation_id,
            rack_id=rack_id,
        )
    )


def read_group(members: Sequence[JoinGroupResponseMember]) -> dict[str, MemberSubscription]:
    """What the members said, by member id; InvalidRequestError if one of them cannot be read."""
    group = {}
    for member in members:
        said = decode_subscription(bytes(member.metadata))
        group[member.member_id] = MemberSubscription(
            topics=tuple(said.topics),
            user_data=None if said.user_data is None else bytes(said.user_data),
            owned_partitions=tuple(
                TopicPartition(topic.topic, partition)
                for topic in said.owned_partitions
                for partition in topic.partitions
            ),
            generation_id=said.generation_id,
            rack_id=said.rack_id or None,
            group_instance_id=member.group_instance_id,
        )
    return group


def subscribed_topics(group: Mapping[str, MemberSubscription]) -> frozenset[str]:
    """All topics that anybody in the group wants."""
    return frozenset(topic for member in group.values() for topic in member.topics)


@contextmanager
def _of_the_user(assignor: PartitionAssignor) -> Iterator[None]:
    """An assignor may be the user's, and raise anything: it comes back to the user as the cause of an error of ours."""
    try:
        yield
    except KafkaError:
        raise
    except Exception as error:
        raise IllegalStateError(f"the assignor {assignor.name} raised {error!r}") from error


def ask_user_data(assignor: PartitionAssignor, topics: frozenset[str]) -> bytes | None:
    """What the assignor wants the leader's to know; IllegalStateError if it raises."""
    with _of_the_user(assignor):
        return assignor.subscription_user_data(topics)


def tell_assignor(assignor: PartitionAssignor, assignment: Assignment, group_metadata: ConsumerGroupMetadata) -> None:
    """Tell the assignor what this member got; IllegalStateError if it raises."""
    with _of_the_user(assignor):
        assignor.on_assignment(assignment, group_metadata)


def assign_group(
    assignor: PartitionAssignor,
    protocol: RebalanceProtocol,
    topics: TopicRacks,
    group: Mapping[str, MemberSubscription],
) -> list[SyncGroupRequestAssignment]:
    """Run the assignor; IllegalStateError if it raises, or is cooperative and gives away what somebody still owns."""
    with _of_the_user(assignor):
        assignments = assignor.assign(topics, group)
    if protocol is RebalanceProtocol.COOPERATIVE and assignor.name != _CHECKS_ITSELF:
        _require_revoked_first(assignor.name, group, assignments)
    return [
        SyncGroupRequestAssignment(member_id=member_id, assignment=_write_assignment(assignments.get(member_id)))
        for member_id in group
    ]


def _write_assignment(assignment: Assignment | None) -> bytes:
    if assignment is None:
        return encode_assignment([])
    return encode_assignment(by_topic(assignment.partitions).items(), user_data=assignment.user_data)


def _require_revoked_first(
    name: str, group: Mapping[str, MemberSubscription], assignments: Mapping[str, Assignment]
) -> None:
    added: set[TopicPartition] = set()
    revoked: set[TopicPartition] = set()
    for member_id, assignment in assignments.items():
        owned = frozenset(group[member_id].owned_partitions)
        added |= frozenset(assignment.partitions) - owned
        revoked |= owned - frozenset(assignment.partitions)
    if both := sorted(added & revoked):
        names = ", ".join(map(str, both))
        raise IllegalStateError(
            f"the assignor {name} supports the cooperative protocol but gave partitions to new members that others "
            f"still own: {names}"
        )
