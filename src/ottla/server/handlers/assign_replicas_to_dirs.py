"""AssignReplicasToDirs 0: in which data directory a broker keeps its replicas."""

from collections.abc import Awaitable
from typing import Final

from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest, AssignReplicasToDirsResponse
from ottla.server.api import Api, ListenerType
from ottla.server.authorizer import AclOperation, require_cluster
from ottla.server.services import ControllerServices, controller_context


def handle(
    services: ControllerServices, context: RequestContext, body: AssignReplicasToDirsRequest
) -> Awaitable[AssignReplicasToDirsResponse]:
    """The controller decides."""
    require_cluster(services.authorizer, context, AclOperation.CLUSTER_ACTION)
    return services.controller.assign_replicas_to_dirs(controller_context(context), body)


APIS: Final = (Api(ApiKey.ASSIGN_REPLICAS_TO_DIRS, 0, 0, handle, ListenerType.CONTROLLER),)
