"""What clients of the group APIs may not do, they are told in the place where their version looks."""

from types import SimpleNamespace
from typing import Any

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.internal_topics import GROUP_METADATA_TOPIC
from ottla.common.topic_partition import TopicPartition
from ottla.network.request import RequestContext
from ottla.protocol.codec import encode
from ottla.protocol.message import Message
from ottla.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from ottla.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from ottla.protocol.messages.delete_groups import DeleteGroupsRequest
from ottla.protocol.messages.describe_groups import DescribeGroupsRequest
from ottla.protocol.messages.find_coordinator import FindCoordinatorRequest
from ottla.protocol.messages.heartbeat import HeartbeatRequest
from ottla.protocol.messages.join_group import JoinGroupRequest
from ottla.protocol.messages.leave_group import LeaveGroupRequest
from ottla.protocol.messages.list_groups import ListGroupsRequest
from ottla.protocol.messages.offset_delete import OffsetDeleteRequest
from ottla.protocol.messages.sync_group import SyncGroupRequest
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, ResourceType
from ottla.server.handlers import (
    consumer_group_describe,
    consumer_group_heartbeat,
    delete_groups,
    describe_groups,
    find_coordinator,
    heartbeat,
    join_group,
    leave_group,
    list_groups,
    offset_commit,
    offset_delete,
    offset_fetch,
    sync_group,
)
from tests.group.service_requests import GROUP, commit_request, consumer_heartbeat_request, delete_offsets_request
from tests.group.service_world import TOPIC, TOPIC_ID, ServiceWorld, context
from tests.server.group_wire import fetch_request

GROUP_DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED
TOPIC_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED

Denied = set[tuple[AclOperation, ResourceType]]


class Services(SimpleNamespace):
    """What handlers need, over a coordinator in memory; what is in ``denied`` nobody may do."""

    def __init__(self, denied: Denied, **features: int) -> None:
        self.world = ServiceWorld(partitions=1)
        image = self.world.image
        versions = {"group.version": 1, **features}
        super().__init__(
            authorizer=self,
            group_coordinator=self.world.coordinator,
            transaction_coordinator=SimpleNamespace(partition_for=lambda _id: 0),
            metadata=SimpleNamespace(
                image=SimpleNamespace(
                    topics=image.topics, features=SimpleNamespace(finalized_versions=versions), cluster=image.cluster
                )
            ),
            config=SimpleNamespace(current=SimpleNamespace(group=self.world.config)),
            coordinator_topic_creation=SimpleNamespace(is_there=lambda _topic: False),  # no one denied makes it
        )
        self.denied = denied

    def authorize(self, _context: RequestContext, operation: AclOperation, resource: ResourceType, _name: str) -> bool:
        return (operation, resource) not in self.denied

    def ask(self, api: Api, version: int, body: Message) -> Any:
        """The answer, as the dispatcher would make it."""
        try:
            answer = api.handle(self, context(version), body)
            return answer if isinstance(answer, Message) else answer.result()
        except KafkaError as error:
            return api.answer_error(body, error)


READ_GROUP: Denied = {(AclOperation.READ, ResourceType.GROUP)}
DESCRIBE_GROUP: Denied = {(AclOperation.DESCRIBE, ResourceType.GROUP)}
DELETE_GROUP: Denied = {(AclOperation.DELETE, ResourceType.GROUP)}
READ_TOPIC: Denied = {(AclOperation.READ, ResourceType.TOPIC)}
DESCRIBE_TOPIC: Denied = {(AclOperation.DESCRIBE, ResourceType.TOPIC)}


@pytest.mark.parametrize(
    ("module", "body"),
    [
        (join_group, JoinGroupRequest(group_id=GROUP, member_id="m")),
        (sync_group, SyncGroupRequest(group_id=GROUP, protocol_type="", protocol_name="")),
        (heartbeat, HeartbeatRequest(group_id=GROUP)),
        (leave_group, LeaveGroupRequest(group_id=GROUP)),
        (consumer_group_heartbeat, ConsumerGroupHeartbeatRequest(group_id=GROUP)),
    ],
)
def test_members_must_be_allowed_to_read_as_the_group(module: Any, body: Message) -> None:
    (api,) = module.APIS
    for version in range(api.lowest, api.highest + 1):
        assert Services(READ_GROUP).ask(api, version, body).error_code == GROUP_DENIED
        assert Services(DESCRIBE_GROUP).ask(api, version, body).error_code != GROUP_DENIED


def test_a_member_of_a_consumer_group_must_be_allowed_to_see_its_topics() -> None:
    (api,) = consumer_group_heartbeat.APIS
    assert Services(DESCRIBE_TOPIC).ask(api, 1, consumer_heartbeat_request()).error_code == TOPIC_DENIED
    assert Services(READ_TOPIC).ask(api, 1, consumer_heartbeat_request()).error_code == ErrorCode.NONE


def test_clusters_that_do_not_offer_consumer_groups() -> None:
    services = Services(set(), **{"group.version": 0})
    (api,) = consumer_group_heartbeat.APIS
    assert services.ask(api, 1, consumer_heartbeat_request()).error_code == ErrorCode.UNSUPPORTED_VERSION
    (api,) = consumer_group_describe.APIS
    (group,) = services.ask(api, 1, ConsumerGroupDescribeRequest(group_ids=[GROUP])).groups
    assert group.error_code == ErrorCode.UNSUPPORTED_VERSION
    classic = Services(set())
    classic.config.current.group = ServiceWorld(group_coordinator_rebalance_protocols=("classic",)).config
    assert classic.ask(api, 1, ConsumerGroupDescribeRequest(group_ids=[GROUP])).groups[0].error_code == (
        ErrorCode.UNSUPPORTED_VERSION
    )


@pytest.mark.parametrize(
    ("key_type", "resource", "code"),
    [
        (0, ResourceType.GROUP, GROUP_DENIED),
        (1, ResourceType.TRANSACTIONAL_ID, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (2, ResourceType.CLUSTER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
    ],
)
def test_coordinators_are_found_by_those_who_may_know(key_type: int, resource: ResourceType, code: int) -> None:
    (api,) = find_coordinator.APIS
    services = Services({(AclOperation.DESCRIBE, resource), (AclOperation.CLUSTER_ACTION, resource)})
    (one,) = services.ask(api, 6, FindCoordinatorRequest(key_type=key_type, coordinator_keys=["g"])).coordinators
    assert (one.error_code, one.node_id) == (code, -1)
    if key_type < 2:
        old = services.ask(api, 3, FindCoordinatorRequest(key_type=key_type, key="g"))
        assert (old.error_code, old.node_id) == (code, -1)
        assert old.error_message.endswith("authorization failed.")


# -- offsets ----------------------------------------------------------------------------------------------------------


def partition_codes(topics: Any) -> list[int]:
    return [one.error_code for topic in topics for one in topic.partitions]


@pytest.mark.parametrize("version", [2, 10])
def test_commits(version: int) -> None:
    (api,) = offset_commit.APIS
    assert partition_codes(Services(READ_GROUP).ask(api, version, commit_request()).topics) == [GROUP_DENIED]
    assert partition_codes(Services(READ_TOPIC).ask(api, version, commit_request()).topics) == [TOPIC_DENIED]
    assert partition_codes(Services(set()).ask(api, version, commit_request()).topics) == [ErrorCode.NONE]


@pytest.mark.uncompiled
@pytest.mark.parametrize("version", [8, 10])
@pytest.mark.parametrize("denied", [READ_GROUP, READ_TOPIC])
def test_the_short_cut_of_a_commit_leaves_refusals_to_the_handler(version: int, denied: Denied) -> None:
    body = memoryview(encode(commit_request(), version))
    request: Any = SimpleNamespace(header=context(version).header, body=body)
    assert not offset_commit.commit_plain(Services(denied), request)  # type: ignore[arg-type]
    assert request.body is body


@pytest.mark.parametrize("version", range(1, 11))
def test_fetches(version: int) -> None:
    (api,) = offset_fetch.APIS

    def ask(denied: Denied, *, every: bool) -> tuple[int, list[int]]:
        services = Services(denied)
        services.group_coordinator.commit_offsets(context(9), commit_request())
        partitions = None if every else {TOPIC if version < 10 else TOPIC_ID: [0]}
        answer = services.ask(api, version, fetch_request(GROUP, partitions, version))
        found = answer.groups[0] if version >= 8 else answer
        return found.error_code, partition_codes(found.topics)

    no_group = (GROUP_DENIED, []) if version >= 2 else (0, [GROUP_DENIED])
    assert ask(DESCRIBE_GROUP, every=False) == no_group
    assert ask(DESCRIBE_TOPIC, every=False) == (0, [TOPIC_DENIED])
    assert ask(set(), every=False) == (0, [0])
    if version >= 2:
        assert ask(DESCRIBE_GROUP, every=True) == (GROUP_DENIED, [])
        assert ask(DESCRIBE_TOPIC, every=True) == (0, [])
        assert ask(set(), every=True) == (0, [0])


def test_a_group_that_cannot_be_asked_shows_no_topics() -> None:
    (api,) = offset_fetch.APIS
    services = Services(DESCRIBE_TOPIC)
    services.group_coordinator.on_resignation(0, 2)
    (answer,) = services.ask(api, 9, fetch_request(GROUP, {TOPIC: [0]}, 9)).groups
    assert (answer.error_code, list(answer.topics)) == (ErrorCode.NOT_COORDINATOR, [])


def test_deletions_of_offsets() -> None:
    (api,) = offset_delete.APIS

    def ask(denied: Denied, body: OffsetDeleteRequest) -> tuple[int, list[int]]:
        services = Services(denied)
        services.group_coordinator.commit_offsets(context(9), commit_request())
        answer = services.ask(api, 0, body)
        return answer.error_code, partition_codes(answer.topics)

    assert ask(DELETE_GROUP, delete_offsets_request()) == (GROUP_DENIED, [])
    assert ask(READ_TOPIC, delete_offsets_request()) == (0, [TOPIC_DENIED])
    assert ask(set(), delete_offsets_request()) == (0, [0])
    assert ask(READ_TOPIC, delete_offsets_request("nobody")) == (ErrorCode.GROUP_ID_NOT_FOUND, [])


# -- groups -----------------------------------------------------------------------------------------------------------


def test_groups_are_listed_for_those_who_may_see_them() -> None:
    (api,) = list_groups.APIS
    see_cluster = (AclOperation.DESCRIBE, ResourceType.CLUSTER)
    for denied, count in ((DESCRIBE_GROUP, 1), ({see_cluster}, 1), ({see_cluster} | DESCRIBE_GROUP, 0)):
        services = Services(denied)
        services.group_coordinator.commit_offsets(context(9), commit_request())
        assert len(services.ask(api, 5, ListGroupsRequest()).groups) == count


@pytest.mark.parametrize("version", range(7))
def test_classic_groups_are_described_for_those_who_may_see_them(version: int) -> None:
    (api,) = describe_groups.APIS
    (group,) = Services(DESCRIBE_GROUP).ask(api, version, DescribeGroupsRequest(groups=[GROUP])).groups
    assert (group.group_id, group.error_code, group.group_state) == (GROUP, GROUP_DENIED, "")


def test_consumer_groups_are_described_for_those_who_may_see_them_and_what_they_read() -> None:
    (api,) = consumer_group_describe.APIS
    body = ConsumerGroupDescribeRequest(group_ids=[GROUP])
    (group,) = Services(DESCRIBE_GROUP).ask(api, 1, body).groups
    assert (group.group_id, group.error_code) == (GROUP, GROUP_DENIED)
    services = Services(DESCRIBE_TOPIC)
    services.group_coordinator.consumer_group_heartbeat(context(1), consumer_heartbeat_request())
    (group,) = services.ask(api, 1, body).groups
    assert (group.group_id, group.error_code, list(group.members)) == (GROUP, TOPIC_DENIED, [])
    assert group.error_message
    services.denied = set()
    (group,) = services.ask(api, 1, body).groups
    assert (group.error_code, len(group.members)) == (ErrorCode.NONE, 1)


def test_groups_are_deleted_by_those_who_may() -> None:
    (api,) = delete_groups.APIS
    services = Services(DELETE_GROUP)
    services.group_coordinator.commit_offsets(context(9), commit_request())
    (result,) = services.ask(api, 2, DeleteGroupsRequest(groups_names=[GROUP, GROUP])).results
    assert (result.group_id, result.error_code) == (GROUP, GROUP_DENIED)
    assert services.world.shards[TopicPartition(GROUP_METADATA_TOPIC, 0)].num_offsets == 1
