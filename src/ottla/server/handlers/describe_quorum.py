"""DescribeQuorum 0–2: the metadata quorum as its leader sees it."""

from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.controller.topic_names import CLUSTER_METADATA_TOPIC_NAME
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    DescribeQuorumResponsePartitionData,
    DescribeQuorumResponseTopicData,
    Listener,
    Node,
    ReplicaState,
)
from ottla.raft.errors import NotLeaderError
from ottla.raft.leader_state import ReplicaInfo
from ottla.server.api import Api, ListenerType
from ottla.server.authorizer import AclOperation, require_cluster
from ottla.server.forwarding import forwarded
from ottla.server.services import ControllerServices


def handle(
    services: ControllerServices, context: RequestContext, body: DescribeQuorumRequest
) -> DescribeQuorumResponse:
    """Only the metadata partition has a quorum."""
    require_cluster(services.authorizer, context, AclOperation.DESCRIBE)
    asked = [(topic.topic_name, partition.partition_index) for topic in body.topics for partition in topic.partitions]
    if asked != [(CLUSTER_METADATA_TOPIC_NAME, 0)]:
        return _failed_partitions(body, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    try:
        quorum = services.raft.describe_quorum()
    except NotLeaderError:
        return _failed_partitions(body, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    partition = DescribeQuorumResponsePartitionData(
        partition_index=0,
        leader_id=quorum.leader_id,
        leader_epoch=quorum.leader_epoch,
        high_watermark=quorum.high_watermark,
        current_voters=[_replica(replica) for replica in quorum.voters],
        observers=[_replica(replica) for replica in quorum.observers],
    )
    return DescribeQuorumResponse(
        topics=[DescribeQuorumResponseTopicData(topic_name=CLUSTER_METADATA_TOPIC_NAME, partitions=[partition])],
        nodes=[
            Node(
                node_id=node.key.id,
                listeners=[
                    Listener(name=endpoint.name, host=endpoint.host, port=endpoint.port) for endpoint in node.endpoints
                ],
            )
            for node in quorum.nodes
        ],
    )


def _replica(replica: ReplicaInfo) -> ReplicaState:
    return ReplicaState(**replica._asdict())


def _failed_partitions(body: DescribeQuorumRequest, error: ErrorCode) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(
        topics=[
            DescribeQuorumResponseTopicData(
                topic_name=topic.topic_name,
                partitions=[
                    DescribeQuorumResponsePartitionData(partition_index=partition.partition_index, error_code=error)
                    for partition in topic.partitions
                ],
            )
            for topic in body.topics
        ]
    )


def error_response(_body: DescribeQuorumRequest, error: KafkaError) -> DescribeQuorumResponse:
    """The error, for the whole request."""
    return DescribeQuorumResponse(error_code=error.code, error_message=str(error))


APIS: Final = (
    forwarded(ApiKey.DESCRIBE_QUORUM, 0, 2, error_response, changes_metadata=False),
    Api(ApiKey.DESCRIBE_QUORUM, 0, 2, handle, ListenerType.CONTROLLER, error_response),
)
