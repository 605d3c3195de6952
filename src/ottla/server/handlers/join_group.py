"""JoinGroup 0–9: become a member of a classic group; answered when its next generation begins.

Version 0 has no rebalance timeout of its own. From version 7 on an answer without a protocol has null for its name,
before that an empty string.
"""

from collections.abc import Awaitable
from typing import Final

from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from ottla.runtime.completion_chain import then
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, require_group
from ottla.server.services import BrokerServices

_NULLABLE_PROTOCOL: Final = 7


def handle(services: BrokerServices, context: RequestContext, body: JoinGroupRequest) -> Awaitable[JoinGroupResponse]:
    """Ask the coordinator."""
    version = context.header.api_version
    require_group(services.authorizer, context, AclOperation.READ, body.group_id)
    if version == 0:
        body.rebalance_timeout_ms = body.session_timeout_ms
    joined = services.group_coordinator.join_group(context, body)
    return then(joined, lambda response: _in_version(response, version))


def _in_version(response: JoinGroupResponse, version: int) -> JoinGroupResponse:
    if not response.protocol_name:
        response.protocol_name = None if version >= _NULLABLE_PROTOCOL else ""
    return response


APIS: Final = (Api(ApiKey.JOIN_GROUP, 0, 9, handle),)
