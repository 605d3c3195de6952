"""How the admin client's questions are put and its answers read, where the wire has more than one way: pure."""

import hashlib
from dataclasses import FrozenInstanceError, is_dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ottla.clients.admin as package
from ottla.clients.admin import (
    AclBindingFilter,
    AclOperation,
    ClientQuotaFilterComponent,
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
    GroupState,
    GroupType,
    MemberToRemove,
    NewTopic,
    OffsetAndMetadata,
    OffsetSpec,
    ResourceType,
    ScramMechanism,
    TopicDescription,
    TopicPartition,
    TopicPartitionReplica,
    TransactionState,
    UserScramCredentialUpsertion,
    quota_entity,
)
from ottla.clients.admin.acl_operation import authorized_operations
from ottla.clients.admin.acls import deleted_acls
from ottla.clients.admin.ask import Anywhere, Broker
from ottla.clients.admin.configs import config_resource_type, config_source, configured_at
from ottla.clients.admin.features import updated_features
from ottla.clients.admin.group_descriptions import as_consumer_group, assigned_partitions, described_classic_groups
from ottla.clients.admin.group_members import removed_members
from ottla.clients.admin.group_offsets import fetched_offsets, offset_fetch_request
from ottla.clients.admin.log_dirs import alter_replica_log_dirs_request
from ottla.clients.admin.offsets import by_min_version
from ottla.clients.admin.quorum import METADATA_TOPIC, described_quorum
from ottla.clients.admin.quotas import describe_quotas_request
from ottla.clients.admin.results import by_topic, checked, outcome
from ottla.clients.admin.scram import salted_password
from ottla.clients.admin.tokens import created_token
from ottla.clients.admin.topic_descriptions import Described, merge_page
from ottla.clients.admin.topics import create_topics_request, created_topics
from ottla.clients.admin.transactions import written_marker
from ottla.clients.errors import (
    ClusterAuthorizationError,
    FeatureUpdateFailedError,
    GroupIdNotFoundError,
    InvalidRequestError,
    NotLeaderOrFollowerError,
    SecurityDisabledError,
    UnknownMemberIdError,
    UnknownServerError,
    UnknownTopicOrPartitionError,
    UnstableOffsetCommitError,
)
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.uuid import ZERO_UUID
from ottla.protocol.consumer_protocol import encode_assignment
from ottla.protocol.messages import delete_acls, describe_quorum, update_features
from ottla.protocol.messages.create_delegation_token import CreateDelegationTokenResponse
from ottla.protocol.messages.create_topics import CreatableTopicConfigs, CreatableTopicResult, CreateTopicsResponse
from ottla.protocol.messages.describe_groups import DescribedGroup, DescribedGroupMember, DescribeGroupsResponse
from ottla.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from ottla.protocol.messages.leave_group import LeaveGroupResponse, MemberResponse
from ottla.protocol.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from ottla.protocol.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)

ZERO, ONE = TopicPartition("t", 0), TopicPartition("t", 1)


def test_dataclasses_are_frozen_and_slotted() -> None:
    classes = [each for each in (getattr(package, name) for name in package.__all__) if is_dataclass(each)]
    assert len(classes) >= 35
    for each in classes:
        assert isinstance(each, type)
        assert each.__doc__, each
        assert "__slots__" in vars(each), each
        assert each.__dataclass_params__.frozen, each  # type: ignore[attr-defined]
    with pytest.raises(FrozenInstanceError):
        NewTopic("t").name = "u"  # type: ignore[misc]


def test_errors_are_raised_or_values() -> None:
    error = UnknownMemberIdError()
    results: dict[str, int | KafkaError] = {"a": 1, "b": error}
    assert checked(results, raise_errors=False) == results
    with pytest.raises(UnknownMemberIdError):
        checked(results, raise_errors=True)
    assert outcome(0, "ignored", 5) == 5
    refused = outcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "no t", 5)
    assert isinstance(refused, UnknownTopicOrPartitionError)
    assert str(refused) == "no t"


@given(st.lists(st.builds(TopicPartition, st.sampled_from("abc"), st.integers(0, 5)), unique=True))
def test_partitions_by_topic(partitions: list[TopicPartition]) -> None:
    topics = by_topic(partitions)
    assert sorted(TopicPartition(topic, index) for topic, each in topics.items() for index in each) == sorted(
        partitions
    )


def test_a_new_topic_with_assignments_leaves_the_numbers_open() -> None:
    request = create_topics_request(
        [NewTopic("t", replica_assignments={0: [1, 2]}, configs={"a": None})], 9, validate_only=True
    )
    (topic,) = request.topics
    assert (topic.num_partitions, topic.replication_factor, request.timeout_ms, request.validate_only) == (
        -1,
        -1,
        9,
        True,
    )
    assert [(each.partition_index, list(each.broker_ids)) for each in topic.assignments] == [(0, [1, 2])]
    assert [(each.name, each.value) for each in topic.configs] == [("a", None)]


def test_configs_that_we_may_not_see() -> None:
    answer = CreatableTopicResult(name="t", topic_config_error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    created = created_topics(CreateTopicsResponse(topics=[answer]))["t"]
    assert not isinstance(created, KafkaError)
    assert created.configs is None
    answer = CreatableTopicResult(name="t", configs=[CreatableTopicConfigs(name="a", value="1", config_source=99)])
    created = created_topics(CreateTopicsResponse(topics=[answer]))["t"]
    assert not isinstance(created, KafkaError)
    assert created.configs is not None
    assert created.configs["a"].source is ConfigSource.UNKNOWN


def test_what_came_after_us_is_unknown() -> None:
    assert config_source(99) is ConfigSource.UNKNOWN
    assert config_resource_type(99) is ConfigResourceType.UNKNOWN
    assert GroupState("Pondering") is GroupState.UNKNOWN
    assert GroupState("stable") is GroupState.STABLE
    assert GroupType("") is GroupType.UNKNOWN
    assert TransactionState("Pondering") is TransactionState.UNKNOWN
    assert ResourceType(99) is ResourceType.UNKNOWN
    assert AclOperation(99) is AclOperation.UNKNOWN
    assert ScramMechanism(99) is ScramMechanism.UNKNOWN


def test_authorized_operations_are_bits() -> None:
    assert authorized_operations(-(2**31)) is None
    assert authorized_operations(0) == frozenset()
    assert authorized_operations(1 << 3 | 1 << 8) == frozenset({AclOperation.READ, AclOperation.DESCRIBE})


@pytest.mark.parametrize(
    ("resource", "target"),
    [
        (ConfigResource(ConfigResourceType.BROKER, "7"), Broker(7)),
        (ConfigResource(ConfigResourceType.BROKER_LOGGER, "7"), Broker(7)),
        (ConfigResource(ConfigResourceType.BROKER, ""), Anywhere.ANY_NODE),
        (ConfigResource(ConfigResourceType.BROKER, "anna"), Anywhere.ANY_NODE),
        (ConfigResource(ConfigResourceType.TOPIC, "7"), Anywhere.ANY_NODE),
        (ConfigResource(ConfigResourceType.GROUP, "7"), Anywhere.ANY_NODE),
    ],
)
def test_brokers_are_asked_about_themselves(resource: ConfigResource, target: object) -> None:
    assert configured_at(resource) == target


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(1, 5))
def test_pages_of_a_description_are_put_together(sizes: list[int], limit: int) -> None:
    everything = [(f"t{number}", index) for number, size in enumerate(sizes) for index in range(size)]
    found: dict[str, Described] = {}
    for start in range(0, len(everything), limit):
        page: dict[str, list[int]] = {}
        for topic, index in everything[start : start + limit]:
            page.setdefault(topic, []).append(index)
        topics = [
            DescribeTopicPartitionsResponseTopic(
                name=topic,
                partitions=[DescribeTopicPartitionsResponsePartition(partition_index=index) for index in indexes],
            )
            for topic, indexes in page.items()
        ]
        merge_page(found, DescribeTopicPartitionsResponse(topics=topics))
    for number, size in enumerate(sizes):
        described = found[f"t{number}"]
        assert isinstance(described, TopicDescription)
        assert [each.partition for each in described.partitions] == list(range(size))


def test_special_timestamps_need_newer_brokers() -> None:
    specs = {ZERO: OffsetSpec.latest(), ONE: OffsetSpec.max_timestamp(), TopicPartition("u", 0): OffsetSpec.earliest()}
    assert by_min_version(specs) == {1: [ZERO, TopicPartition("u", 0)], 7: [ONE]}
    assert by_min_version({ZERO: OffsetSpec.earliest_pending_upload()}) == {11: [ZERO]}


def test_committed_offsets_in_old_and_new_answers() -> None:
    request = offset_fetch_request("g", [ZERO, ONE], require_stable=True)
    assert request.topics is not None
    assert [list(topic.partition_indexes) for topic in request.topics] == [[0, 1]]
    assert request.groups[0].topics is not None
    assert [list(topic.partition_indexes) for topic in request.groups[0].topics] == [[0, 1]]
    everything = offset_fetch_request("g", None, require_stable=False)
    assert (everything.topics, everything.groups[0].topics) == (None, None)

    old_partition = OffsetFetchResponsePartition(partition_index=0, committed_offset=5, metadata=None)
    old = OffsetFetchResponse(topics=[OffsetFetchResponseTopic(name="t", partitions=[old_partition])])
    new_partitions = [
        OffsetFetchResponsePartitions(partition_index=0, committed_offset=5, metadata=None),
        OffsetFetchResponsePartitions(partition_index=1, committed_offset=-1),
    ]
    new_topic = OffsetFetchResponseTopics(name="t", partitions=new_partitions)
    new = OffsetFetchResponse(groups=[OffsetFetchResponseGroup(group_id="g", topics=[new_topic])])
    assert fetched_offsets(old) == {ZERO: OffsetAndMetadata(5)}
    assert fetched_offsets(new) == {ZERO: OffsetAndMetadata(5), ONE: None}


def test_an_offset_that_is_about_to_change_is_asked_for_again() -> None:
    unstable = OffsetFetchResponsePartitions(partition_index=0, error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT)
    topic = OffsetFetchResponseTopics(name="t", partitions=[unstable])
    with pytest.raises(UnstableOffsetCommitError) as raised:
        fetched_offsets(OffsetFetchResponse(groups=[OffsetFetchResponseGroup(topics=[topic])]))
    assert raised.value.retriable
    with pytest.raises(GroupIdNotFoundError):
        fetched_offsets(OffsetFetchResponse(groups=[OffsetFetchResponseGroup(error_code=ErrorCode.GROUP_ID_NOT_FOUND)]))


def test_static_members_are_told_by_their_names() -> None:
    anna, bert, carl = MemberToRemove("anna"), MemberToRemove(member_id="bert-1"), MemberToRemove("carl")
    answer = LeaveGroupResponse(
        members=[
            MemberResponse(member_id="anna-77", group_instance_id="anna"),
            MemberResponse(member_id="bert-1", group_instance_id=None, error_code=ErrorCode.UNKNOWN_MEMBER_ID),
        ]
    )
    removed = removed_members(answer, [anna, bert, carl])
    assert removed[anna] is None
    assert isinstance(removed[bert], UnknownMemberIdError)
    assert carl not in removed
    with pytest.raises(GroupIdNotFoundError):
        removed_members(LeaveGroupResponse(error_code=ErrorCode.GROUP_ID_NOT_FOUND), [anna])


@given(st.dictionaries(st.sampled_from("abc"), st.lists(st.integers(0, 9), unique=True)), st.integers(0, 5))
def test_assignments_are_those_that_the_broker_writes(topics: dict[str, list[int]], version: int) -> None:
    written = encode_assignment(topics.items(), version)
    assert assigned_partitions(written) == {TopicPartition(topic, index) for topic in topics for index in topics[topic]}


def test_assignments_that_are_none() -> None:
    assert assigned_partitions(b"") == frozenset()
    with pytest.raises(InvalidRequestError):
        assigned_partitions(b"\\0")


def test_a_group_of_workers_is_no_group_of_consumers() -> None:
    member = DescribedGroupMember(member_id="w", member_assignment=b"something of its own")
    group = DescribedGroup(group_id="g", protocol_type="connect", group_state="Stable", members=[member])
    described = described_classic_groups(DescribeGroupsResponse(groups=[group]))["g"]
    assert not isinstance(described, KafkaError)
    assert described.members[0].assignment == frozenset()
    assert isinstance(as_consumer_group(described), GroupIdNotFoundError)


def test_moves_are_sorted_by_directory() -> None:
    request = alter_replica_log_dirs_request(
        {
            TopicPartitionReplica("t", 0, 1): "/a",
            TopicPartitionReplica("u", 0, 1): "/b",
            TopicPartitionReplica("t", 1, 1): "/a",
        }
    )
    assert [(each.path, [(topic.name, list(topic.partitions)) for topic in each.topics]) for each in request.dirs] == [
        ("/a", [("t", [0, 1])]),
        ("/b", [("u", [0])]),
    ]


def test_features_are_answered_together_or_one_by_one() -> None:
    together = update_features.UpdateFeaturesResponse()
    assert updated_features(together, ["a", "b"]) == {"a": None, "b": None}
    one_by_one = update_features.UpdateFeaturesResponse(
        results=[update_features.UpdatableFeatureResult(feature="b", error_code=ErrorCode.FEATURE_UPDATE_FAILED)]
    )
    results = updated_features(one_by_one, ["a", "b"])
    assert results["a"] is None
    assert isinstance(results["b"], FeatureUpdateFailedError)
    refused = update_features.UpdateFeaturesResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    with pytest.raises(ClusterAuthorizationError):
        updated_features(refused, ["a"])


def test_the_quorum_has_one_partition() -> None:
    with pytest.raises(UnknownServerError, match="0 partitions"):
        described_quorum(describe_quorum.DescribeQuorumResponse())
    partition = describe_quorum.DescribeQuorumResponsePartitionData(
        leader_id=1, current_voters=[describe_quorum.ReplicaState(replica_id=1)]
    )
    topic = describe_quorum.DescribeQuorumResponseTopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    (voter,) = described_quorum(describe_quorum.DescribeQuorumResponse(topics=[topic])).voters
    assert (voter.last_fetch_timestamp_ms, voter.directory_id) == (None, ZERO_UUID)
    partition.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
    with pytest.raises(NotLeaderOrFollowerError):
        described_quorum(describe_quorum.DescribeQuorumResponse(topics=[topic]))


def test_a_marker_is_answered_with_one() -> None:
    partition = WritableTxnMarkerPartitionResult(partition_index=0)
    topic = WritableTxnMarkerTopicResult(name="t", partitions=[partition])
    one = WritableTxnMarkerResult(producer_id=1, topics=[topic])
    assert written_marker(WriteTxnMarkersResponse(markers=[one])) == {ZERO: None}
    with pytest.raises(UnknownServerError, match="2 markers"):
        written_marker(WriteTxnMarkersResponse(markers=[one, one]))


def test_quota_filters() -> None:
    assert quota_entity({"client-id": None}, user="anna") == {("client-id", None), ("user", "anna")}
    request = describe_quotas_request(
        [
            ClientQuotaFilterComponent("user", "anna"),
            ClientQuotaFilterComponent("client-id"),
            ClientQuotaFilterComponent("ip", any_name=True),
        ],
        strict=True,
    )
    assert [(each.entity_type, each.match_type, each.match) for each in request.components] == [
        ("user", 0, "anna"),
        ("client-id", 1, None),
        ("ip", 2, None),
    ]


def test_passwords_leave_salted() -> None:
    # RFC 5802's and RFC 7677's examples have this password and number of rounds.
    upsertion = UserScramCredentialUpsertion("user", ScramMechanism.SCRAM_SHA_256, b"pencil", 4096, b"salt")
    assert salted_password(upsertion) == hashlib.pbkdf2_hmac("sha256", b"pencil", b"salt", 4096)
    upsertion = UserScramCredentialUpsertion("user", ScramMechanism.SCRAM_SHA_512, b"pencil", 4096, b"salt")
    assert len(salted_password(upsertion)) == 64
    unknown = UserScramCredentialUpsertion("user", ScramMechanism.UNKNOWN, b"pencil")
    assert salted_password(unknown) == b""
    assert "pencil" not in repr(unknown)
    assert UserScramCredentialUpsertion("user", ScramMechanism.UNKNOWN, b"pencil").salt != unknown.salt


def test_a_filter_fails_with_the_first_acl_that_it_could_not_delete() -> None:
    fine = delete_acls.DeleteAclsMatchingAcl(resource_type=2, resource_name="t")
    stuck = delete_acls.DeleteAclsMatchingAcl(error_code=ErrorCode.SECURITY_DISABLED)
    every, topics = AclBindingFilter(), AclBindingFilter(ResourceType.TOPIC)
    answer = delete_acls.DeleteAclsResponse(
        filter_results=[
            delete_acls.DeleteAclsFilterResult(matching_acls=[fine, stuck]),
            delete_acls.DeleteAclsFilterResult(matching_acls=[fine]),
        ]
    )
    deleted = deleted_acls(answer, [every, topics])
    assert isinstance(deleted[every], SecurityDisabledError)
    found = deleted[topics]
    assert not isinstance(found, KafkaError)
    assert [each.name for each in found] == ["t"]


def test_a_token_of_an_old_broker_is_its_owners() -> None:
    token = created_token(CreateDelegationTokenResponse(principal_type="User", principal_name="anna", hmac=b"h"), ())
    assert token.requester == token.owner == ("User", "anna")
