"""CreateTopics 2–7: made by the controller; every topic has its own result."""

from collections.abc import Awaitable
from typing import Final

from ottla.common.errors import KafkaError
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse
from ottla.server.api import Api, ListenerType
from ottla.server.authorizer import AclOperation, require_cluster
from ottla.server.forwarding import forwarded
from ottla.server.services import ControllerServices, controller_context


def handle(
    services: ControllerServices, context: RequestContext, body: CreateTopicsRequest
) -> Awaitable[CreateTopicsResponse]:
    """The controller decides."""
    require_cluster(services.authorizer, context, AclOperation.CREATE)
    return services.controller.create_topics(controller_context(context), body)


def error_response(body: CreateTopicsRequest, error: KafkaError) -> CreateTopicsResponse:
    """The error, at every topic."""
    topics = [
        CreatableTopicResult(name=topic.name, error_code=error.code, error_message=str(error)) for topic in body.topics
    ]
    return CreateTopicsResponse(topics=topics)


APIS: Final = (
    forwarded(ApiKey.CREATE_TOPICS, 2, 7, error_response),
    Api(ApiKey.CREATE_TOPICS, 2, 7, handle, ListenerType.CONTROLLER, error_response),
)
