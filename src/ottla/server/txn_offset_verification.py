"""Asks whether a transaction may commit offsets, before the group coordinator writes them."""

from collections.abc import Mapping

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.common.topic_partition import TopicPartition
from ottla.log.transaction_operation import TransactionSupportedOperation
from ottla.log.verification import SENTINEL, VerificationGuard
from ottla.records.batch import NO_SEQUENCE
from ottla.replication.replica_manager import ReplicaManager
from ottla.runtime.completion import Completion


class TxnOffsetVerification:
    """See :class:`ottla.group.transactional_commits.TransactionVerifier`."""

    def __init__(self, replicas: ReplicaManager) -> None:
        self._replicas = replicas

    def start_verification(
        self,
        topic_partition: TopicPartition,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        api_version: int,
    ) -> Completion[VerificationGuard]:
        """See the port; ``api_version`` is that of a TxnOffsetCommit."""
        guard: Completion[VerificationGuard] = Completion()

        def verified(errors: Mapping[TopicPartition, int], guards: Mapping[TopicPartition, VerificationGuard]) -> None:
            code = errors.get(topic_partition, ErrorCode.NONE)
            if code:
                guard.fail(ApiError(ErrorCode(code)))
            else:
                guard.complete(guards.get(topic_partition, SENTINEL))

        self._replicas.verify_transaction(
            transactional_id,
            producer_id,
            producer_epoch,
            {topic_partition: NO_SEQUENCE},
            operation=TransactionSupportedOperation.of_txn_offset_commit(api_version),
            verified=verified,
        )
        return guard
