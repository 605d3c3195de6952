"""UnregisterBroker 0: forget a broker that will not come back."""

from collections.abc import Awaitable
from typing import Final

from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse
from ottla.server.api import Api, ListenerType
from ottla.server.authorizer import AclOperation, require_cluster
from ottla.server.forwarding import forwarded
from ottla.server.services import ControllerServices, controller_context


def handle(
    services: ControllerServices, context: RequestContext, body: UnregisterBrokerRequest
) -> Awaitable[UnregisterBrokerResponse]:
    """The controller decides."""
    require_cluster(services.authorizer, context, AclOperation.ALTER)
    return services.controller.unregister_broker(controller_context(context), body)


APIS: Final = (
    forwarded(ApiKey.UNREGISTER_BROKER, 0, 0),
    Api(ApiKey.UNREGISTER_BROKER, 0, 0, handle, ListenerType.CONTROLLER),
)
