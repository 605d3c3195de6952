"""The next step of one member: what it keeps, what it has to give up, and what it gets."""

from collections.abc import Sequence

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.uuid import Uuid
from ottla.group.consumer.current_assignment import CurrentAssignmentBuilder
from ottla.group.consumer.member import ConsumerGroupMember
from ottla.group.consumer.member_state import MemberState
from ottla.group.consumer.partition_owners import NOT_OWNED, PartitionOwners
from ottla.metadata.image.topics import TopicImage, TopicsImage
from tests.group.consumer_world import refused

A, B = Uuid.from_halves(0, 1000), Uuid.from_halves(0, 2000)
STABLE, UNREVOKED, UNRELEASED = (
    MemberState.STABLE,
    MemberState.UNREVOKED_PARTITIONS,
    MemberState.UNRELEASED_PARTITIONS,
)

TOPICS = TopicsImage(by_name={"a": TopicImage("a", A, {}), "b": TopicImage("b", B, {})})

Epochs = dict[Uuid, dict[int, int]]


def member(epoch: int, state: MemberState, has: Epochs, pending: Epochs | None = None) -> ConsumerGroupMember:
    return ConsumerGroupMember(
        "m",
        member_epoch=epoch,
        previous_member_epoch=epoch - 1,
        state=state,
        assigned_partitions=has,
        partitions_pending_revocation=pending or {},
    )


def step(
    before: ConsumerGroupMember,
    target: dict[Uuid, tuple[int, ...]],
    *,
    target_epoch: int = 11,
    owned: dict[Uuid, list[int]] | None = None,
    others: Epochs | None = None,
    topics: Sequence[str] = ("a", "b"),
    changed: bool = False,
) -> ConsumerGroupMember:
    owners = PartitionOwners()
    owners.add(before.assigned_partitions, before.member_epoch)
    owners.add(before.partitions_pending_revocation, before.member_epoch)
    owners.add(others or {}, 9)
    return CurrentAssignmentBuilder(before, target_epoch, target, topics, TOPICS, changed, owners.epoch, owned).build()


def summary(after: ConsumerGroupMember) -> tuple[int, int, MemberState, Epochs, Epochs]:
    return (
        after.member_epoch,
        after.previous_member_epoch,
        after.state,
        dict(after.assigned_partitions),  # type: ignore[arg-type]
        dict(after.partitions_pending_revocation),  # type: ignore[arg-type]
    )


def test_a_stable_member_at_the_target_epoch_stays() -> None:
    before = member(11, STABLE, {A: {1: 10}})
    assert step(before, {A: (1, 2)}) is before


def test_a_member_moves_to_the_target_epoch_with_what_it_has() -> None:
    after = step(member(10, STABLE, {A: {1: 10, 2: 9}}), {A: (1, 2)})
    assert summary(after) == (11, 10, STABLE, {A: {1: 10, 2: 9}}, {})


def test_new_partitions_come_at_the_target_epoch() -> None:
    after = step(member(10, STABLE, {A: {1: 10}}), {A: (1, 2), B: (3,)})
    assert summary(after) == (11, 10, STABLE, {A: {1: 10, 2: 11}, B: {3: 11}}, {})


def test_a_member_first_gives_up_what_it_should_not_have() -> None:
    after = step(member(10, STABLE, {A: {1: 10, 2: 9}}), {A: (2, 3)})
    assert summary(after) == (10, 10, UNREVOKED, {A: {2: 9}}, {A: {1: 10}})


def test_what_the_member_says_it_no_longer_owns_is_given_up_at_once() -> None:
    after = step(member(10, STABLE, {A: {1: 10, 2: 9}}), {A: (2, 3)}, owned={A: [2]})
    assert summary(after) == (11, 10, STABLE, {A: {2: 9, 3: 11}}, {})


@pytest.mark.parametrize("owned", [None, {A: [1, 2]}, {A: [1]}])
def test_it_stays_in_its_epoch_until_it_has_let_go(owned: dict[Uuid, list[int]] | None) -> None:
    before = member(10, UNREVOKED, {A: {2: 9}}, {A: {1: 10}})
    assert step(before, {A: (2, 3)}, owned=owned) is before


def test_having_let_go_it_moves_on() -> None:
    before = member(10, UNREVOKED, {A: {2: 9}}, {A: {1: 10}})
    assert summary(step(before, {A: (2, 3)}, owned={A: [2]})) == (11, 10, STABLE, {A: {2: 9, 3: 11}}, {})


def test_having_let_go_it_may_have_to_give_up_more() -> None:
    before = member(10, UNREVOKED, {A: {2: 9, 4: 8}}, {A: {1: 10}})
    after = step(before, {A: (2, 3)}, target_epoch=12, owned={A: [2, 4]})
    assert summary(after) == (10, 10, UNREVOKED, {A: {2: 9}}, {A: {4: 8}})


def test_what_it_was_giving_up_may_come_back_to_it() -> None:
    before = member(10, UNREVOKED, {A: {2: 9}}, {A: {1: 10}})
    assert summary(step(before, {A: (1, 2)}, owned={A: [2]})) == (11, 10, STABLE, {A: {1: 11, 2: 9}}, {})


def test_partitions_of_others_have_to_wait() -> None:
    after = step(member(10, STABLE, {A: {1: 10}}), {A: (1, 2, 3)}, others={A: {3: 9}})
    assert summary(after) == (11, 10, UNRELEASED, {A: {1: 10, 2: 11}}, {})
    after = step(member(10, STABLE, {A: {1: 10}}), {A: (1, 3)}, others={A: {3: 9}})
    assert summary(after) == (11, 10, UNRELEASED, {A: {1: 10}}, {})


def test_they_come_when_they_are_free() -> None:
    before = member(11, UNRELEASED, {A: {1: 10}})
    assert summary(step(before, {A: (1, 3)}, others={A: {3: 9}})) == (11, 11, UNRELEASED, {A: {1: 10}}, {})
    assert summary(step(before, {A: (1, 3)})) == (11, 11, STABLE, {A: {1: 10, 3: 11}}, {})


def test_a_waiting_member_follows_a_newer_target() -> None:
    before = member(11, UNRELEASED, {A: {1: 10}})
    assert summary(step(before, {B: (5,)}, target_epoch=12)) == (11, 11, UNREVOKED, {}, {A: {1: 10}})
    assert summary(step(before, {A: (1,)}, target_epoch=12)) == (12, 11, STABLE, {A: {1: 10}}, {})


def test_topics_that_a_member_no_longer_wants_are_taken_away_whatever_the_target_says() -> None:
    before = member(10, STABLE, {A: {1: 10}, B: {1: 10}})
    after = step(before, {A: (1,), B: (1,)}, topics=("a",))
    assert summary(after) == (10, 10, UNREVOKED, {A: {1: 10}}, {B: {1: 10}})
    after = step(before, {A: (1,), B: (1,)}, topics=("a",), owned={A: [1]})
    assert summary(after) == (11, 10, STABLE, {A: {1: 10}}, {})


def test_a_changed_subscription_does_not_wait_for_the_next_target() -> None:
    before = member(11, STABLE, {A: {1: 10}, B: {1: 10}})
    after = step(before, {A: (1,), B: (1,)}, topics=("a",), changed=True)
    assert summary(after) == (11, 11, UNREVOKED, {A: {1: 10}}, {B: {1: 10}})
    after = step(before, {A: (1,), B: (1,)}, topics=("a",), changed=True, owned={A: [1]})
    assert summary(after) == (11, 11, STABLE, {A: {1: 10}}, {})
    assert step(before, {A: (1,), B: (1,)}, changed=True) is before
    after = step(before, {A: (1,), B: (1,)}, topics=(), changed=True)
    assert summary(after) == (11, 11, UNREVOKED, {}, {A: {1: 10}, B: {1: 10}})


def test_a_member_that_wants_nothing_forgets_its_last_epoch() -> None:
    """Apache's way; it may no longer come with that epoch."""
    before = member(11, STABLE, {})
    assert summary(step(before, {}, topics=(), changed=True)) == (11, 11, STABLE, {}, {})
    assert step(before, {}, topics=("deleted",), changed=True) is before


def test_a_changed_subscription_adds_to_what_is_being_given_up() -> None:
    before = member(10, UNREVOKED, {A: {1: 10}, B: {1: 10}}, {B: {2: 9}})
    after = step(before, {A: (1,), B: (1,)}, topics=("a",), changed=True)
    assert summary(after) == (10, 10, UNREVOKED, {A: {1: 10}}, {B: {1: 10, 2: 9}})


def test_a_member_in_a_state_of_the_future_begins_anew() -> None:
    before = member(10, MemberState.from_value(77), {A: {1: 10}})
    assert before.state is MemberState.UNKNOWN
    assert refused(lambda: step(before, {A: (1,)})) is ErrorCode.FENCED_MEMBER_EPOCH
    assert refused(lambda: step(before, {A: (1,)}, owned={A: [1]})) is ErrorCode.FENCED_MEMBER_EPOCH
    assert summary(step(before, {A: (1, 2)}, owned={})) == (11, 10, STABLE, {A: {1: 10, 2: 11}}, {})


def test_a_partition_passes_to_a_later_epoch_only() -> None:
    owners = PartitionOwners()
    owners.add({A: {0: 0}}, 5)
    assert owners.epoch(A, 0) == 5
    assert owners.epoch(A, 1) == owners.epoch(B, 0) == NOT_OWNED
    with pytest.raises(AssertionError, match="still owned at epoch 5"):
        owners.add({A: {0: 0}}, 5)
    owners.add({A: {0: 0}}, 6)
    owners.remove({A: {0: 0}}, 5)  # its owner before
    assert owners.epoch(A, 0) == 6
    owners.remove({A: {0: 0}}, 6)
    owners.remove({B: {0: 0}}, 6)
    assert owners.epoch(A, 0) == NOT_OWNED
    assert owners.owned() == {}
