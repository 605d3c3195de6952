"""The service: which shard is asked, what is refused at the door, and what clients are told of refusals."""

from collections.abc import Callable
from typing import Any

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.common.internal_topics import GROUP_METADATA_TOPIC
from ottla.common.topic_partition import TopicPartition
from ottla.coordinator.java_hash import partition_for
from ottla.group.coordinator import GroupCoordinator
from ottla.log.verification import VerificationGuard
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from ottla.protocol.messages.list_groups import ListGroupsRequest
from ottla.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from ottla.runtime.completion import Completion
from tests.group.service_requests import (
    GROUP,
    commit_request,
    consumer_heartbeat_request,
    delete_offsets_request,
    fetch_request,
    join_request,
    leave_request,
    txn_commit_request,
)
from tests.group.service_world import ServiceWorld, context


def partition_code(response: Any) -> int:
    (((code,),),) = [[[one.error_code for one in topic.partitions] for topic in response.topics]]
    return int(code)


Ask = Callable[[GroupCoordinator, str], Completion[Any]]

APIS: dict[str, tuple[Ask, Callable[[Any], int]]] = {
    "join": (lambda it, id_: it.join_group(context(9), join_request(group_id=id_)), lambda one: one.error_code),
    "sync": (lambda it, id_: it.sync_group(SyncGroupRequest(group_id=id_)), lambda one: one.error_code),
    "heartbeat": (lambda it, id_: it.heartbeat(HeartbeatRequest(group_id=id_)), lambda one: one.error_code),
    "leave": (lambda it, id_: it.leave_group(leave_request(id_)), lambda one: one.error_code),
    "consumer-heartbeat": (
        lambda it, id_: it.consumer_group_heartbeat(context(1), consumer_heartbeat_request(group_id=id_)),
        lambda one: one.error_code,
    ),
    "describe": (lambda it, id_: it.describe_groups(context(6), [id_]), lambda one: one[0].error_code),
    "consumer-describe": (lambda it, id_: it.consumer_group_describe(context(1), [id_]), lambda one: one[0].error_code),
    "delete": (lambda it, id_: it.delete_groups([id_]), lambda one: one[0].error_code),
    "commit": (lambda it, id_: it.commit_offsets(context(9), commit_request(id_)), partition_code),
    "fetch": (
        lambda it, id_: it.fetch_offsets(context(9), fetch_request(id_), require_stable=False),
        lambda one: one.error_code,
    ),
    "old-fetch": (
        lambda it, id_: it.fetch_offsets(context(1), fetch_request(id_), require_stable=False),
        partition_code,
    ),
    "delete-offsets": (
        lambda it, id_: it.delete_offsets(delete_offsets_request(id_)),
        lambda one: one.error_code,
    ),
}
"""How to ask, and where the error stands in the answer."""


@pytest.mark.parametrize("api", APIS)
def test_a_coordinator_that_is_not_at_work_says_so(api: str) -> None:
    world = ServiceWorld()
    world.coordinator.shutdown()
    ask, code = APIS[api]
    answered = code(ask(world.coordinator, GROUP).result())
    is_fetch = "fetch" in api  # old consumers do not know what to do with the other
    assert answered == (ErrorCode.NOT_COORDINATOR if is_fetch else ErrorCode.COORDINATOR_NOT_AVAILABLE)
    with pytest.raises(ApiError, match="not available"):
        world.coordinator.partition_for(GROUP)


@pytest.mark.parametrize("api", APIS)
def test_a_coordinator_that_is_elsewhere_says_so(api: str) -> None:
    world = ServiceWorld()
    for index in range(3):
        world.coordinator.on_resignation(index, 2)
    ask, code = APIS[api]
    assert code(ask(world.coordinator, GROUP).result()) == ErrorCode.NOT_COORDINATOR


@pytest.mark.parametrize("api", APIS)
def test_while_a_partition_is_loaded_members_are_told_to_go_on_and_all_others_to_wait(api: str) -> None:
    world = ServiceWorld(loaded=False)
    ask, code = APIS[api]
    expected = ErrorCode.NONE if api == "heartbeat" else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert code(ask(world.coordinator, GROUP).result()) == expected
    world.load()
    assert code(ask(world.coordinator, GROUP).result()) != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


REFUSALS = {
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("api", ["commit", "consumer-heartbeat"])
def test_a_partition_that_refuses(api: str, refusal: ErrorCode) -> None:
    world = ServiceWorld(partitions=1)
    world.partitions.all[0].refusal = ApiError(refusal, "no")
    ask, code = APIS[api]
    assert code(ask(world.coordinator, GROUP).result()) == REFUSALS[refusal]
    assert world.shards[TopicPartition(GROUP_METADATA_TOPIC, 0)].num_offsets == 0


def test_a_join_whose_record_is_refused_is_answered_once() -> None:
    world = ServiceWorld(partitions=1)
    world.partitions.all[0].refusal = ApiError(ErrorCode.NOT_ENOUGH_REPLICAS)
    answer = world.coordinator.join_group(context(3), join_request())
    assert answer.result().error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.advance(600_000)  # whatever the group still has to say to the member


def test_an_offset_fetch_that_waits_for_a_commit_which_does_not_come_looks_for_the_coordinator_again() -> None:
    world = ServiceWorld(partitions=1, autocommit=False)
    commit = world.coordinator.commit_offsets(context(9), commit_request())
    fetch = world.coordinator.fetch_offsets(context(9), fetch_request(), require_stable=True)
    assert not commit.is_done
    assert not fetch.is_done
    world.partitions.all[0].give_up(ApiError(ErrorCode.REQUEST_TIMED_OUT))
    assert partition_code(commit.result()) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert fetch.result().error_code == ErrorCode.NOT_COORDINATOR


# -- at the door ------------------------------------------------------------------------------------------------------

EMPTY_ID = {
    **dict.fromkeys(("join", "sync", "heartbeat", "leave", "consumer-describe"), ErrorCode.INVALID_GROUP_ID),
    "delete-offsets": ErrorCode.INVALID_GROUP_ID,
    "consumer-heartbeat": ErrorCode.INVALID_REQUEST,
    **dict.fromkeys(("describe", "delete"), ErrorCode.GROUP_ID_NOT_FOUND),
    **dict.fromkeys(("commit", "fetch", "old-fetch"), ErrorCode.NONE),
}


@pytest.mark.parametrize("api", APIS)
def test_the_empty_group_id(api: str) -> None:
    ask, code = APIS[api]
    assert code(ask(ServiceWorld().coordinator, "").result()) == EMPTY_ID[api]


@pytest.mark.parametrize(("session_timeout_ms", "is_allowed"), [(99, False), (100, True), (200, True), (201, False)])
def test_the_bounds_of_session_timeouts(session_timeout_ms: int, is_allowed: bool) -> None:
    world = ServiceWorld(group_min_session_timeout_ms=100, group_max_session_timeout_ms=200)
    request = join_request(session_timeout_ms=session_timeout_ms, member_id="")
    answer = world.coordinator.join_group(context(3), request)
    world.advance(0)
    assert answer.result().error_code == (ErrorCode.NONE if is_allowed else ErrorCode.INVALID_SESSION_TIMEOUT)


def test_a_group_that_nobody_knows_has_no_members_to_leave() -> None:
    answer = ServiceWorld().coordinator.leave_group(leave_request()).result()
    assert answer.error_code == ErrorCode.NONE
    (member,) = answer.members
    assert (member.member_id, member.group_instance_id) == ("m", "i")
    assert member.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_what_a_heartbeat_gets_wrong_is_told_in_words() -> None:
    request = consumer_heartbeat_request(server_assignor="sticky")
    answer = ServiceWorld().coordinator.consumer_group_heartbeat(context(1), request).result()
    assert answer.error_code == ErrorCode.UNSUPPORTED_ASSIGNOR
    assert answer.error_message == ("ServerAssignor sticky is not supported. Supported assignors: uniform, range.")


# -- shards -----------------------------------------------------------------------------------------------------------


def test_a_group_lives_on_the_partition_of_its_hash() -> None:
    world = ServiceWorld()
    group_ids = [f"group-{number}" for number in range(20)]
    for group_id in group_ids:
        world.coordinator.commit_offsets(context(9), commit_request(group_id))
        assert world.coordinator.partition_for(group_id) == partition_for(group_id, 3)
    for topic_partition, shard in world.shards.items():
        expected = [one for one in group_ids if partition_for(one, 3) == topic_partition.partition]
        assert [group.group_id for group in shard.all_groups] == expected
        assert expected


def test_many_groups_at_once() -> None:
    world = ServiceWorld()
    group_ids = [f"group-{number}" for number in range(20)]
    for group_id in group_ids:
        world.coordinator.commit_offsets(context(9), commit_request(group_id))
    asked = [*group_ids, "nobody"]
    described = world.coordinator.describe_groups(context(6), asked).result()
    assert sorted(one.group_id for one in described) == sorted(asked)
    listed = world.coordinator.list_groups(context(5), ListGroupsRequest()).result()
    assert sorted(one.group_id for one in listed.groups) == sorted(group_ids)
    deleted = world.coordinator.delete_groups(asked).result()
    missing = ErrorCode.GROUP_ID_NOT_FOUND
    assert {one.group_id: one.error_code for one in deleted} == {**dict.fromkeys(group_ids, 0), "nobody": missing}
    assert not any(shard.num_offsets for shard in world.shards.values())
    assert world.coordinator.delete_groups([]).result() == []


def test_each_partition_answers_for_its_own_groups() -> None:
    world = ServiceWorld()
    group_ids = [f"group-{number}" for number in range(20)]
    for group_id in group_ids:
        world.coordinator.commit_offsets(context(9), commit_request(group_id))
    world.coordinator.on_resignation(0, 2)
    deleted = world.coordinator.delete_groups(group_ids).result()
    for one in deleted:
        is_gone = partition_for(one.group_id, 3) == 0
        assert one.error_code == (ErrorCode.NOT_COORDINATOR if is_gone else ErrorCode.NONE)


def test_groups_are_not_listed_while_some_are_being_loaded() -> None:
    world = ServiceWorld()
    world.coordinator.commit_offsets(context(9), commit_request())
    world.coordinator.on_resignation(0, 2)
    world.coordinator.on_election(0, 3)
    answer = world.coordinator.list_groups(context(5), ListGroupsRequest()).result()
    assert (answer.error_code, list(answer.groups)) == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, [])
    world.load()
    answer = world.coordinator.list_groups(context(5), ListGroupsRequest()).result()
    assert [one.group_id for one in answer.groups] == [GROUP]


def test_groups_of_partitions_that_moved_away_are_not_listed() -> None:
    world = ServiceWorld(autocommit=False)
    for number in range(20):
        world.coordinator.commit_offsets(context(9), commit_request(f"group-{number}"))
    listing = world.coordinator.list_groups(context(5), ListGroupsRequest())
    world.coordinator.on_resignation(0, 2)
    for partition in world.partitions.all[1:]:
        partition.commit(partition.end_offset)
    answer = listing.result()
    assert answer.error_code == ErrorCode.NONE
    expected = [f"group-{number}" for number in range(20) if partition_for(f"group-{number}", 3) != 0]
    assert sorted(one.group_id for one in answer.groups) == sorted(expected)


def test_offsets_are_committed_fetched_and_forgotten() -> None:
    world = ServiceWorld()
    coordinator = world.coordinator
    assert partition_code(coordinator.commit_offsets(context(9), commit_request()).result()) == 0
    for every in (False, True):
        answer = coordinator.fetch_offsets(context(9), fetch_request(every=every), require_stable=every).result()
        ((one,),) = [topic.partitions for topic in answer.topics]
        assert (one.partition_index, one.committed_offset) == (0, 5)
    coordinator.delete_offsets(delete_offsets_request())
    assert not any(shard.num_offsets for shard in world.shards.values())


def test_the_offsets_of_deleted_topics_go() -> None:
    world = ServiceWorld()
    world.coordinator.commit_offsets(context(9), commit_request())
    world.delete_topic()
    assert not any(shard.num_offsets for shard in world.shards.values())


def test_a_classic_group_from_its_first_member_to_its_last() -> None:
    world = ServiceWorld()
    coordinator = world.coordinator
    joining = coordinator.join_group(context(3), join_request())
    world.advance(0)
    joined = joining.result()
    identity: dict[str, Any] = {"group_id": GROUP, "generation_id": 1, "member_id": joined.member_id}
    assignment = SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"a")
    synced = coordinator.sync_group(SyncGroupRequest(**identity, assignments=[assignment])).result()
    assert synced.assignment == b"a"
    assert coordinator.heartbeat(HeartbeatRequest(**identity)).result().error_code == ErrorCode.NONE
    second = coordinator.join_group(context(3), join_request())
    assert not second.is_done
    rebalancing = coordinator.heartbeat(HeartbeatRequest(**identity)).result()
    assert rebalancing.error_code == ErrorCode.REBALANCE_IN_PROGRESS
    for index in range(3):
        coordinator.on_resignation(index, 2)
    assert second.result().error_code == ErrorCode.NOT_COORDINATOR


# -- transactions -----------------------------------------------------------------------------------------------------


def test_transactional_offsets_count_when_the_transaction_does() -> None:
    world = ServiceWorld()
    partition = TopicPartition(GROUP_METADATA_TOPIC, partition_for(GROUP, 3))
    answer = world.coordinator.commit_transactional_offsets(context(5), txn_commit_request())
    assert not answer.is_done
    assert world.verifier.asked == [(partition, "t", 7, 1, 5)]
    guard = VerificationGuard()
    world.verifier.answers[0].complete(guard)
    assert partition_code(answer.result()) == ErrorCode.NONE
    assert world.partitions.guards == [guard]
    fetch = world.coordinator.fetch_offsets(context(9), fetch_request(), require_stable=True)
    assert partition_code(fetch.result()) == ErrorCode.UNSTABLE_OFFSET_COMMIT
    world.coordinator.complete_transaction(partition, 7, 1, 0, committed=True, transaction_version=2).result()
    assert world.shards[partition].num_offsets == 1
    fetch = world.coordinator.fetch_offsets(context(9), fetch_request(), require_stable=True)
    assert partition_code(fetch.result()) == ErrorCode.NONE


@pytest.mark.parametrize(
    ("refusal", "told"),
    [
        (ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.NETWORK_EXCEPTION, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ],
)
def test_a_transaction_that_may_not_write(refusal: ErrorCode, told: ErrorCode) -> None:
    world = ServiceWorld()
    answer = world.coordinator.commit_transactional_offsets(context(5), txn_commit_request())
    world.verifier.answers[0].fail(ApiError(refusal))
    assert partition_code(answer.result()) == told
    assert not world.partitions.guards


def test_transactional_offsets_that_are_refused_before_anybody_is_asked() -> None:
    world = ServiceWorld()
    answer = world.coordinator.commit_transactional_offsets(context(5), txn_commit_request("")).result()
    assert partition_code(answer) == ErrorCode.INVALID_GROUP_ID
    world.coordinator.shutdown()
    answer = world.coordinator.commit_transactional_offsets(context(5), txn_commit_request()).result()
    assert partition_code(answer) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert not world.verifier.asked


def test_a_transaction_cannot_be_completed_elsewhere() -> None:
    world = ServiceWorld()
    world.coordinator.on_resignation(0, 2)
    partition = TopicPartition(GROUP_METADATA_TOPIC, 0)
    done = world.coordinator.complete_transaction(partition, 7, 1, 0, committed=False, transaction_version=2)
    assert done.error is not None
    assert done.error.code == ErrorCode.NOT_COORDINATOR
