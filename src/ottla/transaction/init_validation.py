"""What an InitProducerId may ask for."""

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, InvalidRequestError
from ottla.config.sections import TransactionConfig
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from ottla.transaction.init_producer import InitProducerId
from ottla.transaction.metadata import NO_PRODUCER, TWO_PHASE_COMMIT_TIMEOUT_MS, ProducerIdAndEpoch


def validate_init_producer_id(request: InitProducerIdRequest, config: TransactionConfig) -> InitProducerId | None:
    """The request of a transactional producer; None for one that is only idempotent, which just gets an id."""
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
        raise InvalidRequestError("a producer id comes with its epoch, or neither is given")
    if request.transactional_id is None:
        return None
    if not request.transactional_id:
        raise InvalidRequestError("a transactional id is not empty")
    if request.enable2_pc and not config.transaction_two_phase_commit_enable:
        raise ApiError(
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "transaction.two.phase.commit.enable is not set"
        )
    if request.keep_prepared_txn:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, "prepared transactions cannot be kept, as in Apache Kafka 4.3")
    timeout_ms = TWO_PHASE_COMMIT_TIMEOUT_MS if request.enable2_pc else request.transaction_timeout_ms
    if not request.enable2_pc and not 0 < timeout_ms <= config.transaction_max_timeout_ms:
        raise ApiError(
            ErrorCode.INVALID_TRANSACTION_TIMEOUT,
            f"{timeout_ms} ms is not between 1 and transaction.max.timeout.ms, {config.transaction_max_timeout_ms}",
        )
    producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    return InitProducerId(request.transactional_id, timeout_ms, None if producer == NO_PRODUCER else producer)
