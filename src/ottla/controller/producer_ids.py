"""Producer ids: brokers get blocks of them and hand them out one by one."""

from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.controller.cluster import check_broker_epoch
from ottla.controller.result import ControllerResult
from ottla.metadata.image import MetadataImage
from ottla.metadata.records import ProducerIdsRecord
from ottla.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse

PRODUCER_ID_BLOCK_SIZE: Final = 1000
_LONG_MAX: Final = (1 << 63) - 1


def allocate_producer_ids(
    image: MetadataImage, request: AllocateProducerIdsRequest
) -> ControllerResult[AllocateProducerIdsResponse]:
    """The next block of ids for a broker; UNKNOWN_SERVER_ERROR when there are none left."""
    check_broker_epoch(image.cluster, request.broker_id, request.broker_epoch)
    first = max(image.producer_ids.next_producer_id, 0)
    if first > _LONG_MAX - PRODUCER_ID_BLOCK_SIZE:
        raise ApiError(
            ErrorCode.UNKNOWN_SERVER_ERROR,
            "Exhausted all producerIds as the next block's end producerId has exceeded the int64 type limit",
        )
    record = ProducerIdsRecord(
        broker_id=request.broker_id,
        broker_epoch=request.broker_epoch,
        next_producer_id=first + PRODUCER_ID_BLOCK_SIZE,
    )
    response = AllocateProducerIdsResponse(producer_id_start=first, producer_id_len=PRODUCER_ID_BLOCK_SIZE)
    return ControllerResult([record], response, is_atomic=False)
