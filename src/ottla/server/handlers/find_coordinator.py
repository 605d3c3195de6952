"""FindCoordinator 0–6: which broker coordinates a group or a transactional id, from version 4 on for many at once.

The coordinator is the leader of the internal topic's partition that the key belongs to. The topic comes into being when
somebody asks for the first time. That answer waits until the coordinator can be used, but not for long: Apache's broker
tells the client to ask again at once, and librdkafka does so a second later.
"""

import re
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, InvalidRequestError, KafkaError
from ottla.common.internal_topics import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, ResourceType, require_cluster
from ottla.server.metadata_cache import Node
from ottla.server.services import BrokerServices

_BATCHED: Final = 4
_SHARE_KEYS: Final = 6
_SHARE: Final = 2
_SHARE_KEY: Final = re.compile(r"(?P<group>.+):(?P<topic_id>[A-Za-z0-9_-]{22}):(?P<partition>[+-]?\d+)", re.DOTALL)
_SAYS_NOTHING: Final = "NONE"
"""What stands for a message in answers without an error."""
_NO_NODE: Final = -1


class _Kind(NamedTuple):
    resource: ResourceType
    denied: ErrorCode
    topic: str
    partition_for: Callable[[BrokerServices, str], int]


_KINDS: Final = {
    0: _Kind(
        ResourceType.GROUP,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        GROUP_METADATA_TOPIC,
        lambda services, key: services.group_coordinator.partition_for(key),
    ),
    1: _Kind(
        ResourceType.TRANSACTIONAL_ID,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        TRANSACTION_STATE_TOPIC,
        lambda services, key: services.transaction_coordinator.partition_for(key),
    ),
}
"""By the request's key type; share coordinators (2) are not in this broker."""


def handle(
    services: BrokerServices, context: RequestContext, body: FindCoordinatorRequest
) -> FindCoordinatorResponse | Awaitable[FindCoordinatorResponse]:
    """One coordinator, or one for each key; a little later if their topic has to be made."""
    kind = _KINDS.get(body.key_type)
    if kind is None or services.coordinator_topic_creation.is_there(kind.topic):
        return _answer(services, context, body)
    keys = body.coordinator_keys if context.header.api_version >= _BATCHED else [body.key]
    if not any(services.authorizer.authorize(context, AclOperation.DESCRIBE, kind.resource, key) for key in keys):
        return _answer(services, context, body)
    return _answer_when_made(services, context, body, kind.topic)


async def _answer_when_made(
    services: BrokerServices, context: RequestContext, body: FindCoordinatorRequest, topic: str
) -> FindCoordinatorResponse:
    await services.coordinator_topic_creation.make(topic, context)
    return _answer(services, context, body)


def _answer(services: BrokerServices, context: RequestContext, body: FindCoordinatorRequest) -> FindCoordinatorResponse:
    if context.header.api_version < _BATCHED:
        node = _find(services, context, body.key_type, body.key)
        return FindCoordinatorResponse(
            error_message=_SAYS_NOTHING, node_id=node.id, host=node.endpoint.host, port=node.endpoint.port
        )
    coordinators = []
    for key in body.coordinator_keys:
        try:
            node = _find(services, context, body.key_type, key)
        except _RefusedError as error:
            coordinators.append(Coordinator(key=key, node_id=_NO_NODE, port=_NO_NODE, error_code=error.code))
        else:
            coordinators.append(Coordinator(key=key, node_id=node.id, host=node.endpoint.host, port=node.endpoint.port))
    return FindCoordinatorResponse(coordinators=coordinators)


class _RefusedError(ApiError):
    """The error of one key; any other is one of the whole request."""


def _find(services: BrokerServices, context: RequestContext, key_type: int, key: str) -> Node:
    if key_type == _SHARE:
        raise _refuse_share(services, context, key)
    kind = _KINDS.get(key_type)
    if kind is None:
        raise InvalidRequestError(f"Unknown coordinator type received: {key_type}")
    if not services.authorizer.authorize(context, AclOperation.DESCRIBE, kind.resource, key):
        raise _RefusedError(kind.denied, _MESSAGES[kind.denied])
    partition = kind.partition_for(services, key)
    metadata = services.metadata
    leader = metadata.current_leader(kind.topic, partition, context.listener_name)
    node = metadata.alive_broker(leader.id, context.listener_name)
    if node is None:
        raise _RefusedError(ErrorCode.COORDINATOR_NOT_AVAILABLE, _MESSAGES[ErrorCode.COORDINATOR_NOT_AVAILABLE])
    return node


def _refuse_share(services: BrokerServices, context: RequestContext, key: str) -> KafkaError:
    code = ErrorCode.INVALID_REQUEST
    if context.header.api_version >= _SHARE_KEYS:
        require_cluster(services.authorizer, context, AclOperation.CLUSTER_ACTION)
        if (match := _SHARE_KEY.fullmatch(key)) is not None and match["group"].strip():
            code = ErrorCode.COORDINATOR_NOT_AVAILABLE
    return _RefusedError(code, _MESSAGES[code])


_MESSAGES: Final = {
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Transactional Id authorization failed.",
    ErrorCode.INVALID_REQUEST: "The request is malformed, or was meant for another kind of broker.",
}


def error_response(body: FindCoordinatorRequest, error: KafkaError) -> FindCoordinatorResponse:
    """The error of the request, and at every key."""
    return FindCoordinatorResponse(
        error_code=error.code,
        error_message=str(error),
        node_id=_NO_NODE,
        port=_NO_NODE,
        coordinators=[
            Coordinator(key=key, node_id=_NO_NODE, port=_NO_NODE, error_code=error.code, error_message=str(error))
            for key in body.coordinator_keys
        ],
    )


APIS: Final = (Api(ApiKey.FIND_COORDINATOR, 0, 6, handle, error_response=error_response),)
