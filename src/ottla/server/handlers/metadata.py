"""Metadata 0–13: brokers, topics and partition leaders; names a missing topic to the auto-creation.

Version 0 means all topics by an empty list, later ones by null. From version 12 on topics may be asked for by id. A
topic that is being created is answered with UNKNOWN_TOPIC_OR_PARTITION, on which clients ask again.
"""

from collections.abc import Iterable
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import InvalidRequestError, KafkaError
from ottla.common.internal_topics import INTERNAL_TOPICS
from ottla.common.uuid import ZERO_UUID
from ottla.controller.topic_names import validate_topic_name
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)
from ottla.server.api import Api
from ottla.server.authorizer import (
    CLUSTER_NAME,
    NOT_ASKED,
    AclOperation,
    ResourceType,
    authorized_operations,
)
from ottla.server.services import BrokerServices

_BY_TOPIC_ID: Final = 12
_NO_CONTROLLER: Final = -1


def handle(services: BrokerServices, context: RequestContext, body: MetadataRequest) -> MetadataResponse:
    """Answer from the metadata image."""
    version = context.header.api_version
    wants_all = body.topics is None or (version == 0 and not body.topics)
    if not wants_all and version < _BY_TOPIC_ID:
        _refuse_topic_ids(body, version)
    topics: list[MetadataResponseTopic] = []
    names = _requested_names(services, body, topics, wants_all)
    authorize = services.authorizer.authorize
    allowed = [name for name in names if authorize(context, AclOperation.DESCRIBE, ResourceType.TOPIC, name)]
    if not wants_all:
        described = frozenset(allowed)
        topics += [
            MetadataResponseTopic(name=name, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            for name in names
            if name not in described
        ]
    found = services.metadata.topic_metadata(
        allowed, context.listener_name, list_unavailable=version > 0, name_missing_listener=version >= 6
    )
    topics += found
    if not wants_all and len(found) < len(allowed):
        known = {topic.name for topic in found}
        topics += _missing_topics(services, context, body, [name for name in allowed if name not in known])
    if body.include_topic_authorized_operations:
        for topic in topics:
            if topic.name is not None:
                topic.topic_authorized_operations = authorized_operations(
                    services.authorizer, context, ResourceType.TOPIC, topic.name
                )
    brokers = services.metadata.alive_brokers(context.listener_name)
    cluster_operations = NOT_ASKED
    if body.include_cluster_authorized_operations:
        cluster_operations = authorized_operations(services.authorizer, context, ResourceType.CLUSTER, CLUSTER_NAME)
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=node.id, host=node.endpoint.host, port=node.endpoint.port, rack=node.rack)
            for node in brokers
        ],
        cluster_id=services.cluster_id,
        # Clients send to any broker what is the controller's business; brokers pass it on.
        controller_id=services.runtime.rng.choice(brokers).id if brokers else _NO_CONTROLLER,
        topics=topics,
        cluster_authorized_operations=cluster_operations,
    )


def _refuse_topic_ids(body: MetadataRequest, version: int) -> None:
    for topic in body.topics or ():
        if topic.name is None:
            raise InvalidRequestError(f"Topic name can not be null for version {version}")
        if topic.topic_id != ZERO_UUID:
            raise InvalidRequestError(f"Topic IDs are not supported in requests for version {version}")


def _requested_names(
    services: BrokerServices, body: MetadataRequest, topics: list[MetadataResponseTopic], wants_all: bool
) -> Iterable[str]:
    """The names to look up; ids that nobody knows go to ``topics`` at once."""
    image = services.metadata.image
    if wants_all or body.topics is None:
        return list(image.topics.by_name)
    ids = [topic.topic_id for topic in body.topics if topic.topic_id != ZERO_UUID]
    if not ids:
        return dict.fromkeys(topic.name for topic in body.topics if topic.name is not None)
    names: dict[str, None] = {}
    for topic_id in dict.fromkeys(ids):
        topic = image.topics.by_id.get(topic_id)
        if topic is None:
            topics.append(MetadataResponseTopic(name=None, topic_id=topic_id, error_code=ErrorCode.UNKNOWN_TOPIC_ID))
        else:
            names[topic.name] = None
    return names


def _missing_topics(
    services: BrokerServices, context: RequestContext, body: MetadataRequest, names: list[str]
) -> list[MetadataResponseTopic]:
    """An error each for topics that do not exist; those that may be made on demand are on their way."""
    create = services.config.current.server.auto_create_topics_enable and body.allow_auto_topic_creation
    creatable, missing = [], []
    for name in names:
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        try:
            validate_topic_name(name)
        except KafkaError:
            error = ErrorCode.INVALID_TOPIC_EXCEPTION
        else:
            if create:
                creatable.append(name)
        missing.append(MetadataResponseTopic(name=name, error_code=error, is_internal=name in INTERNAL_TOPICS))
    if creatable:
        services.auto_topic_creation.create(creatable, context)
    return missing


def error_response(body: MetadataRequest, error: KafkaError) -> MetadataResponse:
    """An error of the whole request stands at each of its topics."""
    topics = [
        MetadataResponseTopic(name=topic.name or "", topic_id=topic.topic_id, error_code=error.code)
        for topic in body.topics or ()
    ]
    return MetadataResponse(topics=topics, error_code=error.code)


APIS: Final = (Api(ApiKey.METADATA, 0, 13, handle, error_response=error_response),)
