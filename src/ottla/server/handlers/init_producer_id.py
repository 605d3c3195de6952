"""InitProducerId 0–5: who a producer is, idempotent or transactional.

Version 6 is not stable in Apache Kafka 4.3 and therefore not offered.
"""

from collections.abc import Awaitable
from typing import Final

from ottla.common.errors import KafkaError
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, require_cluster, require_transactional_id
from ottla.server.services import BrokerServices

_NONE: Final = -1


def handle(
    services: BrokerServices, context: RequestContext, body: InitProducerIdRequest
) -> Awaitable[InitProducerIdResponse]:
    """An idempotent producer gets an id of its own; a transactional one its next epoch, or an id."""
    if body.transactional_id is None:
        require_cluster(services.authorizer, context, AclOperation.IDEMPOTENT_WRITE)
    else:
        require_transactional_id(services.authorizer, context, AclOperation.WRITE, body.transactional_id)
    return services.transaction_coordinator.init_producer_id(body, context.header.api_version)


def error_response(_body: InitProducerIdRequest, error: KafkaError) -> InitProducerIdResponse:
    """An error comes with no id and no epoch."""
    return InitProducerIdResponse(error_code=error.code, producer_id=_NONE, producer_epoch=_NONE)


APIS: Final = (Api(ApiKey.INIT_PRODUCER_ID, 0, 5, handle, error_response=error_response),)
