"""UpdateFeatures 0–2: the levels of metadata.version and the other features."""

from collections.abc import Awaitable
from typing import Final

from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse
from ottla.server.api import Api, ListenerType
from ottla.server.authorizer import AclOperation, require_cluster
from ottla.server.forwarding import forwarded
from ottla.server.services import ControllerServices, controller_context


def handle(
    services: ControllerServices, context: RequestContext, body: UpdateFeaturesRequest
) -> Awaitable[UpdateFeaturesResponse]:
    """The controller decides."""
    require_cluster(services.authorizer, context, AclOperation.ALTER)
    return services.controller.update_features(controller_context(context), body)


APIS: Final = (
    forwarded(ApiKey.UPDATE_FEATURES, 0, 2),
    Api(ApiKey.UPDATE_FEATURES, 0, 2, handle, ListenerType.CONTROLLER),
)
