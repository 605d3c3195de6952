"""What holds of every assignment, whatever the members had before."""

from collections import Counter

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ottla.common.uuid import Uuid
from ottla.group.assignor.registry import ASSIGNORS
from ottla.group.assignor.spec import (
    Assignment,
    GroupAssignment,
    GroupSpec,
    MemberSpec,
    PartitionAssignorError,
    SubscriptionType,
)
from ottla.metadata.image.topics import TopicsImage
from tests.group.assignor_history import topics_image

NAMES = ("a", "b", "c", "d")


def topic_id(name: str) -> Uuid:
    return Uuid(name.encode() * 16)


def image_of(counts: dict[str, int]) -> TopicsImage:
    return topics_image([[name, str(topic_id(name)), count] for name, count in counts.items()])


@st.composite
def groups(draw: st.DrawFn) -> tuple[GroupSpec, TopicsImage]:
    """Members with any subscriptions, and previous assignments in which nothing has two owners."""
    counts = {name: draw(st.integers(0, 30)) for name in NAMES[: draw(st.integers(1, 4))]}
    member_ids = draw(st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=12, unique=True))
    subscribed = st.sets(st.sampled_from(NAMES)).map(sorted).map(tuple)
    common = draw(subscribed)
    is_homogeneous = draw(st.booleans())
    names = {member_id: common if is_homogeneous else draw(subscribed) for member_id in member_ids}
    before: dict[str, dict[Uuid, tuple[int, ...]]] = {member_id: {} for member_id in member_ids}
    owners = st.sampled_from([None, *member_ids])
    for name, count in counts.items():
        for partition in draw(st.permutations(range(count))):
            owner = draw(owners)
            if owner is not None:
                before[owner][topic_id(name)] = (*before[owner].get(topic_id(name), ()), partition)
    instances = {member_id: draw(st.none() | st.just(f"i{member_id}")) for member_id in member_ids}
    return GroupSpec(
        {each: MemberSpec(names[each], before[each], instances[each]) for each in member_ids},
        SubscriptionType.HOMOGENEOUS if len(set(names.values())) == 1 else SubscriptionType.HETEROGENEOUS,
    ), image_of(counts)


def owned(assignments: GroupAssignment) -> Counter[tuple[Uuid, int]]:
    return Counter(
        (topic, partition)
        for assignment in assignments.values()
        for topic, partitions in assignment.items()
        for partition in partitions
    )


def size(assignment: Assignment) -> int:
    return sum(map(len, assignment.values()))


@pytest.mark.parametrize("name", ASSIGNORS)
@given(group=groups())
def test_every_partition_that_somebody_reads_has_one_owner_who_reads_it(
    name: str, group: tuple[GroupSpec, TopicsImage]
) -> None:
    spec, topics = group
    assignments = ASSIGNORS[name](spec, topics)
    assert assignments.keys() == spec.members.keys()
    read = {each for member in spec.members.values() for each in member.subscribed_topic_names}
    assert owned(assignments) == {
        (topic.id, partition): 1
        for topic in topics.by_id.values()
        if topic.name in read
        for partition in topic.partitions
    }
    for member_id, assignment in assignments.items():
        subscribed = spec.members[member_id].subscribed_topic_names
        assert all(topics.by_id[each].name in subscribed and assignment[each] for each in assignment)


@pytest.mark.parametrize("name", ASSIGNORS)
@given(group=groups())
def test_an_assignment_stays_as_it_is_when_nothing_changes(name: str, group: tuple[GroupSpec, TopicsImage]) -> None:
    spec, topics = group
    first = ASSIGNORS[name](spec, topics)
    again = spec._replace(
        members={each: member._replace(assignment=first[each]) for each, member in spec.members.items()}
    )
    second = ASSIGNORS[name](again, topics)
    assert second == first
    if name == "range" or spec.subscription_type is SubscriptionType.HOMOGENEOUS:
        assert all(second[each] is first[each] for each in first)


@given(group=groups())
@settings(max_examples=200)
def test_uniform_is_balanced_and_moves_no_more_than_it_must(group: tuple[GroupSpec, TopicsImage]) -> None:
    spec, topics = group
    assume(spec.subscription_type is SubscriptionType.HOMOGENEOUS)
    assignments = ASSIGNORS["uniform"](spec, topics)
    sizes = [size(assignment) for assignment in assignments.values()]
    assert max(sizes) - min(sizes) <= 1
    for member_id, assignment in assignments.items():
        before = spec.members[member_id].assignment
        kept = {
            each: tuple(p for p in partitions if p in assignment.get(each, ())) for each, partitions in before.items()
        }
        readable = [
            each for each in before if topics.by_id[each].name in spec.members[member_id].subscribed_topic_names
        ]
        # Whoever lost a partition had more than its share, and got nothing in exchange.
        if any(len(kept[each]) < len(before[each]) for each in readable):
            assert size(assignment) == size(kept)


@given(members=st.integers(1, 9), partitions=st.integers(1, 30), static=st.integers(0, 9))
def test_range_gives_topics_that_are_joined_the_same_partitions(members: int, partitions: int, static: int) -> None:
    spec = GroupSpec(
        {f"m{each}": MemberSpec(("a", "b"), {}, f"i{-each}" if each < static else None) for each in range(members)},
        SubscriptionType.HOMOGENEOUS,
    )
    assignments = ASSIGNORS["range"](spec, image_of({"a": partitions, "b": partitions}))
    for assignment in assignments.values():
        assert assignment.get(topic_id("a")) == assignment.get(topic_id("b"))
        run = assignment.get(topic_id("a"), ())
        assert list(run) == sorted(run)
    firsts = [each for each in assignments if 0 in assignments[each].get(topic_id("a"), ())]
    assert firsts == [min(spec.members, key=lambda each: (spec.members[each].instance_id or "z", each))]


def test_a_group_without_members_gets_nothing() -> None:
    for assign in ASSIGNORS.values():
        assert assign(GroupSpec({}, SubscriptionType.HOMOGENEOUS), image_of({"a": 3})) == {}


def test_a_partition_with_two_owners_is_refused() -> None:
    """The coordinator never gets there; Apache refuses it too."""
    both = {topic_id("a"): (0, 1)}
    spec = GroupSpec({"m1": MemberSpec(("a",), both), "m2": MemberSpec(("a",), both)}, SubscriptionType.HOMOGENEOUS)
    with pytest.raises(PartitionAssignorError, match="left unassigned"):
        ASSIGNORS["uniform"](spec, image_of({"a": 4}))
