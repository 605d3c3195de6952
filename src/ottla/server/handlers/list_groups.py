"""ListGroups 0–5: the groups that this broker coordinates; by state from version 4 on, by type from version 5 on."""

from collections.abc import Awaitable
from typing import Final

from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from ottla.runtime.completion_chain import then
from ottla.server.api import Api
from ottla.server.authorizer import CLUSTER_NAME, AclOperation, ResourceType
from ottla.server.services import BrokerServices


def handle(services: BrokerServices, context: RequestContext, body: ListGroupsRequest) -> Awaitable[ListGroupsResponse]:
    """All of them for those who may describe the cluster, else those that they may describe."""
    authorize = services.authorizer.authorize

    def visible(response: ListGroupsResponse) -> ListGroupsResponse:
        response.groups = [
            group
            for group in response.groups
            if authorize(context, AclOperation.DESCRIBE, ResourceType.GROUP, group.group_id)
        ]
        return response

    listed = services.group_coordinator.list_groups(context, body)
    if authorize(context, AclOperation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME):
        return listed
    return then(listed, visible)


APIS: Final = (Api(ApiKey.LIST_GROUPS, 0, 5, handle),)
