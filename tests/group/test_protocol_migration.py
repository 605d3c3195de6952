"""Groups change their protocol online: classic to consumer when somebody joins, and back when the last one leaves."""

from collections.abc import Callable
from functools import partial

import pytest

from ottla.common.error_code import ErrorCode
from ottla.group.classic.group import ClassicGroup
from ottla.group.consumer.group import ConsumerGroup
from ottla.group.consumer.migration import MigrationPolicy
from ottla.group.records import ConsumerGroupMetadataKey, GroupMetadataKey
from ottla.protocol.codec import encode
from ottla.protocol.consumer_protocol import ConsumerProtocolAssignment, decode_assignment, encode_assignment
from ottla.protocol.messages.sync_group import SyncGroupRequestAssignment
from tests.group.consumer_clients import ClassicConsumer, Consumer
from tests.group.consumer_world import GROUP, World, assigned, durable_state, refused

BOTH = "bidirectional"


def classic_group(world: World, *clients: ClassicConsumer) -> None:
    """Let clients of the classic protocol form a group."""
    settle(world, clients)
    assert world.groups[GROUP].state_name == "Stable"
    assert isinstance(world.groups[GROUP], ClassicGroup)


def settle(world: World, classic: tuple[ClassicConsumer, ...] = (), new: tuple[Consumer, ...] = ()) -> None:
    """Let everybody go on for a while."""
    for _ in range(12):
        for client in classic:
            client.step(world)
        for consumer in new:
            consumer.beat(world)
        world.advance(1_001)


def all_owned(world: World, classic: tuple[ClassicConsumer, ...], new: tuple[Consumer, ...] = ()) -> list[int]:
    """The partitions of topic t that clients own, each as often as it is owned."""
    (t,) = world.image.topics.by_id
    owned = [partition for client in classic for partition in client.owned.get("t", ())]
    return sorted(owned + [partition for consumer in new for partition in consumer.owned.get(t, ())])


@pytest.mark.parametrize("is_cooperative", [False, True])
def test_a_group_goes_to_the_new_protocol_and_back_without_losing_a_partition(is_cooperative: bool) -> None:
    world = World()
    world.create_topic("t", 6)
    old = tuple(ClassicConsumer(["t"], is_cooperative=is_cooperative) for _ in range(2))
    classic_group(world, *old)
    generation_id = world.groups[GROUP].generation_id  # type: ignore[attr-defined]
    assert all_owned(world, old) == [0, 1, 2, 3, 4, 5]

    consumer = Consumer("new", ["t"])
    consumer.beat(world)
    assert isinstance(world.groups[GROUP], ConsumerGroup)
    assert world.group.group_epoch == generation_id + 1
    assert world.group.num_classic_members == 2
    assert durable_state(world.replayed()[GROUP]) == durable_state(world.group)
    settle(world, old, (consumer,))
    assert world.group.state_name == "Stable"
    assert all_owned(world, old, (consumer,)) == [0, 1, 2, 3, 4, 5]
    assert {len(client.owned["t"]) for client in old} == {2}

    consumer.leave(world)
    downgraded = world.groups[GROUP]
    assert isinstance(downgraded, ClassicGroup)
    assert downgraded.state_name == "PreparingRebalance"
    settle(world, old)
    assert world.groups[GROUP].state_name == "Stable"
    assert all_owned(world, old) == [0, 1, 2, 3, 4, 5]


def test_rolling_upgrade_member_by_member() -> None:
    world = World()
    world.create_topic("t", 6)
    old = [ClassicConsumer(["t"], is_cooperative=True) for _ in range(3)]
    classic_group(world, *old)
    new: list[Consumer] = []
    while old:
        old.pop().leave(world)
        new.append(Consumer(f"new{len(new)}", ["t"]))
        settle(world, tuple(old), tuple(new))
        assert world.group.state_name == "Stable"
        assert all_owned(world, tuple(old), tuple(new)) == [0, 1, 2, 3, 4, 5]
    assert world.group.num_classic_members == 0
    while new:
        new.pop().leave(world)
        old.append(ClassicConsumer(["t"], is_cooperative=True))
        settle(world, tuple(old), tuple(new))
        assert world.groups[GROUP].state_name == "Stable"
        assert all_owned(world, tuple(old), tuple(new)) == [0, 1, 2, 3, 4, 5]
    assert isinstance(world.groups[GROUP], ClassicGroup)


def test_rolling_upgrade_and_downgrade_of_static_members() -> None:
    world = World()
    world.create_topic("t", 4)
    old: dict[str, ClassicConsumer] = {
        name: ClassicConsumer(["t"], is_cooperative=True, instance_id=name) for name in ("i", "j")
    }
    new: dict[str, Consumer] = {}
    classic_group(world, *old.values())
    for number, name in enumerate(("i", "j")):
        del old[name]  # it stops without a word, as static members do
        new[name] = Consumer(f"new{number}", ["t"], instance_id=name)
        settle(world, tuple(old.values()), tuple(new.values()))
        assert world.group.state_name == "Stable"
        assert all_owned(world, tuple(old.values()), tuple(new.values())) == [0, 1, 2, 3]
    for name in ("i", "j"):
        new.pop(name).leave(world, for_a_while=True)
        old[name] = ClassicConsumer(["t"], is_cooperative=True, instance_id=name)
        settle(world, tuple(old.values()), tuple(new.values()))
        assert all_owned(world, tuple(old.values()), tuple(new.values())) == [0, 1, 2, 3]
    assert isinstance(world.groups[GROUP], ClassicGroup)


def test_the_last_static_member_replaced_downgrades_without_a_rebalance() -> None:
    world = World()
    world.create_topic("t", 2)
    new = Consumer("new", ["t"], instance_id="i")
    new.beat(world)
    epoch = world.group.group_epoch
    new.leave(world, for_a_while=True)
    written = len(world.log)
    (joined,) = world.classic_join(instance_id="i")
    group = world.groups[GROUP]
    assert isinstance(group, ClassicGroup)
    assert (group.state_name, group.generation_id, joined.generation_id) == ("Stable", epoch, epoch)
    records = world.records_since(written)
    assert [record.value is None for record in records if isinstance(record.key, ConsumerGroupMetadataKey)] == [True]
    assert isinstance(records[-1].key, GroupMetadataKey)
    (sync,) = world.classic_sync(joined.member_id, joined.generation_id, instance_id="i")
    (topic,) = decode_assignment(sync.assignment).assigned_partitions
    assert (topic.topic, list(topic.partitions)) == ("t", [0, 1])
    assert world.classic_heartbeat(joined.member_id, epoch, "i") == ErrorCode.NONE
    world.reload()
    assert world.classic_heartbeat(joined.member_id, epoch, "i") == ErrorCode.NONE


def test_replaced_with_another_subscription_it_rebalances() -> None:
    world = World()
    world.create_topic("t", 2)
    world.create_topic("u", 2)
    new = Consumer("new", ["t"], regex="t", instance_id="i")
    new.beat(world)
    world.advance(100)
    new.beat(world)
    new.leave(world, for_a_while=True)
    world.classic_join(instance_id="i", topics=["u"])
    assert world.groups[GROUP].state_name == "PreparingRebalance"


def test_a_timeout_of_the_last_new_member_downgrades_too() -> None:
    world = World()
    world.create_topic("t", 2)
    old = ClassicConsumer(["t"], is_cooperative=False)
    consumer = Consumer("new", ["t"])
    consumer.beat(world)
    settle(world, (old,), (consumer,))
    for _ in range(10):
        old.step(world)
        world.advance(5_000)
    assert isinstance(world.groups[GROUP], ClassicGroup)
    settle(world, (old,))
    assert all_owned(world, (old,)) == [0, 1]


def test_a_failed_downgrade_leaves_the_group_and_its_timers() -> None:
    world = World()
    world.create_topic("t", 2)
    old = ClassicConsumer(["t"], is_cooperative=False)
    consumer = Consumer("new", ["t"])
    consumer.beat(world)
    settle(world, (old,), (consumer,))
    before = durable_state(world.group)
    world.appends_fail = True
    consumer.leave(world)
    assert durable_state(world.group) == before
    world.appends_fail = False
    for _ in range(10):
        old.step(world)
        world.advance(5_000)
    assert isinstance(world.groups[GROUP], ClassicGroup)


def test_a_failed_upgrade_leaves_the_classic_group() -> None:
    world = World()
    world.create_topic("t", 2)
    old = ClassicConsumer(["t"], is_cooperative=False)
    classic_group(world, old)
    before = world.groups[GROUP]
    world.appends_fail = True
    assert refused(partial(world.join, "new", topics=["t"])) is ErrorCode.NOT_COORDINATOR
    world.appends_fail = False
    assert world.groups[GROUP] is before
    assert world.classic_heartbeat(old.member_id, old.generation_id) == ErrorCode.NONE


def test_members_who_wait_in_the_classic_group_are_sent_to_join_again() -> None:
    world = World()
    world.create_topic("t", 2)
    old = ClassicConsumer(["t"], is_cooperative=False)
    classic_group(world, old)
    waiting = world.classic_join(world.classic_join()[0].member_id)
    assert waiting == []
    world.join("new", topics=["t"])
    assert [answer.error_code for answer in waiting] == [ErrorCode.REBALANCE_IN_PROGRESS]


def test_a_rebalance_of_the_classic_group_goes_on_whoever_joins() -> None:
    """Apache forgets it if the new member subscribes to nothing."""
    world = World()
    world.create_topic("t", 4)
    old = tuple(ClassicConsumer(["t"], is_cooperative=True) for _ in range(2))
    classic_group(world, *old)
    old[1].leave(world)
    assert world.groups[GROUP].state_name == "PreparingRebalance"
    idle = Consumer("new", [])
    idle.beat(world)
    settle(world, old[:1], (idle,))
    assert world.group.state_name == "Stable"
    assert all_owned(world, old[:1]) == [0, 1, 2, 3]


def test_a_group_that_is_upgraded_before_its_downgrade_is_committed_still_rebalances() -> None:
    world = World()
    world.create_topic("t", 4)
    old = ClassicConsumer(["t"], is_cooperative=True)
    consumer = Consumer("new", ["t"])
    consumer.beat(world)
    settle(world, (old,), (consumer,))
    world.holds_commits = True
    consumer.leave(world)
    idle = Consumer("idle", [])
    idle.beat(world)
    world.holds_commits = False
    world.commit()
    settle(world, (old,), (idle,))
    assert all_owned(world, (old,)) == [0, 1, 2, 3]


def test_a_group_before_its_first_generation_is_upgraded_too() -> None:
    world = World()
    world.create_topic("t", 2)
    member_id = world.classic_join()[0].member_id
    world.classic_join(member_id)
    joined = world.join("new", topics=[])
    assert joined.member_epoch == 2
    assert world.group.num_classic_members == 1


def join_new(world: World) -> None:
    world.join("new", topics=["t"])


def custom_assignor(world: World, member_id: str, generation_id: int) -> None:
    """The leader's assignor puts data of its own into the assignment."""
    data = b"\x00\x00" + encode(ConsumerProtocolAssignment(user_data=b"mine"), 0)
    world.classic_sync(
        member_id, generation_id, assignments=[SyncGroupRequestAssignment(member_id=member_id, assignment=data)]
    )


def unreadable(world: World, member_id: str, generation_id: int) -> None:
    data = b"\x00\x01junk"
    world.classic_sync(
        member_id, generation_id, assignments=[SyncGroupRequestAssignment(member_id=member_id, assignment=data)]
    )


def assigned_twice(world: World, member_id: str, generation_id: int) -> None:
    data = encode_assignment([("t", [1, 1])], 1)
    world.classic_sync(
        member_id, generation_id, assignments=[SyncGroupRequestAssignment(member_id=member_id, assignment=data)]
    )


@pytest.mark.parametrize("assign", [custom_assignor, assigned_twice, unreadable])
def test_assignments_that_would_be_lost_or_cannot_be_read_stop_an_upgrade(
    assign: Callable[[World, str, int], None],
) -> None:
    world = World()
    world.create_topic("t", 2)
    member_id = world.classic_join()[0].member_id
    answers = world.classic_join(member_id)
    world.advance(10_000)
    assign(world, member_id, answers[0].generation_id)
    assert world.groups[GROUP].state_name == "Stable"
    assert refused(partial(join_new, world)) is ErrorCode.GROUP_ID_NOT_FOUND
    assert isinstance(world.groups[GROUP], ClassicGroup)


def test_partitions_that_are_no_more_are_not_taken_over() -> None:
    world = World()
    world.create_topic("t", 4)
    old = ClassicConsumer(["t"], is_cooperative=True)
    classic_group(world, old)
    world.delete_topic("t")
    t = world.create_topic("t", 2)
    world.join("new", topics=["t"])
    assert world.group.members[old.member_id].assigned_partitions[t].keys() == {0, 1}


@pytest.mark.parametrize(
    ("policy", "upgrades", "downgrades"),
    [(BOTH, True, True), ("UPGRADE", True, False), ("downgrade", False, True), ("disabled", False, False)],
)
def test_the_policy_decides(policy: str, upgrades: bool, downgrades: bool) -> None:
    world = World(group_consumer_migration_policy=policy)
    assert MigrationPolicy.parse(policy).allows_upgrade is upgrades
    world.create_topic("t", 2)
    classic_group(world, ClassicConsumer(["t"], is_cooperative=False))
    if upgrades:
        join_new(world)
    else:
        assert refused(partial(join_new, world)) is ErrorCode.GROUP_ID_NOT_FOUND
    world = World(group_consumer_migration_policy=policy)
    world.create_topic("t", 2)
    join_new(world)
    if policy == "disabled":
        assert refused(partial(world.classic_join, version=3)) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return
    world.classic_join(version=3)
    world.heartbeat("new", -1)
    assert isinstance(world.groups[GROUP], ClassicGroup) is downgrades


def test_an_unknown_policy_allows_nothing() -> None:
    assert MigrationPolicy.parse("sideways") is MigrationPolicy.DISABLED


def test_sizes_may_forbid_a_change() -> None:
    world = World(group_consumer_max_size=1)
    world.create_topic("t", 2)
    classic_group(world, *(ClassicConsumer(["t"], is_cooperative=False) for _ in range(2)))
    assert refused(partial(join_new, world)) is ErrorCode.GROUP_ID_NOT_FOUND
    world = World(group_max_size=1)
    world.create_topic("t", 2)
    join_new(world)
    world.classic_join(version=3)
    world.classic_join(version=3)
    world.heartbeat("new", -1)
    assert isinstance(world.groups[GROUP], ConsumerGroup)


def test_groups_of_other_kinds_are_not_upgraded() -> None:
    world = World()
    member_id = world.classic_join(protocol_type="connect")[0].member_id
    world.classic_join(member_id, protocol_type="connect")
    world.advance(10_000)
    assert refused(partial(join_new, world)) is ErrorCode.GROUP_ID_NOT_FOUND
    assert refused(partial(world.heartbeat, "new", 1)) is ErrorCode.GROUP_ID_NOT_FOUND
    assert refused(partial(world.heartbeat, "new", -1)) is ErrorCode.GROUP_ID_NOT_FOUND


def test_empty_groups_change_at_once() -> None:
    world = World()
    t = world.create_topic("t", 2)
    old = ClassicConsumer(["t"], is_cooperative=False)
    classic_group(world, old)
    old.leave(world)
    assert world.groups[GROUP].state_name == "Empty"
    joined = world.join("new", topics=["t"])
    assert (joined.member_epoch, assigned(joined)) == (2, {t: {0, 1}})
    world.heartbeat("new", -1)
    again = ClassicConsumer(["t"], is_cooperative=False)
    classic_group(world, again)
    world.reload()
    assert isinstance(world.groups[GROUP], ClassicGroup)


def test_offsets_that_were_committed_before_stay() -> None:
    world = World()
    world.create_topic("t", 2)
    assert world.commit_offset("", -1, "t", 0) == ErrorCode.NONE
    assert isinstance(world.groups[GROUP], ClassicGroup)
    join_new(world)
    assert isinstance(world.groups[GROUP], ConsumerGroup)
    world.reload()
    assert isinstance(world.groups[GROUP], ConsumerGroup)
    assert world.shard.num_offsets == 1


def test_a_downgrade_that_is_being_committed_while_somebody_joins() -> None:
    world = World()
    world.create_topic("t", 2)
    old = ClassicConsumer(["t"], is_cooperative=False)
    consumer = Consumer("new", ["t"])
    consumer.beat(world)
    settle(world, (old,), (consumer,))
    world.holds_commits = True
    consumer.leave(world)
    assert world.groups[GROUP].state_name == "Stable"
    world.classic_join(world.classic_join()[0].member_id)
    world.holds_commits = False
    world.commit()
    settle(world, (old,))
    assert isinstance(world.groups[GROUP], ClassicGroup)
