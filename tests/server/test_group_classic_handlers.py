"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup over the wire, in every version."""

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any

import pytest

from ottla.common.error_code import ErrorCode
from ottla.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tests.server.group_wire import GROUP_PROPERTIES, ClassicMember, ready
from tests.server.wire import Wire

_numbers = count()


@pytest.fixture(scope="module")
def broker_properties() -> Mapping[str, str]:
    return {**GROUP_PROPERTIES, "group.min.session.timeout.ms": "6000", "group.max.session.timeout.ms": "60000"}


@pytest.fixture
def group(wire: Wire) -> Iterator[str]:
    group_id = f"classic-{next(_numbers)}"
    ready(wire, group_id)
    yield group_id


# -- joining ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(10))
def test_a_member_joins_alone_and_leads(wire: Wire, group: str, version: int) -> None:
    member = ClassicMember(wire, group, version)
    answer = member.join()
    assert (answer.error_code, answer.generation_id) == (ErrorCode.NONE, 1)
    assert answer.leader == answer.member_id == member.member_id
    assert member.member_id.startswith("wire-")
    assert answer.protocol_name == "range"
    assert answer.protocol_type == ("consumer" if version >= 7 else None)
    assert not answer.skip_assignment
    (itself,) = answer.members
    assert (itself.member_id, bytes(itself.metadata)) == (member.member_id, b"\0\1")


@pytest.mark.parametrize("version", range(4, 10))
def test_a_new_member_first_gets_an_id(wire: Wire, group: str, version: int) -> None:
    member = ClassicMember(wire, group, version)
    answer = wire.ask(member.join_request(), version)
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert answer.member_id
    assert answer.generation_id == -1
    assert answer.protocol_name is None if version >= 7 else answer.protocol_name == ""


@pytest.mark.parametrize("version", range(5, 10))
def test_a_static_member_joins_at_once(wire: Wire, group: str, version: int) -> None:
    answer = ClassicMember(wire, group, version, instance_id="one").join()
    assert answer.error_code == ErrorCode.NONE
    assert answer.member_id.startswith("one-")
    assert [member.group_instance_id for member in answer.members] == ["one"]


@pytest.mark.parametrize("version", range(10))
@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"session_timeout_ms": 5_999}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": 60_001}, ErrorCode.INVALID_SESSION_TIMEOUT),
    ],
)
def test_joins_that_are_refused_at_the_door(
    wire: Wire, group: str, version: int, fields: Mapping[str, Any], code: int
) -> None:
    member = ClassicMember(wire, group, version)
    member.member_id = "somebody"
    answer = wire.ask(member.join_request(**fields), version)
    assert (answer.error_code, answer.member_id, answer.generation_id) == (code, "somebody", -1)
    assert answer.protocol_name is None if version >= 7 else answer.protocol_name == ""


@pytest.mark.parametrize("version", [0, 6, 7, 9])
def test_joins_that_the_group_refuses(wire: Wire, group: str, version: int) -> None:
    stranger = ClassicMember(wire, group, version)
    stranger.member_id = "nobody"
    assert stranger.join().error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert ClassicMember(wire, group, version).join(protocols=[]).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    ClassicMember(wire, group, version).become_stable()
    other = ClassicMember(wire, group, version)
    assert other.join(protocol_type="connect").error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_version_0_waits_for_members_as_long_as_their_sessions_last(
    wire: Wire, group: str, connect: Callable[[], Wire]
) -> None:
    first = ClassicMember(wire, group, 0)
    first.become_stable()
    second = ClassicMember(connect(), group, 0)
    second.wire.send(second.join_request(), 0)
    while first.heartbeat() != ErrorCode.REBALANCE_IN_PROGRESS:
        pass
    assert first.join().generation_id == 2
    assert second.wire.receive(second.join_request(), 0).error_code == ErrorCode.NONE


# -- syncing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(6))
def test_the_leader_tells_who_reads_what(wire: Wire, group: str, version: int) -> None:
    member = ClassicMember(wire, group)
    member.join()
    answer = member.sync(version, {member.member_id: b"mine"})
    assert (answer.error_code, bytes(answer.assignment)) == (ErrorCode.NONE, b"mine")
    expected = ("consumer", "range") if version >= 5 else (None, None)
    assert (answer.protocol_type, answer.protocol_name) == expected


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"generation_id": 9}, ErrorCode.ILLEGAL_GENERATION),
    ],
)
def test_syncs_that_are_refused(wire: Wire, group: str, version: int, fields: Mapping[str, Any], code: int) -> None:
    member = ClassicMember(wire, group)
    member.join()
    answer = member.sync(version, **fields)
    assert (answer.error_code, bytes(answer.assignment)) == (code, b"")


@pytest.mark.parametrize(
    "fields", [{"protocol_type": None}, {"protocol_name": None}, {"protocol_type": "connect"}, {"protocol_name": "x"}]
)
def test_from_version_5_on_the_protocol_must_be_the_groups(wire: Wire, group: str, fields: Mapping[str, Any]) -> None:
    member = ClassicMember(wire, group)
    member.join()
    assert member.sync(5, **fields).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert member.sync(4, {member.member_id: b""}, **fields).error_code == ErrorCode.NONE


# -- staying ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(5))
def test_heartbeats(wire: Wire, group: str, version: int) -> None:
    member = ClassicMember(wire, group)
    member.become_stable()
    assert member.heartbeat(version) == ErrorCode.NONE
    assert member.heartbeat(version, group_id="") == ErrorCode.INVALID_GROUP_ID
    assert member.heartbeat(version, member_id="nobody") == ErrorCode.UNKNOWN_MEMBER_ID
    assert member.heartbeat(version, generation_id=9) == ErrorCode.ILLEGAL_GENERATION
    assert member.heartbeat(version, group_id=f"{group}-of-nobody") == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", [3, 4])
def test_a_static_member_that_came_back_fences_the_old_one(wire: Wire, group: str, version: int) -> None:
    old = ClassicMember(wire, group, instance_id="one")
    old.become_stable()
    new = ClassicMember(wire, group, instance_id="one")
    assert new.join().error_code == ErrorCode.NONE
    assert old.heartbeat(version) == ErrorCode.FENCED_INSTANCE_ID


# -- leaving ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(3))
def test_one_member_leaves(wire: Wire, group: str, version: int) -> None:
    member = ClassicMember(wire, group)
    member.become_stable()
    assert member.leave(version).error_code == ErrorCode.NONE
    assert member.leave(version).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    member.group_id = f"{group}-of-nobody"
    assert member.leave(version).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    member.group_id = ""
    assert member.leave(version).error_code == ErrorCode.INVALID_GROUP_ID


@pytest.mark.parametrize("version", range(3, 6))
def test_many_members_leave(wire: Wire, group: str, version: int) -> None:
    member = ClassicMember(wire, group, instance_id="one")
    member.become_stable()

    def leave(group_id: str) -> tuple[int, list[tuple[str, str | None, int]]]:
        members = [
            MemberIdentity(group_instance_id="one", reason="for no reason"),
            MemberIdentity(member_id="nobody"),
            MemberIdentity(group_instance_id="two"),
        ]
        answer = wire.ask(LeaveGroupRequest(group_id=group_id, members=members), version)
        return answer.error_code, [(one.member_id, one.group_instance_id, one.error_code) for one in answer.members]

    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert leave(group) == (0, [("", "one", 0), ("nobody", None, unknown), ("", "two", unknown)])
    assert leave(f"{group}-of-nobody") == (0, [("", "one", unknown), ("nobody", None, unknown), ("", "two", unknown)])
    assert leave("") == (ErrorCode.INVALID_GROUP_ID, [])
