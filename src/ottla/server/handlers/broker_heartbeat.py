"""BrokerHeartbeat 0–2: a broker is alive, wants to be unfenced, or wants to go."""

from collections.abc import Awaitable
from typing import Final

from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from ottla.server.api import Api, ListenerType
from ottla.server.authorizer import AclOperation, require_cluster
from ottla.server.services import ControllerServices, controller_context


def handle(
    services: ControllerServices, context: RequestContext, body: BrokerHeartbeatRequest
) -> Awaitable[BrokerHeartbeatResponse]:
    """The controller decides."""
    require_cluster(services.authorizer, context, AclOperation.CLUSTER_ACTION)
    return services.controller.process_broker_heartbeat(controller_context(context), body)


APIS: Final = (Api(ApiKey.BROKER_HEARTBEAT, 0, 2, handle, ListenerType.CONTROLLER),)
