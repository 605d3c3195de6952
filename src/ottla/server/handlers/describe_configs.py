"""DescribeConfigs 1–4: the configuration of topics, of this node and its loggers, of groups and client metrics."""

import logging
from collections.abc import Callable, Mapping
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, InvalidRequestError, KafkaError
from ottla.config.broker_loggers import describe_loggers
from ottla.config.config_entry import ConfigEntry
from ottla.config.describe import (
    describe_broker,
    describe_broker_default,
    describe_client_metrics,
    describe_group,
    describe_topic,
)
from ottla.controller.topic_names import validate_topic_name
from ottla.metadata.image.configs import ConfigResourceType
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from ottla.server.api import Api, ListenerType
from ottla.server.authorizer import AclOperation
from ottla.server.config_admin import node_id_of, require_allowed, resource_type_name
from ottla.server.services import BrokerServices, ControllerServices

logger = logging.getLogger(__name__)

Services = BrokerServices | ControllerServices


def handle(services: Services, context: RequestContext, body: DescribeConfigsRequest) -> DescribeConfigsResponse:
    """Each resource on its own; but an unknown type of resource fails the whole request."""
    for resource in body.resources:
        if resource.resource_type not in _DESCRIBE:
            raise InvalidRequestError(
                f"Unexpected resource type {resource_type_name(resource.resource_type)} for resource "
                f"{resource.resource_name}"
            )
    results = []
    # Once each, however often it is named: the answer is no larger than the configuration that there is.
    for resource in {(each.resource_type, each.resource_name): each for each in body.resources}.values():
        result = DescribeConfigsResult(resource_type=resource.resource_type, resource_name=resource.resource_name)
        try:
            require_allowed(services.authorizer, context, AclOperation.DESCRIBE_CONFIGS, resource)
            entries = _DESCRIBE[resource.resource_type](services, resource.resource_name)
        except KafkaError as error:
            logger.info("Error processing describe configs request for resource %s: %s", resource, error)
            result.error_code, result.error_message = error.code, str(error)
        else:
            result.configs = _asked_for(entries, resource, body)
        results.append(result)
    return DescribeConfigsResponse(results=results)


def _topic(services: Services, name: str) -> list[ConfigEntry]:
    validate_topic_name(name)
    image = services.metadata.image
    if name not in image.topics.by_name:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return describe_topic(services.config, image.configs.properties(ConfigResourceType.TOPIC, name))


def _broker(services: Services, name: str) -> list[ConfigEntry]:
    if not name:
        return describe_broker_default(services.config)
    if node_id_of(name, "Broker") != services.node_id:
        raise InvalidRequestError(
            f"Unexpected broker id, expected {services.node_id} or empty string, but received {name}"
        )
    return describe_broker(services.config)


def _broker_logger(services: Services, name: str) -> list[ConfigEntry]:
    if not name:
        raise InvalidRequestError("Broker id must not be empty")
    if node_id_of(name, "Broker") != services.node_id:
        raise InvalidRequestError(f"Unexpected broker id, expected {services.node_id} but received {name}")
    return describe_loggers()


def _client_metrics(services: Services, name: str) -> list[ConfigEntry]:
    if not name:
        raise InvalidRequestError("Client metrics subscription name must not be empty")
    return describe_client_metrics(services.metadata.image.configs.properties(ConfigResourceType.CLIENT_METRICS, name))


def _group(services: Services, name: str) -> list[ConfigEntry]:
    if not name:
        raise InvalidRequestError("Group name must not be empty")
    image = services.metadata.image
    return describe_group(services.config, image.configs.properties(ConfigResourceType.GROUP, name))


_DESCRIBE: Final[Mapping[int, Callable[[Services, str], list[ConfigEntry]]]] = {
    ConfigResourceType.TOPIC: _topic,
    ConfigResourceType.BROKER: _broker,
    ConfigResourceType.BROKER_LOGGER: _broker_logger,
    ConfigResourceType.CLIENT_METRICS: _client_metrics,
    ConfigResourceType.GROUP: _group,
}


def _asked_for(
    entries: list[ConfigEntry], resource: DescribeConfigsResource, body: DescribeConfigsRequest
) -> list[DescribeConfigsResourceResult]:
    """The keys that are asked for, all if none is named, with what else of them is asked for."""
    names = frozenset(resource.configuration_keys or ())
    return [
        DescribeConfigsResourceResult(
            name=entry.name,
            value=entry.value,
            read_only=entry.read_only,
            config_source=entry.config_source,
            is_sensitive=entry.is_sensitive,
            synonyms=[
                DescribeConfigsSynonym(name=synonym.name, value=synonym.value, source=synonym.source)
                for synonym in (entry.synonyms if body.include_synonyms else ())
            ],
            config_type=entry.config_type,
            documentation=entry.documentation if body.include_documentation else None,
        )
        for entry in entries
        if not names or entry.name in names
    ]


def error_response(body: DescribeConfigsRequest, error: KafkaError) -> DescribeConfigsResponse:
    """The error, at every resource."""
    return DescribeConfigsResponse(
        results=[
            DescribeConfigsResult(
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
                error_code=error.code,
                error_message=str(error),
            )
            for resource in body.resources
        ]
    )


APIS: Final = (Api(ApiKey.DESCRIBE_CONFIGS, 1, 4, handle, ListenerType.BOTH, error_response),)
