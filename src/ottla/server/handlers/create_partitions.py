"""CreatePartitions 0–3: more partitions for topics that exist."""

from collections.abc import Awaitable
from typing import Final

from ottla.common.errors import KafkaError
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from ottla.server.api import Api, ListenerType
from ottla.server.authorizer import AclOperation, require_cluster
from ottla.server.forwarding import forwarded
from ottla.server.services import ControllerServices, controller_context


def handle(
    services: ControllerServices, context: RequestContext, body: CreatePartitionsRequest
) -> Awaitable[CreatePartitionsResponse]:
    """The controller decides."""
    require_cluster(services.authorizer, context, AclOperation.ALTER)
    return services.controller.create_partitions(controller_context(context), body)


def error_response(body: CreatePartitionsRequest, error: KafkaError) -> CreatePartitionsResponse:
    """The error, at every topic."""
    results = [
        CreatePartitionsTopicResult(name=topic.name, error_code=error.code, error_message=str(error))
        for topic in body.topics
    ]
    return CreatePartitionsResponse(results=results)


APIS: Final = (
    forwarded(ApiKey.CREATE_PARTITIONS, 0, 3, error_response),
    Api(ApiKey.CREATE_PARTITIONS, 0, 3, handle, ListenerType.CONTROLLER, error_response),
)
