"""DescribeGroups 0–6: classic groups with their members; from version 6 on one that is not there is an error."""

from collections.abc import Awaitable
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.group import refusals
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from ottla.runtime.completion_chain import then
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, ResourceType, authorized_operations, split_authorized
from ottla.server.services import BrokerServices


def handle(
    services: BrokerServices, context: RequestContext, body: DescribeGroupsRequest
) -> Awaitable[DescribeGroupsResponse]:
    """Each group on its own."""
    allowed, denied = split_authorized(
        services.authorizer, context, AclOperation.DESCRIBE, ResourceType.GROUP, body.groups
    )

    def respond(groups: list[DescribedGroup]) -> DescribeGroupsResponse:
        if body.include_authorized_operations:
            for group in groups:
                if group.error_code == ErrorCode.NONE:
                    group.authorized_operations = authorized_operations(
                        services.authorizer, context, ResourceType.GROUP, group.group_id
                    )
        refused = refusals.described_groups(denied, ErrorCode.GROUP_AUTHORIZATION_FAILED)
        return DescribeGroupsResponse(groups=refused + groups)

    return then(services.group_coordinator.describe_groups(context, allowed), respond)


def error_response(body: DescribeGroupsRequest, error: KafkaError) -> DescribeGroupsResponse:
    """The error, at every group."""
    return DescribeGroupsResponse(groups=refusals.described_groups(body.groups, error.code))


APIS: Final = (Api(ApiKey.DESCRIBE_GROUPS, 0, 6, handle, error_response=error_response),)
