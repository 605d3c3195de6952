"""Heartbeat 0–4: a member of a classic group is alive, and learns whether the group rebalances."""

from collections.abc import Awaitable
from typing import Final

from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, require_group
from ottla.server.services import BrokerServices


def handle(services: BrokerServices, context: RequestContext, body: HeartbeatRequest) -> Awaitable[HeartbeatResponse]:
    """Ask the coordinator."""
    require_group(services.authorizer, context, AclOperation.READ, body.group_id)
    return services.group_coordinator.heartbeat(body)


APIS: Final = (Api(ApiKey.HEARTBEAT, 0, 4, handle),)
