"""DeleteGroups 0–2: groups without members go, and their offsets with them."""

from collections.abc import Awaitable
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.group import refusals
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from ottla.runtime.completion_chain import then
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, ResourceType, split_authorized
from ottla.server.services import BrokerServices


def handle(
    services: BrokerServices, context: RequestContext, body: DeleteGroupsRequest
) -> Awaitable[DeleteGroupsResponse]:
    """Each group on its own, and once."""
    allowed, denied = split_authorized(
        services.authorizer, context, AclOperation.DELETE, ResourceType.GROUP, dict.fromkeys(body.groups_names)
    )
    refused = refusals.deleted_groups(denied, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    return then(
        services.group_coordinator.delete_groups(allowed),
        lambda results: DeleteGroupsResponse(results=results + refused),
    )


def error_response(body: DeleteGroupsRequest, error: KafkaError) -> DeleteGroupsResponse:
    """The error, at every group."""
    return DeleteGroupsResponse(results=refusals.deleted_groups(body.groups_names, error.code))


APIS: Final = (Api(ApiKey.DELETE_GROUPS, 0, 2, handle, error_response=error_response),)
