"""LeaveGroup 0–5: members leave a classic group; before version 3 one at a time, whose error is the request's."""

from collections.abc import Awaitable
from typing import Final

from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from ottla.runtime.completion_chain import then
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, require_group
from ottla.server.services import BrokerServices

_MANY_MEMBERS: Final = 3


def handle(services: BrokerServices, context: RequestContext, body: LeaveGroupRequest) -> Awaitable[LeaveGroupResponse]:
    """Ask the coordinator."""
    require_group(services.authorizer, context, AclOperation.READ, body.group_id)
    if context.header.api_version >= _MANY_MEMBERS:
        return services.group_coordinator.leave_group(body)
    body.members = [MemberIdentity(member_id=body.member_id)]
    return then(services.group_coordinator.leave_group(body), _of_one_member)


def _of_one_member(response: LeaveGroupResponse) -> LeaveGroupResponse:
    if response.error_code:
        return response
    (member,) = response.members
    return LeaveGroupResponse(error_code=member.error_code)


APIS: Final = (Api(ApiKey.LEAVE_GROUP, 0, 5, handle),)
