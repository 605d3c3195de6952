"""ListGroups, DescribeGroups and DeleteGroups over the wire, in every version."""

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

import pytest

from ottla.common.error_code import ErrorCode
from ottla.protocol.messages.delete_groups import DeleteGroupsRequest
from ottla.protocol.messages.describe_groups import DescribeGroupsRequest
from ottla.protocol.messages.list_groups import ListGroupsRequest
from tests.server.group_wire import (
    GROUP_PROPERTIES,
    ClassicMember,
    commit,
    fetch_request,
    join_consumer_group,
    offsets_in,
    ready,
)
from tests.server.wire import Wire, create_topic

_numbers = count()
NOT_ASKED = -(2**31)
READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS = 3, 6, 8, 10, 11
EVERYTHING = sum(1 << operation for operation in (READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS))


@pytest.fixture(scope="module")
def broker_properties() -> Mapping[str, str]:
    return GROUP_PROPERTIES


@pytest.fixture
def group(wire: Wire) -> Iterator[str]:
    group_id = f"admin-{next(_numbers)}"
    ready(wire, group_id)
    yield group_id


# -- listing ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def groups(wire: Wire, address: str, topic: str, group: str) -> list[str]:
    """A stable classic group, one that only has offsets, and a consumer group."""
    create_topic(address, topic)
    found = [f"{group}-stable", f"{group}-simple", f"{group}-consumer"]
    for each in found:
        ready(wire, each)
    ClassicMember(wire, found[0]).become_stable()
    assert commit(wire, found[1], {(topic, 0): 1}) == {(topic, 0): 0}
    assert join_consumer_group(wire, found[2], "m", [topic]).error_code == ErrorCode.NONE
    return found


def listed(wire: Wire, version: int, groups: list[str], **filters: Any) -> dict[str, tuple[str, str, str]]:
    answer = wire.ask(ListGroupsRequest(**filters), version)
    assert answer.error_code == ErrorCode.NONE
    return {
        one.group_id: (one.protocol_type, one.group_state, one.group_type)
        for one in answer.groups
        if one.group_id in groups
    }


@pytest.mark.parametrize("version", range(6))
def test_groups_are_listed(wire: Wire, groups: list[str], version: int) -> None:
    def expected(protocol_type: str, state: str, group_type: str) -> tuple[str, str, str]:
        return protocol_type, state if version >= 4 else "", group_type if version >= 5 else ""

    stable, simple, consumer = groups
    assert listed(wire, version, groups) == {
        stable: expected("consumer", "Stable", "classic"),
        simple: expected("", "Empty", "classic"),
        consumer: expected("consumer", "Stable", "consumer"),
    }


@pytest.mark.parametrize("version", [4, 5])
def test_groups_are_listed_by_state(wire: Wire, groups: list[str], version: int) -> None:
    stable, simple, consumer = groups
    assert listed(wire, version, groups, states_filter=["STABLE"]).keys() == {stable, consumer}
    assert listed(wire, version, groups, states_filter=["empty", "dead"]).keys() == {simple}
    assert listed(wire, version, groups, states_filter=["NoState"]).keys() == set()


def test_groups_are_listed_by_type(wire: Wire, groups: list[str]) -> None:
    stable, simple, consumer = groups
    assert listed(wire, 5, groups, types_filter=["Classic"]).keys() == {stable, simple}
    assert listed(wire, 5, groups, types_filter=["consumer"], states_filter=["stable"]).keys() == {consumer}
    assert listed(wire, 5, groups, types_filter=["share", "no-type"]).keys() == set()


# -- describing -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(7))
def test_a_stable_group_is_described(wire: Wire, group: str, version: int) -> None:
    member = ClassicMember(wire, group, instance_id="one")
    member.become_stable()
    (found,) = wire.ask(
        DescribeGroupsRequest(groups=[group], include_authorized_operations=version >= 3), version
    ).groups
    assert (found.error_code, found.error_message, found.group_id) == (ErrorCode.NONE, None, group)
    assert (found.group_state, found.protocol_type, found.protocol_data) == ("Stable", "consumer", "range")
    assert found.authorized_operations == (EVERYTHING if version >= 3 else NOT_ASKED)
    (described,) = found.members
    assert described.member_id == member.member_id
    assert described.group_instance_id == ("one" if version >= 4 else None)
    assert (described.client_id, described.client_host) == ("wire", "/127.0.0.1")
    assert (bytes(described.member_metadata), bytes(described.member_assignment)) == (b"\0\1", b"mine")


@pytest.mark.parametrize("version", range(7))
def test_groups_that_are_not_there(wire: Wire, group: str, version: int) -> None:
    nobodys = f"{group}-of-nobody"
    found = wire.ask(DescribeGroupsRequest(groups=[nobodys, ""]), version).groups
    assert sorted(one.group_id for one in found) == ["", nobodys]
    for one in found:
        assert one.group_state == "Dead"
        assert one.error_code == (ErrorCode.GROUP_ID_NOT_FOUND if version >= 6 else ErrorCode.NONE)
        assert one.error_message == (f"Group {one.group_id} not found." if version >= 6 else None)
        assert one.authorized_operations == NOT_ASKED


@pytest.mark.parametrize("version", [0, 5, 6])
def test_a_consumer_group_is_no_classic_one(wire: Wire, groups: list[str], version: int) -> None:
    (found,) = wire.ask(DescribeGroupsRequest(groups=groups[2:]), version).groups
    assert (found.group_state, list(found.members)) == ("Dead", [])
    assert found.error_code == (ErrorCode.GROUP_ID_NOT_FOUND if version >= 6 else ErrorCode.NONE)
    assert found.error_message == (f"Group {groups[2]} is not a classic group." if version >= 6 else None)


def test_a_group_that_rebalances_shows_no_assignment(wire: Wire, group: str) -> None:
    ClassicMember(wire, group).join()
    (found,) = wire.ask(DescribeGroupsRequest(groups=[group]), 5).groups
    assert (found.group_state, found.protocol_data) == ("CompletingRebalance", "")
    (described,) = found.members
    assert (bytes(described.member_metadata), bytes(described.member_assignment)) == (b"", b"")


# -- deleting ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(3))
def test_groups_are_deleted(wire: Wire, groups: list[str], topic: str, version: int) -> None:
    stable, simple, consumer = groups
    names = [stable, simple, consumer, simple, f"{simple}-of-nobody", ""]
    answer = wire.ask(DeleteGroupsRequest(groups_names=names), version)
    assert sorted((one.group_id, one.error_code) for one in answer.results) == sorted(
        [
            (stable, ErrorCode.NON_EMPTY_GROUP),
            (simple, ErrorCode.NONE),
            (consumer, ErrorCode.NON_EMPTY_GROUP),
            (f"{simple}-of-nobody", ErrorCode.GROUP_ID_NOT_FOUND),
            ("", ErrorCode.GROUP_ID_NOT_FOUND),
        ]
    )
    assert listed(wire, 5, groups).keys() == {stable, consumer}
    assert offsets_in(wire.ask(fetch_request(simple, {topic: [0]}, 7), 7).topics) == {(topic, 0): (-1, 0)}
