"""SyncGroup 0–5: the leader of a classic group tells who reads what, every member learns its part.

From version 5 on the protocol must be named, so that a member of an old generation with another one is found out.
"""

from collections.abc import Awaitable
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, require_group
from ottla.server.services import BrokerServices

_PROTOCOL_MANDATORY: Final = 5


def handle(services: BrokerServices, context: RequestContext, body: SyncGroupRequest) -> Awaitable[SyncGroupResponse]:
    """Ask the coordinator."""
    if context.header.api_version >= _PROTOCOL_MANDATORY and (body.protocol_type is None or body.protocol_name is None):
        raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    require_group(services.authorizer, context, AclOperation.READ, body.group_id)
    return services.group_coordinator.sync_group(body)


APIS: Final = (Api(ApiKey.SYNC_GROUP, 0, 5, handle),)
