"""AlterConfigs 0–2: the old form, in which a resource gets exactly the keys named and loses all others."""

from collections.abc import Sequence
from typing import Final

from ottla.common.errors import InvalidRequestError, KafkaError
from ottla.metadata.image.configs import ConfigResourceType
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from ottla.server.api import Api, ListenerType
from ottla.server.authorizer import AclOperation
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
    services: BrokerServices, context: RequestContext, body: AlterConfigsRequest
) -> AlterConfigsResponse:
    """Check what only this broker can; the controller does the rest."""
    require_once = require_each_once(body.resources)

    def check(resource: AlterConfigsResource) -> bool:
        require_once(resource)
        require_well_formed(resource.configs, [config.name for config in resource.configs if config.value is None])
        if resource.resource_type == ConfigResourceType.BROKER:
            require_own_broker(services, resource.resource_name)
            props = {config.name: config.value for config in resource.configs if config.value is not None}
            services.config.validate_change(props, per_broker=bool(resource.resource_name))
        elif resource.resource_type not in PASSED_ON_TYPES:
            raise InvalidRequestError(f"Unknown resource type {resource.resource_type}")
        return False

    async def forward(resources: list[AlterConfigsResource]) -> Sequence[AlterConfigsResourceResponse]:
        request = AlterConfigsRequest(resources=resources, validate_only=body.validate_only)
        response = await services.controller_channel.forward(ApiKey.ALTER_CONFIGS, request, context)
        await services.metadata_settled()
        assert isinstance(response, AlterConfigsResponse)
        return response.responses

    return _response(await settle(body.resources, check, forward))


async def handle_on_controller(
    services: ControllerServices, context: RequestContext, body: AlterConfigsRequest
) -> AlterConfigsResponse:
    """The controller decides about the resources that the principal may alter."""

    def check(resource: AlterConfigsResource) -> bool:
        if resource.resource_type == ConfigResourceType.BROKER_LOGGER:
            raise InvalidRequestError("Unexpected resource type BROKER_LOGGER.")
        require_allowed(services.authorizer, context, AclOperation.ALTER_CONFIGS, resource)
        return False

    async def alter(resources: list[AlterConfigsResource]) -> Sequence[AlterConfigsResourceResponse]:
        request = AlterConfigsRequest(resources=resources, validate_only=body.validate_only)
        return (await services.controller.alter_configs(alter_context(services, context), request)).responses

    return _response(await settle(body.resources, check, alter))


def error_response(body: AlterConfigsRequest, error: KafkaError) -> AlterConfigsResponse:
    """The error, at every resource."""
    return _response(refuse_all(body.resources, error))


def _response(outcomes: Sequence[tuple[AlterConfigsResource, Outcome]]) -> AlterConfigsResponse:
    return AlterConfigsResponse(responses=resource_responses(AlterConfigsResourceResponse, outcomes))


APIS: Final = (
    Api(ApiKey.ALTER_CONFIGS, 0, 2, handle_on_broker, ListenerType.BROKER, error_response),
    Api(ApiKey.ALTER_CONFIGS, 0, 2, handle_on_controller, ListenerType.CONTROLLER, error_response),
)
