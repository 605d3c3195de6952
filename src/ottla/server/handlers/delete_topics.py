"""DeleteTopics 1–6: by name, and from version 6 on by id."""

from collections.abc import Awaitable
from typing import Final

from ottla.common.errors import KafkaError
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse
from ottla.server.api import Api, ListenerType
from ottla.server.authorizer import AclOperation, require_cluster
from ottla.server.forwarding import forwarded
from ottla.server.services import ControllerServices, controller_context


def handle(
    services: ControllerServices, context: RequestContext, body: DeleteTopicsRequest
) -> Awaitable[DeleteTopicsResponse]:
    """The controller decides."""
    require_cluster(services.authorizer, context, AclOperation.DELETE)
    return services.controller.delete_topics(controller_context(context), body)


def error_response(body: DeleteTopicsRequest, error: KafkaError) -> DeleteTopicsResponse:
    """The error, at every topic."""
    named = [DeletableTopicResult(name=name, error_code=error.code) for name in body.topic_names]
    stated = [
        DeletableTopicResult(name=topic.name, topic_id=topic.topic_id, error_code=error.code, error_message=str(error))
        for topic in body.topics
    ]
    return DeleteTopicsResponse(responses=named + stated)


APIS: Final = (
    forwarded(ApiKey.DELETE_TOPICS, 1, 6, error_response),
    Api(ApiKey.DELETE_TOPICS, 1, 6, handle, ListenerType.CONTROLLER, error_response),
)
