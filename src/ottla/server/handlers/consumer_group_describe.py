"""ConsumerGroupDescribe 0–1: consumer groups with their members and assignments (KIP-848)."""

from collections.abc import Awaitable, Iterator
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.group import refusals
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from ottla.runtime.completion_chain import then
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, ResourceType, authorized_operations, split_authorized
from ottla.server.group_protocols import require_consumer_protocol
from ottla.server.services import BrokerServices


def handle(
    services: BrokerServices, context: RequestContext, body: ConsumerGroupDescribeRequest
) -> Awaitable[ConsumerGroupDescribeResponse]:
    """Each group on its own; one that reads a topic which the client may not describe is refused."""
    require_consumer_protocol(services)
    authorizer = services.authorizer
    allowed, denied = split_authorized(authorizer, context, AclOperation.DESCRIBE, ResourceType.GROUP, body.group_ids)

    def respond(groups: list[DescribedGroup]) -> ConsumerGroupDescribeResponse:
        if body.include_authorized_operations:
            for group in groups:
                if group.error_code == ErrorCode.NONE:
                    group.authorized_operations = authorized_operations(
                        authorizer, context, ResourceType.GROUP, group.group_id
                    )
        may_describe = {
            name: authorizer.authorize(context, AclOperation.DESCRIBE, ResourceType.TOPIC, name)
            for name in dict.fromkeys(name for group in groups for name in _topic_names(group))
        }
        shown = [
            group if all(may_describe[name] for name in _topic_names(group)) else _hidden(group) for group in groups
        ]
        refused = refusals.described_consumer_groups(denied, ErrorCode.GROUP_AUTHORIZATION_FAILED)
        return ConsumerGroupDescribeResponse(groups=refused + shown)

    return then(services.group_coordinator.consumer_group_describe(context, allowed), respond)


def _topic_names(group: DescribedGroup) -> Iterator[str]:
    for member in group.members:
        for assignment in (member.assignment, member.target_assignment):
            if assignment is not None:
                yield from (topic.topic_name for topic in assignment.topic_partitions)


def _hidden(group: DescribedGroup) -> DescribedGroup:
    return DescribedGroup(
        group_id=group.group_id,
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        error_message="The group has described topic(s) that the client is not authorized to describe.",
    )


def error_response(body: ConsumerGroupDescribeRequest, error: KafkaError) -> ConsumerGroupDescribeResponse:
    """The error, at every group."""
    return ConsumerGroupDescribeResponse(groups=refusals.described_consumer_groups(body.group_ids, error.code))


APIS: Final = (Api(ApiKey.CONSUMER_GROUP_DESCRIBE, 0, 1, handle, error_response=error_response),)
