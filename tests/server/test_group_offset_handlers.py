"""OffsetCommit, OffsetFetch and OffsetDelete over the wire, in every version."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.uuid import Uuid
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest
from ottla.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest
from tests.server.group_wire import (
    GROUP_PROPERTIES,
    ClassicMember,
    commit,
    fetch_group,
    fetch_request,
    join_consumer_group,
    offsets_in,
    ready,
)
from tests.server.wire import BOUND_S, Wire, create_topic, eventually

_numbers = count()
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
NOBODYS_ID = Uuid(bytes(range(16)))


@pytest.fixture(scope="module")
def broker_properties() -> Mapping[str, str]:
    return {**GROUP_PROPERTIES, "offset.metadata.max.bytes": "10"}


@pytest.fixture
def group(wire: Wire) -> Iterator[str]:
    group_id = f"offsets-{next(_numbers)}"
    ready(wire, group_id)
    yield group_id


@pytest.fixture
def topic_id(address: str, topic: str) -> Uuid:
    return create_topic(address, topic, partitions=2)


# -- committing -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(2, 10))
def test_commits_by_name(wire: Wire, group: str, topic: str, topic_id: Uuid, version: int) -> None:
    assert topic_id
    nobodys: tuple[str | Uuid, int] = (f"{topic}-of-nobody", 0)
    wanted = {(topic, 0): 5, (topic, 7): 1, nobodys: 1, (topic, 1): 6}
    answered = commit(wire, group, wanted, version)
    assert answered == {(topic, 0): 0, (topic, 1): 0, (topic, 7): UNKNOWN, nobodys: UNKNOWN}
    found = wire.ask(fetch_request(group, {topic: [0, 1, 7]}, 5), 5)
    assert offsets_in(found.topics) == {(topic, 0): (5, 0), (topic, 1): (6, 0), (topic, 7): (-1, 0)}


def test_commits_by_id(wire: Wire, group: str, topic: str, topic_id: Uuid) -> None:
    answered = commit(wire, group, {(topic_id, 0): 5, (NOBODYS_ID, 0): 1, (topic_id, 9): 1}, 10)
    assert answered == {(topic_id, 0): 0, (topic_id, 9): UNKNOWN, (NOBODYS_ID, 0): ErrorCode.UNKNOWN_TOPIC_ID}
    found = wire.ask(fetch_request(group, {topic: [0]}, 5), 5)
    assert offsets_in(found.topics) == {(topic, 0): (5, 0)}


@pytest.mark.parametrize("version", range(2, 11))
def test_commits_of_one_offset(wire: Wire, group: str, topic: str, topic_id: Uuid, version: int) -> None:
    known: str | Uuid = topic_id if version >= 10 else topic
    assert commit(wire, group, {(known, 1): 5}, version, metadata="kept") == {(known, 1): 0}
    assert commit(wire, group, {(known, 9): 5}, version) == {(known, 9): UNKNOWN}
    unknown, code = (NOBODYS_ID, ErrorCode.UNKNOWN_TOPIC_ID) if version >= 10 else (f"{topic}-of-nobody", UNKNOWN)
    assert commit(wire, group, {(unknown, 0): 5}, version) == {(unknown, 0): code}
    (found,) = wire.ask(fetch_request(group, {topic: [1]}, 5), 5).topics
    assert [(one.committed_offset, one.metadata) for one in found.partitions] == [(5, "kept")]


@pytest.mark.parametrize("version", [2, 9])
def test_nothing_to_commit(wire: Wire, group: str, topic: str, version: int) -> None:
    assert commit(wire, group, {}, version) == {}
    assert commit(wire, group, {(topic, 0): 1}, version) == {(topic, 0): UNKNOWN}


@pytest.mark.parametrize("version", [2, 9])
def test_metadata_has_a_bound(wire: Wire, group: str, topic: str, topic_id: Uuid, version: int) -> None:
    assert topic_id
    assert commit(wire, group, {(topic, 0): 1}, version, metadata="0123456789") == {(topic, 0): 0}
    too_large = ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert commit(wire, group, {(topic, 0): 2}, version, metadata="0123456789a") == {(topic, 0): too_large}
    assert commit(wire, group, {(topic, 1): 3}, version, metadata=None) == {(topic, 1): 0}
    (found,) = wire.ask(fetch_request(group, {topic: [0, 1]}, 3), 3).topics
    assert [(one.committed_offset, one.metadata) for one in found.partitions] == [(1, "0123456789"), (3, "")]


@pytest.mark.parametrize("version", range(2, 10))
def test_only_members_commit_for_a_group_that_has_some(
    wire: Wire, group: str, topic: str, topic_id: Uuid, version: int
) -> None:
    assert topic_id
    member = ClassicMember(wire, group)
    member.become_stable()

    def code(member_id: str, generation_id: int) -> int:
        offsets: Mapping[tuple[str | Uuid, int], int] = {(topic, 0): 5}
        (answer,) = commit(
            wire, group, offsets, version, member_id=member_id, generation_id_or_member_epoch=generation_id
        ).values()
        return answer

    assert code(member.member_id, member.generation_id) == ErrorCode.NONE
    assert code("nobody", member.generation_id) == ErrorCode.UNKNOWN_MEMBER_ID
    assert code(member.member_id, member.generation_id + 1) == ErrorCode.ILLEGAL_GENERATION
    assert code("", -1) == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", [2, 9])
def test_a_generation_that_nobody_knows(wire: Wire, group: str, topic: str, topic_id: Uuid, version: int) -> None:
    assert topic_id
    answered = commit(
        wire, f"{group}-of-nobody", {(topic, 0): 1}, version, member_id="m", generation_id_or_member_epoch=3
    )
    expected = ErrorCode.GROUP_ID_NOT_FOUND if version >= 9 else ErrorCode.ILLEGAL_GENERATION
    assert answered == {(topic, 0): expected}


def test_the_empty_group_may_commit(wire: Wire, group: str, topic: str, topic_id: Uuid) -> None:
    assert group
    assert topic_id
    ready(wire, "")
    assert commit(wire, "", {(topic, 0): 3}) == {(topic, 0): 0}
    assert offsets_in(wire.ask(fetch_request("", {topic: [0]}, 2), 2).topics) == {(topic, 0): (3, 0)}


# -- fetching ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(1, 8))
@pytest.mark.parametrize("require_stable", [False, True])
def test_fetches_of_one_group(
    wire: Wire, group: str, topic: str, topic_id: Uuid, version: int, require_stable: bool
) -> None:
    assert topic_id
    commit(wire, group, {(topic, 1): 5})
    wanted: Mapping[str | Uuid, Sequence[int]] = {topic: [0, 1], f"{topic}-of-nobody": [3]}
    answer = wire.ask(fetch_request(group, wanted, version, require_stable=require_stable and version >= 7), version)
    assert answer.error_code == ErrorCode.NONE
    expected = {(topic, 0): (-1, 0), (topic, 1): (5, 0), (f"{topic}-of-nobody", 3): (-1, 0)}
    assert offsets_in(answer.topics) == expected
    if version >= 2:
        every = wire.ask(fetch_request(group, None, version), version)
        assert offsets_in(every.topics) == {(topic, 1): (5, 0)}
    nothing = wire.ask(fetch_request(group, {}, version), version)
    assert (nothing.error_code, list(nothing.topics)) == (0, [])


@pytest.mark.parametrize("version", [8, 9])
def test_fetches_of_many_groups(wire: Wire, group: str, topic: str, topic_id: Uuid, version: int) -> None:
    assert topic_id
    commit(wire, group, {(topic, 1): 5})
    groups = [
        fetch_group(group, {topic: [0, 1]}),
        fetch_group(group, None),
        fetch_group(f"{group}-of-nobody", {topic: [0]}),
        fetch_group(f"{group}-of-nobody", None),
    ]
    answers = wire.ask(OffsetFetchRequest(groups=groups), version).groups
    assert [(one.group_id, one.error_code) for one in answers] == [(one.group_id, 0) for one in groups]
    assert [offsets_in(one.topics) for one in answers] == [
        {(topic, 0): (-1, 0), (topic, 1): (5, 0)},
        {(topic, 1): (5, 0)},
        {(topic, 0): (-1, 0)},
        {},
    ]


def test_fetches_by_id(wire: Wire, group: str, topic_id: Uuid) -> None:
    commit(wire, group, {(topic_id, 1): 5}, 10)
    groups = [fetch_group(group, {topic_id: [0, 1], NOBODYS_ID: [2]}), fetch_group(group, None)]
    some, every = wire.ask(OffsetFetchRequest(groups=groups), 10).groups
    assert offsets_in(some.topics, by_id=True) == {
        (topic_id, 0): (-1, 0),
        (topic_id, 1): (5, 0),
        (NOBODYS_ID, 2): (-1, ErrorCode.UNKNOWN_TOPIC_ID),
    }
    assert offsets_in(every.topics, by_id=True) == {(topic_id, 1): (5, 0)}


@pytest.mark.parametrize("version", [9, 10])
def test_who_says_that_it_is_a_member_must_be_one(
    wire: Wire, group: str, topic: str, topic_id: Uuid, version: int
) -> None:
    name: str | Uuid = topic if version < 10 else topic_id
    epoch = join_consumer_group(wire, group, "m", [topic]).member_epoch
    claims = [("m", epoch), ("m", epoch + 1), ("nobody", epoch), (None, -1)]
    groups = [
        fetch_group(group, {name: [0]}, member_id=member_id, member_epoch=member_epoch)
        for member_id, member_epoch in claims
    ]
    answers = wire.ask(OffsetFetchRequest(groups=groups), version).groups
    expected = [ErrorCode.NONE, ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE]
    assert [one.error_code for one in answers] == expected
    assert [len(one.topics) for one in answers] == [1, 0, 0, 1]


# -- deleting ---------------------------------------------------------------------------------------------------------


def delete(
    wire: Wire, group_id: str, partitions: Mapping[str, Sequence[int]]
) -> tuple[int, dict[tuple[str, int], int]]:
    request = OffsetDeleteRequest(
        group_id=group_id,
        topics=[
            OffsetDeleteRequestTopic(
                name=name, partitions=[OffsetDeleteRequestPartition(partition_index=index) for index in indexes]
            )
            for name, indexes in partitions.items()
        ],
    )
    answer = wire.ask(request, 0)
    return answer.error_code, {
        (topic.name, one.partition_index): one.error_code for topic in answer.topics for one in topic.partitions
    }


def test_deletes(wire: Wire, group: str, topic: str, topic_id: Uuid) -> None:
    assert topic_id
    commit(wire, group, {(topic, 0): 1, (topic, 1): 2})
    wanted = {topic: [0, 9], f"{topic}-of-nobody": [0]}
    assert delete(wire, group, wanted) == (0, {(topic, 0): 0, (topic, 9): UNKNOWN, (f"{topic}-of-nobody", 0): UNKNOWN})
    assert offsets_in(wire.ask(fetch_request(group, None, 7), 7).topics) == {(topic, 1): (2, 0)}
    assert delete(wire, group, {topic: [0]}) == (0, {(topic, 0): 0})  # once more


def test_deletes_that_are_refused(wire: Wire, group: str, topic: str, topic_id: Uuid) -> None:
    assert topic_id
    assert delete(wire, "", {topic: [0]}) == (ErrorCode.INVALID_GROUP_ID, {})
    assert delete(wire, f"{group}-of-nobody", {topic: [0, 9]}) == (ErrorCode.GROUP_ID_NOT_FOUND, {})
    ClassicMember(wire, group).join(protocol_type="connect")
    assert delete(wire, group, {topic: [0]}) == (ErrorCode.NON_EMPTY_GROUP, {})


def test_the_offsets_of_a_deleted_topic_go(wire: Wire, group: str, topic: str, topic_id: Uuid) -> None:
    assert topic_id
    commit(wire, group, {(topic, 0): 1})
    (deleted,) = wire.ask(DeleteTopicsRequest(topic_names=[topic], timeout_ms=BOUND_S * 1000), 5).responses
    assert deleted.error_code == ErrorCode.NONE
    for _ in eventually():
        if not offsets_in(wire.ask(fetch_request(group, None, 7), 7).topics):
            break
