"""ElectLeaders 0–2: the preferred replica, or any at the price of records."""

from collections.abc import Awaitable
from typing import Final

from ottla.common.errors import KafkaError
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from ottla.server.api import Api, ListenerType
from ottla.server.authorizer import AclOperation, require_cluster
from ottla.server.forwarding import forwarded
from ottla.server.services import ControllerServices, controller_context


def handle(
    services: ControllerServices, context: RequestContext, body: ElectLeadersRequest
) -> Awaitable[ElectLeadersResponse]:
    """The controller decides."""
    require_cluster(services.authorizer, context, AclOperation.ALTER)
    return services.controller.elect_leaders(controller_context(context), body)


def error_response(body: ElectLeadersRequest, error: KafkaError) -> ElectLeadersResponse:
    """The error, at every partition that is named as well: version 0 has no other place for it."""
    return ElectLeadersResponse(
        error_code=error.code,
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    PartitionResult(partition_id=index, error_code=error.code, error_message=str(error))
                    for index in topic.partitions
                ],
            )
            for topic in body.topic_partitions or ()
        ],
    )


APIS: Final = (
    forwarded(ApiKey.ELECT_LEADERS, 0, 2, error_response),
    Api(ApiKey.ELECT_LEADERS, 0, 2, handle, ListenerType.CONTROLLER, error_response),
)
