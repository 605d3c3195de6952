"""Transactional writes: nothing is appended before the coordinator has been asked about it (KIP-890)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.common.topic_partition import TopicPartition
from ottla.log.transaction_operation import TransactionSupportedOperation
from ottla.log.verification import VerificationGuard
from ottla.records.batch import HEADER_BYTES, RecordBatch
from ottla.replication.append_result import AppendResult
from ottla.replication.appender import Appender, Entry, Respond
from ottla.replication.transaction_verification import TransactionVerification

_UNAVAILABLE: Final = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)
"""What a producer would not retry correctly; NOT_ENOUGH_REPLICAS it does, and without asking for metadata again."""


class TransactionalProduce:
    """Asks, then appends what may be appended."""

    def __init__(self, appender: Appender, verification: TransactionVerification) -> None:
        self._appender = appender
        self._verification = verification

    def produce(
        self,
        transactional_id: str,
        entries: Sequence[Entry],
        required_acks: int,
        timeout_ms: int,
        respond: Respond,
        *,
        internal_topics_allowed: bool = False,
        operation: TransactionSupportedOperation,
    ) -> None:
        """As :meth:`Appender.append_records`; INVALID_PRODUCER_ID_MAPPING is raised for records of two producers."""
        batches = {entry[0]: batch for entry in entries if (batch := _transactional_batch(entry[2])) is not None}
        producers = {(batch.producer_id, batch.producer_epoch) for batch in batches.values()}
        if len(producers) > 1:
            raise ApiError(
                ErrorCode.INVALID_PRODUCER_ID_MAPPING, "Transactional records contained more than one producer ID"
            )

        def verified(errors: Mapping[TopicPartition, int], guards: Mapping[TopicPartition, VerificationGuard]) -> None:
            results = {
                topic_partition: _refusal(code, operation.supports_epoch_bump)
                for topic_partition, code in errors.items()
            }
            self._appender.append_records(
                [entry for entry in entries if entry[0] not in results] if results else entries,
                required_acks,
                timeout_ms,
                _merged(entries, results, respond) if results else respond,
                internal_topics_allowed=internal_topics_allowed,
                verification_guards=guards,
            )

        if not producers:
            verified({}, {})
            return
        ((producer_id, producer_epoch),) = producers
        self._verification.verify_with_retries(
            transactional_id,
            producer_id,
            producer_epoch,
            {topic_partition: batch.base_sequence for topic_partition, batch in batches.items()},
            operation=operation,
            verified=verified,
        )


def _transactional_batch(records: bytes | bytearray | memoryview) -> RecordBatch | None:
    """The first batch, if it belongs to a transaction; what is wrong with it, the append finds out."""
    if len(records) < HEADER_BYTES:
        return None
    batch = RecordBatch(records)
    return batch if batch.is_transactional and batch.producer_id >= 0 else None


def _refusal(code: int, supports_epoch_bump: bool) -> AppendResult:
    if code == ErrorCode.INVALID_TXN_STATE:
        return AppendResult(code, error_message="Partition was not added to the transaction")
    if code in _UNAVAILABLE or (code == ErrorCode.CONCURRENT_TRANSACTIONS and not supports_epoch_bump):
        return AppendResult(
            ErrorCode.NOT_ENOUGH_REPLICAS,
            error_message="Unable to verify the partition has been added to the transaction. Underlying error: "
            f"{ErrorCode(code).name}",
        )
    return AppendResult(code)


def _merged(
    entries: Sequence[Entry], refused: Mapping[TopicPartition, AppendResult], respond: Respond
) -> Callable[[list[AppendResult]], None]:
    """Put the refusals back where their entries were."""

    def respond_to_all(results: list[AppendResult]) -> None:
        appended = iter(results)
        respond([refused[entry[0]] if entry[0] in refused else next(appended) for entry in entries])

    return respond_to_all
