"""What offsets, listing and admins see of a classic group; its states and its protocols."""

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.group.classic.group import ClassicGroup
from ottla.group.classic.state import VALID_PREVIOUS_STATES, ClassicGroupState
from ottla.group.classic.subscribed_topics import subscribed_topics
from ottla.group.group_store import GroupStore
from tests.group.classic_world import GROUP, INITIAL_DELAY_MS, World, subscription

EMPTY, DEAD, STABLE = ClassicGroupState.EMPTY, ClassicGroupState.DEAD, ClassicGroupState.STABLE
PREPARING, COMPLETING = ClassicGroupState.PREPARING_REBALANCE, ClassicGroupState.COMPLETING_REBALANCE
STATES = list(ClassicGroupState)


def _in_state(state: ClassicGroupState, protocol_type: str | None = "consumer") -> ClassicGroup:
    return ClassicGroup("g", state=state, protocol_type=protocol_type, current_state_timestamp_ms=50)


def _code(call: object, *args: object, **options: object) -> int:
    try:
        call(*args, **options)  # type: ignore[operator]
    except KafkaError as error:
        return error.code
    return 0


@pytest.mark.parametrize("target", STATES)
@pytest.mark.parametrize("source", STATES)
def test_transitions(source: ClassicGroupState, target: ClassicGroupState) -> None:
    legal = {
        (EMPTY, PREPARING),
        (PREPARING, EMPTY),
        (PREPARING, COMPLETING),
        (COMPLETING, PREPARING),
        (COMPLETING, STABLE),
        (STABLE, PREPARING),
        *((state, DEAD) for state in STATES),
    }
    group = _in_state(source)
    if (source, target) in legal:
        group.transition_to(target, 70)
        assert (group.state, group.previous_state, group.current_state_timestamp_ms) == (target, source, 70)
    else:
        with pytest.raises(AssertionError):
            group.transition_to(target, 70)
    assert set(VALID_PREVIOUS_STATES) == set(STATES)


class TestOffsetCommit:
    """Who may commit offsets."""

    @staticmethod
    def _commit(group: ClassicGroup, member_id: str = "", generation: int = -1, **options: bool) -> int:
        is_transactional = options.get("is_transactional", False)
        return _code(
            group.validate_offset_commit,
            member_id,
            None,
            generation,
            is_transactional=is_transactional,
            api_version=9,
        )

    def test_anybody_while_there_are_no_members(self) -> None:
        assert self._commit(_in_state(EMPTY)) == ErrorCode.NONE
        assert self._commit(_in_state(EMPTY), generation=0) == ErrorCode.UNKNOWN_MEMBER_ID

    def test_nobody_when_it_is_dead(self) -> None:
        assert self._commit(_in_state(DEAD)) == ErrorCode.COORDINATOR_NOT_AVAILABLE

    def test_only_members_of_the_generation(self) -> None:
        world = World()
        leader, _ = world.stable()
        group = world.group
        assert self._commit(group, leader, 1) == ErrorCode.NONE
        assert self._commit(group, leader, 0) == ErrorCode.ILLEGAL_GENERATION
        assert self._commit(group, leader, -1) == ErrorCode.ILLEGAL_GENERATION
        assert self._commit(group, "m", 1) == ErrorCode.UNKNOWN_MEMBER_ID
        assert self._commit(group) == ErrorCode.UNKNOWN_MEMBER_ID
        assert self._commit(group, is_transactional=True) == ErrorCode.NONE  # old producers do not say who they are
        world.join(leader)
        assert self._commit(group, leader, 1) == ErrorCode.NONE  # the last chance before it loses its partitions

    def test_nobody_between_join_and_sync(self) -> None:
        world = World()
        member_id, _ = world.join_with_id()
        world.advance(INITIAL_DELAY_MS)
        assert self._commit(world.group, member_id, 1) == ErrorCode.REBALANCE_IN_PROGRESS
        assert self._commit(world.group, member_id, 1, is_transactional=True) == ErrorCode.NONE


@pytest.mark.parametrize("protocol_type", ["consumer", "connect"])
@pytest.mark.parametrize("state", STATES)
def test_reading_and_deleting(state: ClassicGroupState, protocol_type: str) -> None:
    group = _in_state(state, protocol_type)
    dead, busy = ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.NON_EMPTY_GROUP
    expected = {DEAD: (dead, dead, dead), EMPTY: (0, 0, 0)}.get(
        state, (0, 0 if protocol_type == "consumer" else busy, busy)
    )
    assert (
        _code(group.validate_offset_fetch, "", -1),
        _code(group.validate_offset_delete),
        _code(group.validate_delete_group),
    ) == expected


class TestOffsetExpiry:
    """From when on an offset is unused."""

    def test_a_simple_group_counts_from_the_commit(self) -> None:
        group = GroupStore().get_or_create_simple_group("g")
        assert group.offset_unused_since_ms(20) == 20

    def test_an_empty_group_counts_from_when_it_became_empty(self) -> None:
        assert _in_state(EMPTY).offset_unused_since_ms(20) == 50
        assert ClassicGroup("g", protocol_type="consumer").offset_unused_since_ms(20) == 20  # an old record

    def test_a_stable_group_of_consumers_counts_from_the_commit_where_its_topics_are_known(self) -> None:
        world = World()
        world.stable()
        assert world.group.offset_unused_since_ms(20) == 20
        world.group.subscribed_topics = None
        assert world.group.offset_unused_since_ms(20) is None

    @pytest.mark.parametrize("state", [PREPARING, COMPLETING, DEAD])
    def test_nothing_expires_meanwhile(self, state: ClassicGroupState) -> None:
        assert _in_state(state).offset_unused_since_ms(20) is None

    def test_nothing_expires_while_members_of_another_kind_are_active(self) -> None:
        assert _in_state(STABLE, "connect").offset_unused_since_ms(20) is None


class TestSubscribedTopics:
    """Read from what the members say."""

    def test_the_topics_of_all_members(self) -> None:
        assert subscribed_topics([subscription("a", "b"), subscription("b", "ü")]) == frozenset({"a", "b", "ü"})
        later = b"\x00\x03" + subscription("a")[2:] + b"what later versions add"
        assert subscribed_topics([later]) == frozenset({"a"})
        assert subscribed_topics([subscription()]) == frozenset()

    def test_malformed_metadata(self) -> None:
        good = subscription("topic")
        for length in range(len(good)):
            assert subscribed_topics([good[:length]]) is None
        assert subscribed_topics([b"\x00\x00\xff\xff\xff\xff"]) is None
        assert subscribed_topics([b"\x00\x00\x00\x00\x00\x01\x00\x01\xff\xff\xff\xff\xff"]) is None
        assert subscribed_topics([b"\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff"]) is None

    def test_a_group_that_does_not_know_is_taken_to_read_all_topics_if_it_reads_any(self) -> None:
        assert _in_state(STABLE).is_subscribed_to_topic("t")
        assert not _in_state(STABLE, "connect").is_subscribed_to_topic("t")
        assert not _in_state(EMPTY, None).is_subscribed_to_topic("t")
        world = World()
        world.stable()
        assert world.group.is_subscribed_to_topic("topic")
        assert not world.group.is_subscribed_to_topic("other")
        for member_id in list(world.group.members.by_id):
            world.leave((member_id, None))
        assert not world.group.is_subscribed_to_topic("topic")


class TestDescribe:
    """DescribeGroups and ListGroups."""

    def test_a_stable_group(self) -> None:
        world = World()
        leader, static = world.stable(1, ["i"])
        described = world.manager.describe(GROUP, 6)
        assert (described.error_code, described.group_state, described.protocol_type) == (0, "Stable", "consumer")
        assert described.protocol_data == "range"
        first, second = described.members
        assert (first.member_id, first.group_instance_id) == (leader, None)
        assert (second.member_id, second.group_instance_id) == (static, "i")
        assert (first.client_id, first.client_host) == ("client", "/127.0.0.1")
        assert (first.member_metadata, first.member_assignment) == (subscription("topic"), b"0")
        listed = world.group.as_listed_group()
        assert (listed.group_id, listed.protocol_type, listed.group_state, listed.group_type) == (
            GROUP,
            "consumer",
            "Stable",
            "classic",
        )
        assert world.group.is_in_states(["stable"]) and not world.group.is_in_states(["empty"])

    def test_no_metadata_while_it_rebalances(self) -> None:
        world = World()
        leader, _ = world.stable()
        world.join(leader)
        described = world.manager.describe(GROUP, 6)
        assert (described.group_state, described.protocol_data) == ("PreparingRebalance", "")
        assert described.members[0].member_metadata == b""
        assert described.members[0].member_assignment == b"0"

    def test_a_group_that_there_is_not(self) -> None:
        world = World()
        described = world.manager.describe("nothing", 6)
        assert described.error_code == ErrorCode.GROUP_ID_NOT_FOUND
        assert (described.error_message, described.group_state) == ("Group nothing not found.", "Dead")
        old = world.manager.describe("nothing", 5)
        assert (old.error_code, old.error_message, old.group_state) == (0, None, "Dead")


def test_the_store_knows_the_kinds_of_groups() -> None:
    store = GroupStore()
    with pytest.raises(ApiError, match="Group g not found") as missing:
        store.group("g")
    assert missing.value.code == ErrorCode.GROUP_ID_NOT_FOUND
    simple = store.get_or_create_simple_group("g")
    assert store.get_or_create_simple_group("g") is simple is store.group("g") is store.classic_group("g")
    assert isinstance(simple, ClassicGroup) and simple.is_simple_group and simple.is_empty
    with pytest.raises(ApiError, match="Group g is not a consumer group"):
        store.typed("g", _OtherGroup, "a consumer")
    store.remove("g")
    store.remove("g")
    assert store.get("g") is None and store.find_classic_group("g") is None


def test_a_group_with_an_id_given_out_is_simple_no_more() -> None:
    world = World()
    world.groups.get_or_create_simple_group(GROUP)
    world.join()
    assert not world.group.is_simple_group and not world.log


class _OtherGroup(ClassicGroup):
    """Stands for another kind."""
