"""IncrementalAlterConfigs 0–1: set, delete, append to and subtract from single keys."""

from collections.abc import Sequence
from typing import Final

from ottla.common.errors import InvalidRequestError, KafkaError
from ottla.config.dynamic_config import usable_props
from ottla.controller.configs import OpType
from ottla.metadata.image.configs import ConfigResourceType
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from ottla.server.api import Api, ListenerType
from ottla.server.authorizer import AclOperation, require_cluster
from ottla.server.broker_config_changes import change_levels, changed_props
from ottla.server.config_admin import (
    PASSED_ON_TYPES,
    Outcome,
    alter_context,
    refuse_all,
    require_allowed,
    require_each_once,
    require_own_broker,
    require_well_formed,
    resource_responses,
    settle,
)
from ottla.server.services import BrokerServices, ControllerServices


async def handle_on_broker(
    services: BrokerServices, context: RequestContext, body: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    """Change this broker's loggers, check what only it can; the controller does the rest."""
    require_once = require_each_once(body.resources)

    def check(resource: AlterConfigsResource) -> bool:
        require_once(resource)
        require_well_formed(resource.configs, _null_names(resource))
        if resource.resource_type == ConfigResourceType.BROKER_LOGGER:
            require_allowed(services.authorizer, context, AclOperation.ALTER_CONFIGS, resource)
            change_levels(services.node_id, resource, validate_only=body.validate_only)
            return True
        if resource.resource_type == ConfigResourceType.BROKER:
            _validate_broker(services, resource)
        elif resource.resource_type not in PASSED_ON_TYPES:
            raise InvalidRequestError(f"Unknown resource type {resource.resource_type}")
        return False

    async def forward(resources: list[AlterConfigsResource]) -> Sequence[AlterConfigsResourceResponse]:
        request = IncrementalAlterConfigsRequest(resources=resources, validate_only=body.validate_only)
        response = await services.controller_channel.forward(ApiKey.INCREMENTAL_ALTER_CONFIGS, request, context)
        await services.metadata_settled()
        assert isinstance(response, IncrementalAlterConfigsResponse)
        return response.responses

    return _response(await settle(body.resources, check, forward))


def _null_names(resource: AlterConfigsResource) -> list[str]:
    return [
        config.name for config in resource.configs if config.value is None and config.config_operation != OpType.DELETE
    ]


def _validate_broker(services: BrokerServices, resource: AlterConfigsResource) -> None:
    name = resource.resource_name
    per_broker = bool(name)
    require_own_broker(services, name)
    stored = services.metadata.image.configs.properties(ConfigResourceType.BROKER, name)
    props = changed_props(usable_props(stored, per_broker=per_broker), resource.configs)
    services.config.validate_change(props, per_broker=per_broker)


async def handle_on_controller(
    services: ControllerServices, context: RequestContext, body: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    """The controller decides about the resources that the principal may alter; its loggers are changed here."""

    def check(resource: AlterConfigsResource) -> bool:
        if resource.resource_type == ConfigResourceType.BROKER_LOGGER:
            require_cluster(services.authorizer, context, AclOperation.CLUSTER_ACTION)
            change_levels(services.node_id, resource, validate_only=body.validate_only)
            return True
        require_allowed(services.authorizer, context, AclOperation.ALTER_CONFIGS, resource)
        return False

    async def alter(resources: list[AlterConfigsResource]) -> Sequence[AlterConfigsResourceResponse]:
        request = IncrementalAlterConfigsRequest(resources=resources, validate_only=body.validate_only)
        answer = await services.controller.incremental_alter_configs(alter_context(services, context), request)
        return answer.responses

    return _response(await settle(body.resources, check, alter))


def error_response(body: IncrementalAlterConfigsRequest, error: KafkaError) -> IncrementalAlterConfigsResponse:
    """The error, at every resource."""
    return _response(refuse_all(body.resources, error))


def _response(outcomes: Sequence[tuple[AlterConfigsResource, Outcome]]) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(responses=resource_responses(AlterConfigsResourceResponse, outcomes))


APIS: Final = (
    Api(ApiKey.INCREMENTAL_ALTER_CONFIGS, 0, 1, handle_on_broker, ListenerType.BROKER, error_response),
    Api(ApiKey.INCREMENTAL_ALTER_CONFIGS, 0, 1, handle_on_controller, ListenerType.CONTROLLER, error_response),
)
