"""AlterPartition 2–3: a leader proposes its in-sync replicas."""

from collections.abc import Awaitable
from typing import Final

from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from ottla.server.api import Api, ListenerType
from ottla.server.authorizer import AclOperation, require_cluster
from ottla.server.services import ControllerServices, controller_context


def handle(
    services: ControllerServices, context: RequestContext, body: AlterPartitionRequest
) -> Awaitable[AlterPartitionResponse]:
    """The controller decides."""
    require_cluster(services.authorizer, context, AclOperation.CLUSTER_ACTION)
    return services.controller.alter_partition(controller_context(context), body)


APIS: Final = (Api(ApiKey.ALTER_PARTITION, 2, 3, handle, ListenerType.CONTROLLER),)
