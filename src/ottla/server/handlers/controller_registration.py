"""ControllerRegistration 0: a controller says where it listens and what it supports."""

from collections.abc import Awaitable
from typing import Final

from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from ottla.server.api import Api, ListenerType
from ottla.server.authorizer import AclOperation, require_cluster
from ottla.server.services import ControllerServices, controller_context


def handle(
    services: ControllerServices, context: RequestContext, body: ControllerRegistrationRequest
) -> Awaitable[ControllerRegistrationResponse]:
    """The controller decides."""
    require_cluster(services.authorizer, context, AclOperation.CLUSTER_ACTION)
    return services.controller.register_controller(controller_context(context), body)


APIS: Final = (Api(ApiKey.CONTROLLER_REGISTRATION, 0, 0, handle, ListenerType.CONTROLLER),)
