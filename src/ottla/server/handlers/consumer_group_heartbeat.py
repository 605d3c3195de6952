"""ConsumerGroupHeartbeat 0–1: all that a member of a consumer group says and learns (KIP-848).

From version 1 on members bring their own id, and may subscribe to topics by a regular expression.
"""

from collections.abc import Awaitable
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, ResourceType, require_group
from ottla.server.group_protocols import require_consumer_protocol
from ottla.server.services import BrokerServices


def handle(
    services: BrokerServices, context: RequestContext, body: ConsumerGroupHeartbeatRequest
) -> Awaitable[ConsumerGroupHeartbeatResponse]:
    """Ask the coordinator; a topic that the member may not describe refuses the whole subscription."""
    require_consumer_protocol(services)
    require_group(services.authorizer, context, AclOperation.READ, body.group_id)
    authorize = services.authorizer.authorize
    for name in body.subscribed_topic_names or ():
        if not authorize(context, AclOperation.DESCRIBE, ResourceType.TOPIC, name):
            raise ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    return services.group_coordinator.consumer_group_heartbeat(context, body)


APIS: Final = (Api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, 1, handle),)
