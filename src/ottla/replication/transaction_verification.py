"""Before a transaction's first write to a partition, its coordinator is asked (KIP-890).

A partition that the transaction has written to already asks nobody: its log knows of the open transaction. Any other
gets a guard from its log, which the append that follows must present.
"""

from collections.abc import Callable, Mapping
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.log.transaction_operation import TransactionSupportedOperation
from ottla.log.verification import SENTINEL, VerificationGuard
from ottla.replication.hosted_partitions import HostedPartitions
from ottla.replication.ports import TxnVerifier
from ottla.runtime.port import Runtime

Verification = Callable[[Mapping[TopicPartition, int], Mapping[TopicPartition, VerificationGuard]], None]
"""Takes the error codes of the partitions that may not be written to, and the guards for the others.

A partition without either needs none.
"""

_NO_GUARDS: Final[Mapping[TopicPartition, VerificationGuard]] = {}


class TransactionVerification:
    """Gets guards from the logs and has the coordinator asked where there is something to ask."""

    def __init__(
        self,
        runtime: Runtime,
        partitions: HostedPartitions,
        verifier: TxnVerifier,
        *,
        retry_backoff_ms: int,
        retry_timeout_ms: int,
    ) -> None:
        self._runtime = runtime
        self._clock = runtime.clock
        self._partitions = partitions
        self._verifier = verifier
        self._retry_backoff_ms = retry_backoff_ms
        self._retry_timeout_ms = retry_timeout_ms

    def verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        base_sequences: Mapping[TopicPartition, int],
        *,
        operation: TransactionSupportedOperation,
        verified: Verification,
    ) -> None:
        """Find out about the partitions that a producer wants to write to, each with its first sequence.

        ``verified`` is called once, at once or later.
        """
        errors: dict[TopicPartition, int] = {}
        guards: dict[TopicPartition, VerificationGuard] = {}
        adds = operation.supports_epoch_bump
        for topic_partition, base_sequence in base_sequences.items():
            try:
                producers = self._partitions.require(topic_partition).leader_log().producer_state
                if not adds and not producers.config.transaction_verification_enabled:
                    continue
                guard = producers.maybe_start_transaction_verification(
                    producer_id, base_sequence, producer_epoch, adds, self._clock.now_ms()
                )
            except KafkaError as error:
                errors[topic_partition] = error.code
                continue
            if guard is not SENTINEL:
                guards[topic_partition] = guard
        if not guards:
            verified(errors, _NO_GUARDS)
            return
        self._verifier.verify(
            transactional_id,
            producer_id,
            producer_epoch,
            list(guards),
            operation=operation,
            verified=lambda refused: verified({**errors, **refused}, guards),
        )

    def verify_with_retries(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        base_sequences: Mapping[TopicPartition, int],
        *,
        operation: TransactionSupportedOperation,
        verified: Verification,
    ) -> None:
        """As ``verify``; for transactions v2, a transaction before this one that still ends is waited for a little.

        Without that wait the client would send all its records again, after a longer one.
        """
        deadline_ms = self._clock.monotonic_ms() + self._retry_timeout_ms

        def answered(errors: Mapping[TopicPartition, int], guards: Mapping[TopicPartition, VerificationGuard]) -> None:
            if (
                operation.supports_epoch_bump
                and ErrorCode.CONCURRENT_TRANSACTIONS in errors.values()
                and self._clock.monotonic_ms() < deadline_ms
            ):
                self._runtime.spawn(ask_later())
            else:
                verified(errors, guards)

        def ask() -> None:
            self.verify(
                transactional_id,
                producer_id,
                producer_epoch,
                base_sequences,
                operation=operation,
                verified=answered,
            )

        async def ask_later() -> None:
            await self._runtime.sleep_ms(self._retry_backoff_ms)
            ask()

        ask()
