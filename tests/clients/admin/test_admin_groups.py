"""Groups and their offsets through the admin client, against Ottla and Apache, beside confluent-kafka."""

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient

from ottla.clients.admin import (
    AclOperation,
    GroupState,
    GroupType,
    MemberToRemove,
    NewTopic,
    OffsetAndMetadata,
    TopicPartition,
)
from ottla.clients.errors import (
    GroupIdNotFoundError,
    GroupNotEmptyError,
    GroupSubscribedToTopicError,
    UnknownMemberIdError,
    UnknownTopicOrPartitionError,
)
from ottla.clients.sync.admin import Admin
from ottla.common.errors import KafkaError
from tests.clients.admin.group_members import member
from tests.clients.admin.waiting import attempts, create
from tests.node import Node


@pytest.fixture
def read(admin: Admin, topic: str) -> str:
    """A topic of two partitions."""
    create(admin, [NewTopic(topic, 2)])
    return topic


def test_a_classic_group(admin: Admin, kafka: Node, confluent: AdminClient, read: str) -> None:
    group = "classic-" + read
    with member(kafka.bootstrap, group, read, 2, client_id="anna", group_instance_id="anna-1"):
        ours = admin.describe_consumer_groups([group], include_authorized_operations=True)[group]
        theirs = confluent.describe_consumer_groups([group])[group].result(10)
        assert (ours.type, ours.state, ours.is_simple_consumer_group) == (GroupType.CLASSIC, GroupState.STABLE, False)
        assert (ours.group_id, ours.partition_assignor) == (theirs.group_id, theirs.partition_assignor)
        assert (ours.coordinator.id, ours.coordinator.port) == (theirs.coordinator.id, theirs.coordinator.port)
        assert (ours.group_epoch, ours.target_assignment_epoch) == (None, None)
        assert ours.authorized_operations is not None
        assert AclOperation.READ in ours.authorized_operations
        (mine,), (other,) = ours.members, theirs.members
        assert (mine.member_id, mine.client_id, mine.host) == (other.member_id, other.client_id, other.host)
        assert mine.group_instance_id == "anna-1"
        assert mine.assignment == {TopicPartition(read, 0), TopicPartition(read, 1)}
        assert (mine.member_epoch, mine.target_assignment, mine.is_upgraded) == (None, None, None)
        classic = admin.describe_classic_groups([group])[group]
        assert (classic.protocol_type, classic.protocol, classic.members) == ("consumer", "range", ours.members)
        listing = admin.list_groups()[group]
        assert (listing.type, listing.protocol_type, listing.state) == (
            GroupType.CLASSIC,
            "consumer",
            GroupState.STABLE,
        )


def test_a_group_of_the_new_protocol(admin: Admin, kafka: Node, read: str) -> None:
    group = "new-" + read
    with member(kafka.bootstrap, group, read, 2, group_protocol="consumer"):
        for _ in attempts("A stable group"):
            described = admin.describe_consumer_groups([group])[group]
            if described.state is GroupState.STABLE:
                break
        assert (described.type, described.partition_assignor) == (GroupType.CONSUMER, "uniform")
        assert described.group_epoch == described.target_assignment_epoch
        (only,) = described.members
        assert only.assignment == {TopicPartition(read, 0), TopicPartition(read, 1)}
        assert only.target_assignment == only.assignment
        assert only.member_epoch == described.group_epoch
        assert only.is_upgraded
        with pytest.raises(GroupIdNotFoundError):
            admin.describe_classic_groups([group])
        assert admin.list_groups()[group].type is GroupType.CONSUMER


def test_groups_are_listed_by_state_and_type(admin: Admin, kafka: Node, confluent: AdminClient, read: str) -> None:
    empty, live = "empty-" + read, "live-" + read
    admin.alter_group_offsets(empty, {TopicPartition(read, 0): OffsetAndMetadata(1)})
    with member(kafka.bootstrap, live, read, 2):
        everything = admin.list_groups()
        assert set(everything) == {each.group_id for each in confluent.list_consumer_groups().result(10).valid}
        assert live not in admin.list_groups(states=[GroupState.EMPTY])
        assert empty in admin.list_groups(states=[GroupState.EMPTY])
        assert {empty, live} <= set(admin.list_groups(types=[GroupType.CLASSIC]))
        assert live not in admin.list_groups(types=[GroupType.CONSUMER])
        assert live in admin.list_groups(protocol_types=["consumer"])
        assert empty not in admin.list_groups(protocol_types=["consumer"])
        assert everything[empty].is_simple_consumer_group
        assert not everything[live].is_simple_consumer_group


def test_groups_that_do_not_exist(admin: Admin, read: str) -> None:
    with pytest.raises(GroupIdNotFoundError):
        admin.describe_consumer_groups(["no-such-group"])
    with pytest.raises(GroupIdNotFoundError):
        admin.describe_classic_groups(["no-such-group"])
    for nobody in ("no-such-group", ""):
        with pytest.raises(GroupIdNotFoundError):
            admin.delete_groups([nobody])
    assert admin.list_group_offsets("no-such-group") == {}
    zero = TopicPartition(read, 0)
    assert admin.list_group_offsets("no-such-group", [zero]) == {zero: None}
    with pytest.raises(GroupIdNotFoundError):
        admin.delete_group_offsets("no-such-group", [zero])
    with pytest.raises((GroupIdNotFoundError, UnknownMemberIdError)):
        admin.remove_members("no-such-group", [MemberToRemove("anna")])


def test_offsets_of_a_group(admin: Admin, confluent: AdminClient, read: str) -> None:
    group, zero, one = "offsets-" + read, TopicPartition(read, 0), TopicPartition(read, 1)
    committed = {zero: OffsetAndMetadata(3, 0, "so far"), one: OffsetAndMetadata(4)}
    assert admin.alter_group_offsets(group, committed) == {zero: None, one: None}
    assert admin.list_group_offsets(group) == committed
    assert admin.list_group_offsets(group, [one], require_stable=True) == {one: committed[one]}
    theirs = confluent.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(10)
    assert {(each.topic, each.partition): each.offset for each in theirs.topic_partitions} == {zero: 3, one: 4}
    assert admin.delete_group_offsets(group, [one]) == {one: None}
    assert admin.list_group_offsets(group, [zero, one]) == {zero: committed[zero], one: None}
    nowhere = TopicPartition("no-such-topic", 0)
    deleted = admin.delete_group_offsets(group, [zero, nowhere], raise_errors=False)
    assert deleted[zero] is None
    assert isinstance(deleted[nowhere], (UnknownTopicOrPartitionError, type(None)))


def test_offsets_of_topics_that_do_not_exist(admin: Admin, read: str) -> None:
    nowhere, zero = TopicPartition("no-such-topic", 0), TopicPartition(read, 0)
    results = admin.alter_group_offsets(
        "nowhere-" + read, {nowhere: OffsetAndMetadata(1), zero: OffsetAndMetadata(2)}, raise_errors=False
    )
    assert isinstance(results[nowhere], UnknownTopicOrPartitionError)
    assert results[zero] is None


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_with_members_is_left_alone(admin: Admin, kafka: Node, read: str, protocol: str) -> None:
    group, zero = f"members-{protocol}-{read}", TopicPartition(read, 0)
    with member(kafka.bootstrap, group, read, 2, group_protocol=protocol):
        with pytest.raises(GroupNotEmptyError):
            admin.delete_groups([group])
        with pytest.raises(KafkaError) as refused:
            admin.alter_group_offsets(group, {zero: OffsetAndMetadata(1)})
        assert isinstance(refused.value, UnknownMemberIdError)
        with pytest.raises(GroupSubscribedToTopicError):
            admin.delete_group_offsets(group, [zero])
    for _ in attempts("An empty group"):
        if admin.describe_consumer_groups([group])[group].state is GroupState.EMPTY:
            break
    assert admin.delete_groups([group]) == {group: None}
    assert group not in admin.list_groups()


def test_each_group_succeeds_or_fails_alone(admin: Admin, read: str) -> None:
    group = "alone-" + read
    admin.alter_group_offsets(group, {TopicPartition(read, 0): OffsetAndMetadata(1)})
    described = admin.describe_consumer_groups(["no-such-group", group], raise_errors=False)
    assert list(described) == ["no-such-group", group]
    assert isinstance(described["no-such-group"], GroupIdNotFoundError)
    found = described[group]
    assert not isinstance(found, KafkaError)
    assert found.is_simple_consumer_group
    deleted = admin.delete_groups([group, "no-such-group"], raise_errors=False)
    assert deleted[group] is None
    assert isinstance(deleted["no-such-group"], GroupIdNotFoundError)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_are_removed(admin: Admin, kafka: Node, read: str, protocol: str) -> None:
    group = f"removed-{protocol}-{read}"
    with member(kafka.bootstrap, group, read, 2, group_instance_id="anna", group_protocol=protocol):
        anna, nobody = MemberToRemove("anna"), MemberToRemove("nobody")
        (before,) = admin.describe_consumer_groups([group])[group].members
        removed = admin.remove_members(group, [anna, nobody], reason="a test", raise_errors=False)
        assert removed[anna] is None
        assert isinstance(removed[nobody], UnknownMemberIdError)
        # It may have come back already, as another.
        assert before.member_id not in {
            each.member_id for each in admin.describe_consumer_groups([group])[group].members
        }


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_all_members_are_removed(admin: Admin, kafka: Node, read: str, protocol: str) -> None:
    group = f"all-removed-{protocol}-{read}"
    with member(kafka.bootstrap, group, read, 2, group_protocol=protocol):
        (only,) = admin.describe_consumer_groups([group])[group].members
        assert admin.remove_members(group) == {MemberToRemove(member_id=only.member_id): None}
        assert only not in admin.describe_consumer_groups([group])[group].members
