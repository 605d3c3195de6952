"""ListConfigResources 0–1: what has a configuration; version 0 knows client metrics only."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.metadata.image.configs import ConfigResourceType
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, require_cluster
from ottla.server.metadata_cache import MetadataCache
from ottla.server.services import BrokerServices


def _configured(resource_type: ConfigResourceType) -> Callable[[MetadataCache, str], Iterable[str]]:
    def names(metadata: MetadataCache, _listener_name: str) -> Iterable[str]:
        return [resource.name for resource in metadata.image.configs.resources if resource.type == resource_type]

    return names


def _brokers(metadata: MetadataCache, listener_name: str) -> Iterable[str]:
    return [str(node.id) for node in metadata.alive_brokers(listener_name)]


def _topics(metadata: MetadataCache, _listener_name: str) -> Iterable[str]:
    return metadata.image.topics.by_name


_LIST: Final[Mapping[int, Callable[[MetadataCache, str], Iterable[str]]]] = {
    ConfigResourceType.GROUP: _configured(ConfigResourceType.GROUP),
    ConfigResourceType.CLIENT_METRICS: _configured(ConfigResourceType.CLIENT_METRICS),
    ConfigResourceType.BROKER_LOGGER: _brokers,
    ConfigResourceType.BROKER: _brokers,
    ConfigResourceType.TOPIC: _topics,
}
"""The names of each type: groups and subscriptions exist by being configured. In the order of the response."""


def handle(
    services: BrokerServices, context: RequestContext, body: ListConfigResourcesRequest
) -> ListConfigResourcesResponse:
    """The resources of the types that are asked for; of all, where none is named."""
    require_cluster(services.authorizer, context, AclOperation.DESCRIBE_CONFIGS)
    old = context.header.api_version == 0
    supported = {ConfigResourceType.CLIENT_METRICS} if old else set(_LIST)
    wanted = set(body.resource_types) or supported
    if not wanted <= supported:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=resource_type)
            for resource_type, names in _LIST.items()
            if resource_type in wanted
            for name in names(services.metadata, context.listener_name)
        ]
    )


APIS: Final = (Api(ApiKey.LIST_CONFIG_RESOURCES, 0, 1, handle),)
