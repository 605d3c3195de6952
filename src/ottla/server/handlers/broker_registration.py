"""BrokerRegistration 0–4: a broker that starts says what it is."""

from collections.abc import Awaitable
from typing import Final

from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse
from ottla.server.api import Api, ListenerType
from ottla.server.authorizer import AclOperation, require_cluster
from ottla.server.services import ControllerServices, controller_context


def handle(
    services: ControllerServices, context: RequestContext, body: BrokerRegistrationRequest
) -> Awaitable[BrokerRegistrationResponse]:
    """The controller decides."""
    require_cluster(services.authorizer, context, AclOperation.CLUSTER_ACTION)
    return services.controller.register_broker(controller_context(context), body)


APIS: Final = (Api(ApiKey.BROKER_REGISTRATION, 0, 4, handle, ListenerType.CONTROLLER),)
