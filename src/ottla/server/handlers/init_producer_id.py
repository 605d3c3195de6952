"""InitProducerId 0–5: an id for an idempotent producer. Transactional ids need the transaction coordinator.

Version 6 is not stable in Apache Kafka 4.3 and therefore not offered.
"""

from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, InvalidRequestError, KafkaError
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from ottla.server.api import Api
from ottla.server.authorizer import AclOperation, require_cluster
from ottla.server.services import BrokerServices

_NONE: Final = -1


async def handle(
    services: BrokerServices, context: RequestContext, body: InitProducerIdRequest
) -> InitProducerIdResponse:
    """A fresh id with epoch 0: an idempotent producer that asks again starts anew."""
    if body.transactional_id is not None:
        raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "there is no transaction coordinator in this broker yet")
    require_cluster(services.authorizer, context, AclOperation.IDEMPOTENT_WRITE)
    if (body.producer_id == _NONE) != (body.producer_epoch == _NONE):
        raise InvalidRequestError("a producer id comes with its epoch, or neither is given")
    return InitProducerIdResponse(producer_id=await services.producer_ids.generate(), producer_epoch=0)


def error_response(_body: InitProducerIdRequest, error: KafkaError) -> InitProducerIdResponse:
    """An error comes with no id and no epoch."""
    return InitProducerIdResponse(error_code=error.code, producer_id=_NONE, producer_epoch=_NONE)


APIS: Final = (Api(ApiKey.INIT_PRODUCER_ID, 0, 5, handle, error_response=error_response),)
