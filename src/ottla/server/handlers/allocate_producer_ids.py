"""AllocateProducerIds 0: a block of producer ids for one broker, noted in the metadata log."""

from collections.abc import Awaitable
from typing import Final

from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from ottla.server.api import Api, ListenerType
from ottla.server.authorizer import AclOperation, require_cluster
from ottla.server.services import ControllerServices, controller_context


def handle(
    services: ControllerServices, context: RequestContext, body: AllocateProducerIdsRequest
) -> Awaitable[AllocateProducerIdsResponse]:
    """The controller decides."""
    require_cluster(services.authorizer, context, AclOperation.CLUSTER_ACTION)
    return services.controller.allocate_producer_ids(controller_context(context), body)


APIS: Final = (Api(ApiKey.ALLOCATE_PRODUCER_IDS, 0, 0, handle, ListenerType.CONTROLLER),)
