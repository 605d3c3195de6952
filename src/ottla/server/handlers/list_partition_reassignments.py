"""ListPartitionReassignments 0: the partitions that are on the move."""

from typing import Final

from ottla.metadata.image.topics import TopicImage
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from ottla.server.api import Api, ListenerType
from ottla.server.authorizer import AclOperation, require_cluster
from ottla.server.forwarding import forwarded
from ottla.server.services import ControllerServices


def handle(
    services: ControllerServices, context: RequestContext, body: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    """Those asked for, or all; topics without any are left out."""
    require_cluster(services.authorizer, context, AclOperation.DESCRIBE)
    topics = services.controller.image.topics.by_name
    wanted = {topic.name: set(topic.partition_indexes) for topic in body.topics} if body.topics is not None else None
    found = []
    for name in sorted(topics if wanted is None else wanted):
        topic = topics.get(name)
        moving = _moving(topic, wanted[name] if wanted is not None else None) if topic is not None else []
        if moving:
            found.append(OngoingTopicReassignment(name=name, partitions=moving))
    return ListPartitionReassignmentsResponse(error_message=None, topics=found)


def _moving(topic: TopicImage, wanted: set[int] | None) -> list[OngoingPartitionReassignment]:
    return [
        OngoingPartitionReassignment(
            partition_index=index,
            replicas=partition.replicas,
            adding_replicas=partition.adding_replicas,
            removing_replicas=partition.removing_replicas,
        )
        for index, partition in sorted(topic.partitions.items())
        if (partition.adding_replicas or partition.removing_replicas) and (wanted is None or index in wanted)
    ]


APIS: Final = (
    forwarded(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, 0, changes_metadata=False),
    Api(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, 0, handle, ListenerType.CONTROLLER),
)
