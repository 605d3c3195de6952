"""ConsumerGroupHeartbeat and ConsumerGroupDescribe over the wire, in every version."""

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.uuid import Uuid
from ottla.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from ottla.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequestTopicPartitions
from tests.server.group_wire import GROUP_PROPERTIES, heartbeat, join_consumer_group, ready
from tests.server.test_group_admin_handlers import EVERYTHING, NOT_ASKED
from tests.server.wire import Wire, create_topic, eventually

_numbers = count()
MEMBER = "AAAAAAAAAAAAAAAAAAAAAQ"
JOIN: Mapping[str, Any] = {
    "member_id": MEMBER,
    "member_epoch": 0,
    "rebalance_timeout_ms": 10_000,
    "subscribed_topic_names": ["t"],
    "topic_partitions": [],
}


@pytest.fixture(scope="module")
def broker_properties() -> Mapping[str, str]:
    return {**GROUP_PROPERTIES, "group.consumer.heartbeat.interval.ms": "5500"}


@pytest.fixture
def group(wire: Wire) -> Iterator[str]:
    group_id = f"consumers-{next(_numbers)}"
    ready(wire, group_id)
    yield group_id


@pytest.fixture
def topic_id(wire: Wire, group: str, address: str, topic: str) -> Uuid:
    """A topic that the coordinator knows of, too."""
    found = create_topic(address, topic, partitions=2)
    for _ in eventually():
        probe = f"{group}-probe-{next(_numbers)}"
        ready(wire, probe)
        if join_consumer_group(wire, probe, "m", [topic]).assignment.topic_partitions:
            break
    return found


@pytest.mark.parametrize("version", [0, 1])
def test_a_member_joins_reads_and_leaves(wire: Wire, group: str, topic: str, topic_id: Uuid, version: int) -> None:
    fields = {**JOIN, "subscribed_topic_names": [topic], "member_id": "" if version == 0 else MEMBER}
    answer = heartbeat(wire, group, version, **fields)
    assert (answer.error_code, answer.error_message, answer.heartbeat_interval_ms) == (0, None, 5500)
    assert answer.member_id if version == 0 else answer.member_id == MEMBER
    assert answer.member_epoch > 0
    assert [(one.topic_id, sorted(one.partitions)) for one in answer.assignment.topic_partitions] == [
        (topic_id, [0, 1])
    ]
    identity = {"member_id": answer.member_id, "member_epoch": answer.member_epoch}
    owned = [ConsumerGroupHeartbeatRequestTopicPartitions(topic_id=topic_id, partitions=[0, 1])]
    again = heartbeat(wire, group, version, **identity, topic_partitions=owned)
    assert (again.error_code, again.member_epoch, again.assignment) == (0, answer.member_epoch, None)
    left = heartbeat(wire, group, version, member_id=answer.member_id, member_epoch=-1)
    assert (left.error_code, left.member_epoch) == (0, -1)
    assert heartbeat(wire, group, version, **identity).error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("version", "fields", "message"),
    [
        (1, {"member_id": ""}, "MemberId can't be empty."),
        (1, {"member_id": " \t"}, "MemberId can't be empty."),
        (0, {"member_id": "", "member_epoch": 1}, "MemberId can't be empty."),
        (0, {"member_id": "", "member_epoch": -1}, "MemberId can't be empty."),
        (1, {"group_id": ""}, "GroupId can't be empty."),
        (1, {"instance_id": ""}, "InstanceId can't be empty."),
        (1, {"rack_id": ""}, "RackId can't be empty."),
        (1, {"rebalance_timeout_ms": -1}, "RebalanceTimeoutMs must be provided in first request."),
        (1, {"topic_partitions": None}, "TopicPartitions must be empty when (re-)joining."),
        (
            1,
            {"topic_partitions": [ConsumerGroupHeartbeatRequestTopicPartitions()]},
            "TopicPartitions must be empty when (re-)joining.",
        ),
        (
            1,
            {"subscribed_topic_names": None},
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        ),
        (1, {"member_epoch": -2}, "InstanceId can't be null."),
        (1, {"member_epoch": -3}, "MemberEpoch is invalid."),
    ],
)
def test_heartbeats_that_no_member_sends(
    wire: Wire, group: str, version: int, fields: Mapping[str, Any], message: str
) -> None:
    answer = heartbeat(wire, version=version, **{"group_id": group, **JOIN, **fields})
    assert (answer.error_code, answer.error_message) == (ErrorCode.INVALID_REQUEST, message)
    assert (answer.member_id, answer.member_epoch, answer.heartbeat_interval_ms) == (None, 0, 0)


def test_an_assignor_that_is_not_offered(wire: Wire, group: str) -> None:
    answer = heartbeat(wire, group, **{**JOIN, "server_assignor": "sticky"})
    assert answer.error_code == ErrorCode.UNSUPPORTED_ASSIGNOR
    assert answer.error_message.startswith("ServerAssignor sticky is not supported. Supported assignors: ")


def test_heartbeats_that_the_group_refuses(wire: Wire, group: str, topic: str) -> None:
    assert heartbeat(wire, group, member_id=MEMBER, member_epoch=1).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    epoch = join_consumer_group(wire, group, MEMBER, [topic]).member_epoch
    assert heartbeat(wire, group, member_id="nobody", member_epoch=1).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    fenced = heartbeat(wire, group, member_id=MEMBER, member_epoch=epoch + 1)
    assert fenced.error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert fenced.error_message
    bad = heartbeat(wire, group, **{**JOIN, "subscribed_topic_names": None, "subscribed_topic_regex": "["})
    assert bad.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("wants_operations", [False, True])
def test_groups_are_described(
    wire: Wire, group: str, topic: str, topic_id: Uuid, version: int, wants_operations: bool
) -> None:
    joined = join_consumer_group(wire, group, MEMBER, [topic], instance_id="one", rack_id="r", server_assignor="range")
    nobodys = f"{group}-of-nobody"
    answer = wire.ask(
        ConsumerGroupDescribeRequest(group_ids=[group, nobodys, ""], include_authorized_operations=wants_operations),
        version,
    )
    found = {one.group_id: one for one in answer.groups}
    assert len(answer.groups) == 3
    described = found[group]
    assert (described.error_code, described.error_message) == (ErrorCode.NONE, None)
    assert (described.group_state, described.assignor_name) == ("Stable", "range")
    assert described.group_epoch == described.assignment_epoch == joined.member_epoch
    assert described.authorized_operations == (EVERYTHING if wants_operations else NOT_ASKED)
    (member,) = described.members
    assert (member.member_id, member.instance_id, member.rack_id) == (MEMBER, "one", "r")
    assert (member.member_epoch, member.client_id, member.client_host) == (joined.member_epoch, "wire", "/127.0.0.1")
    assert (list(member.subscribed_topic_names), member.subscribed_topic_regex or "") == ([topic], "")
    assert member.member_type == (1 if version >= 1 else -1)
    for assignment in (member.assignment, member.target_assignment):
        (one,) = assignment.topic_partitions
        assert (one.topic_id, one.topic_name, sorted(one.partitions)) == (topic_id, topic, [0, 1])
    assert found[nobodys].error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert found[nobodys].error_message == f"Group {nobodys} not found."
    assert found[""].error_code == ErrorCode.INVALID_GROUP_ID
