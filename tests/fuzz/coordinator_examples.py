"""Requests that the coordinators of groups and of transactions do as they are told, in the order of their lives."""

from collections.abc import Iterator

from ottla.common.uuid import Uuid
from ottla.protocol.message import Message
from ottla.protocol.messages import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    consumer_group_describe,
    consumer_group_heartbeat,
    delete_groups,
    describe_groups,
    describe_transactions,
    end_txn,
    find_coordinator,
    heartbeat,
    init_producer_id,
    join_group,
    leave_group,
    list_groups,
    list_transactions,
    offset_commit,
    offset_delete,
    offset_fetch,
    sync_group,
    txn_offset_commit,
    write_txn_markers,
)
from tests.fuzz.known_coordinator_values import ASSIGNMENTS, CONSUMER_MEMBERS, SUBSCRIPTIONS
from tests.fuzz.learned import (
    CLASSIC_GROUP,
    CONSUMER_GROUP,
    GENERATION,
    LEADER,
    MEMBER_EPOCH,
    NEWEST_MEMBER,
    PRODUCERS,
    TRANSACTIONAL_IDS,
)

_GROUPS = (CLASSIC_GROUP, CONSUMER_GROUP)
_SIMPLE_GROUP = "h"
"""Has offsets and no members, so that it can be deleted."""


def coordinator_examples(topic: str, topic_id: Uuid) -> Iterator[Message]:
    """Some for every API of the two coordinators, about ``topic`` and with what has been learned; for all versions."""
    for key_type, key in ((0, CLASSIC_GROUP), (0, CONSUMER_GROUP), (1, TRANSACTIONAL_IDS[0])):
        yield find_coordinator.FindCoordinatorRequest(key=key, key_type=key_type, coordinator_keys=[key])
    yield from classic_member(topic, topic_id)
    for member_id in CONSUMER_MEMBERS:
        yield from consumer_member(member_id, topic, topic_id)
    yield from _offsets(_SIMPLE_GROUP, "", -1, topic, topic_id)
    for index in range(len(TRANSACTIONAL_IDS)):
        yield from transaction(index, topic)
        yield _marker(index, topic)
    yield list_groups.ListGroupsRequest()
    yield describe_groups.DescribeGroupsRequest(groups=_GROUPS)
    yield consumer_group_describe.ConsumerGroupDescribeRequest(group_ids=_GROUPS)
    yield delete_groups.DeleteGroupsRequest(groups_names=[_SIMPLE_GROUP])
    yield list_transactions.ListTransactionsRequest()
    yield describe_transactions.DescribeTransactionsRequest(transactional_ids=TRANSACTIONAL_IDS)


def classic_member(topic: str, topic_id: Uuid) -> Iterator[Message]:
    """From its joining to its leaving; in versions that give an id first, it joins twice."""
    for member_id, subscription in (("", SUBSCRIPTIONS[0]), (NEWEST_MEMBER, SUBSCRIPTIONS[2])):
        yield _join(member_id, subscription)
    yield from _sync_and_heartbeat()
    yield from _offsets(CLASSIC_GROUP, NEWEST_MEMBER, GENERATION, topic, topic_id)
    yield _join(NEWEST_MEMBER, SUBSCRIPTIONS[7])
    yield from _sync_and_heartbeat()
    yield leave_group.LeaveGroupRequest(
        group_id=CLASSIC_GROUP,
        member_id=NEWEST_MEMBER,
        members=[leave_group.MemberIdentity(member_id=NEWEST_MEMBER, reason="enough")],
    )


def _join(member_id: str, subscription: bytes) -> Message:
    return join_group.JoinGroupRequest(
        group_id=CLASSIC_GROUP,
        session_timeout_ms=2000,
        rebalance_timeout_ms=150,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[join_group.JoinGroupRequestProtocol(name="range", metadata=subscription)],
    )


def _sync_and_heartbeat() -> Iterator[Message]:
    yield sync_group.SyncGroupRequest(
        group_id=CLASSIC_GROUP,
        generation_id=GENERATION,
        member_id=NEWEST_MEMBER,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[
            sync_group.SyncGroupRequestAssignment(member_id=each, assignment=ASSIGNMENTS[1])
            for each in (LEADER, NEWEST_MEMBER)
        ],
    )
    yield heartbeat.HeartbeatRequest(group_id=CLASSIC_GROUP, generation_id=GENERATION, member_id=NEWEST_MEMBER)


def consumer_member(member_id: str, topic: str, topic_id: Uuid) -> Iterator[Message]:
    """From its joining to its leaving."""
    owned = consumer_group_heartbeat.ConsumerGroupHeartbeatRequestTopicPartitions(topic_id=topic_id, partitions=[0])
    yield consumer_group_heartbeat.ConsumerGroupHeartbeatRequest(
        group_id=CONSUMER_GROUP,
        member_id=member_id,
        member_epoch=0,
        rebalance_timeout_ms=500,
        subscribed_topic_names=[topic, "volatile-1"],
        topic_partitions=[],
    )
    for topic_partitions, subscribed in ((None, None), ([], [topic]), ([owned], None), ([], [topic, "absent"])):
        yield consumer_group_heartbeat.ConsumerGroupHeartbeatRequest(
            group_id=CONSUMER_GROUP,
            member_id=member_id,
            member_epoch=MEMBER_EPOCH,
            rebalance_timeout_ms=500,
            subscribed_topic_names=subscribed,
            subscribed_topic_regex=None if subscribed is None else "vol.*",
            topic_partitions=topic_partitions,
        )
    yield from _offsets(CONSUMER_GROUP, member_id, MEMBER_EPOCH, topic, topic_id)
    yield consumer_group_heartbeat.ConsumerGroupHeartbeatRequest(
        group_id=CONSUMER_GROUP, member_id=member_id, member_epoch=-1
    )


def _offsets(group_id: str, member_id: str, generation: int, topic: str, topic_id: Uuid) -> Iterator[Message]:
    yield offset_commit.OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=generation,
        member_id=member_id,
        topics=[
            offset_commit.OffsetCommitRequestTopic(
                name=topic,
                topic_id=topic_id,
                partitions=[
                    offset_commit.OffsetCommitRequestPartition(partition_index=index, committed_offset=index)
                    for index in (0, 1)
                ],
            )
        ],
    )
    yield offset_fetch.OffsetFetchRequest(
        group_id=group_id,
        topics=[offset_fetch.OffsetFetchRequestTopic(name=topic, partition_indexes=[0, 1])],
        groups=[
            offset_fetch.OffsetFetchRequestGroup(
                group_id=group_id,
                topics=[offset_fetch.OffsetFetchRequestTopics(name=topic, topic_id=topic_id, partition_indexes=[0, 1])],
            )
        ],
    )
    yield offset_delete.OffsetDeleteRequest(
        group_id=group_id,
        topics=[
            offset_delete.OffsetDeleteRequestTopic(
                name=topic, partitions=[offset_delete.OffsetDeleteRequestPartition(partition_index=0)]
            )
        ],
    )


def transaction(index: int, topic: str) -> Iterator[Message]:
    """Of the transactional id with that index: initialized, partitions and offsets added, committed and aborted."""
    transactional_id, (producer_id, producer_epoch) = TRANSACTIONAL_IDS[index], PRODUCERS[index]
    yield init_producer_id.InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=3000)
    yield from _transactional_work(index, topic, committed=True)
    yield from _transactional_work(index, topic, committed=False)
    yield init_producer_id.InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=3000,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
    )
    yield from _transactional_work(index, topic, committed=True)


def _transactional_work(index: int, topic: str, *, committed: bool) -> Iterator[Message]:
    transactional_id, (producer_id, producer_epoch) = TRANSACTIONAL_IDS[index], PRODUCERS[index]
    added = [add_partitions_to_txn.AddPartitionsToTxnTopic(name=topic, partitions=[0, 1])]
    yield add_partitions_to_txn.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=producer_id,
        v3_and_below_producer_epoch=producer_epoch,
        v3_and_below_topics=added,
        transactions=[
            add_partitions_to_txn.AddPartitionsToTxnTransaction(
                transactional_id=transactional_id,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                topics=added,
            )
        ],
    )
    yield add_offsets_to_txn.AddOffsetsToTxnRequest(
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        group_id=_SIMPLE_GROUP,
    )
    yield txn_offset_commit.TxnOffsetCommitRequest(
        transactional_id=transactional_id,
        group_id=_SIMPLE_GROUP,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        topics=[
            txn_offset_commit.TxnOffsetCommitRequestTopic(
                name=topic,
                partitions=[txn_offset_commit.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=7)],
            )
        ],
    )
    yield end_txn.EndTxnRequest(
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        committed=committed,
    )


def _marker(index: int, topic: str) -> Message:
    return write_txn_markers.WriteTxnMarkersRequest(
        markers=[
            write_txn_markers.WritableTxnMarker(
                producer_id=PRODUCERS[index].producer_id,
                producer_epoch=PRODUCERS[index].producer_epoch,
                topics=[write_txn_markers.WritableTxnMarkerTopic(name=topic, partition_indexes=[0, 1])],
                transaction_version=2,
            )
        ]
    )
