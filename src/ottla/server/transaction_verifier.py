"""Asks transaction coordinators about the partitions of ongoing transactions (KIP-890).

A coordinator in this broker is asked directly. One in another broker gets one request at a time, with all questions
that gathered meanwhile, at most one for each transactional id.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.internal_topics import TRANSACTION_STATE_TOPIC
from ottla.common.topic_partition import TopicPartition
from ottla.log.transaction_operation import TransactionSupportedOperation
from ottla.metadata.image.metadata import MetadataImage
from ottla.metrics.names import metric_name
from ottla.metrics.registry import Registry
from ottla.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from ottla.replication.ports import Verified
from ottla.runtime.completion import Completion
from ottla.runtime.port import Runtime

logger = logging.getLogger(__name__)

_GROUP: Final = "kafka.server"
_TYPE: Final = "AddPartitionsToTxnManager"


class CoordinatorHere(Protocol):
    """The transaction coordinator of this broker."""

    def partition_for(self, transactional_id: str) -> int:
        """The partition of ``__transaction_state`` that a transactional id belongs to."""

    def add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        *,
        client_transaction_version: int,
    ) -> Completion[None]:
        """Make partitions part of the transaction; refused as a whole."""

    def verify_partitions(
        self, transactional_id: str, producer_id: int, producer_epoch: int, partitions: Sequence[TopicPartition]
    ) -> Completion[Mapping[TopicPartition, int]]:
        """The error code of each partition; 0 for those that are part of the transaction."""


class RemoteCoordinators(Protocol):
    """Takes questions to other brokers."""

    def ask(self, node_id: int, request: AddPartitionsToTxnRequest) -> Awaitable[AddPartitionsToTxnResponse]:
        """An AddPartitionsToTxn of version 4 or later; raises where no answer came, or the broker is too old."""


class _Question(NamedTuple):
    """One transaction's partitions, and who wants to know."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: Sequence[TopicPartition]
    operation: TransactionSupportedOperation
    verified: Verified
    asked_ms: int

    def transaction(self) -> AddPartitionsToTxnTransaction:
        """The question as it goes to another broker."""
        topics: dict[str, list[int]] = {}
        for topic, index in self.partitions:
            topics.setdefault(topic, []).append(index)
        return AddPartitionsToTxnTransaction(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            verify_only=not self.operation.supports_epoch_bump,
            topics=[AddPartitionsToTxnTopic(name=name, partitions=indexes) for name, indexes in topics.items()],
        )


class TransactionVerifier:
    """See the module and :class:`ottla.replication.ports.TxnVerifier`."""

    def __init__(
        self,
        runtime: Runtime,
        node_id: int,
        image: Callable[[], MetadataImage],
        *,
        here: Callable[[], CoordinatorHere],
        remote: RemoteCoordinators | None,
        registry: Registry,
    ) -> None:
        self._runtime = runtime
        self._clock = runtime.clock
        self._node_id = node_id
        self._image = image
        self._here = here
        self._remote = remote
        self._gathered: dict[int, dict[str, _Question]] = {}
        """By broker, what goes out with the next request; a broker is here while one is under way."""
        self._failures = registry.meter(
            metric_name(_GROUP, _TYPE, "VerificationFailureRate"), "Partitions that could not be verified"
        )
        self._time_ms = registry.histogram(
            metric_name(_GROUP, _TYPE, "VerificationTimeMs"), "Time until a coordinator has answered"
        )

    def verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        *,
        operation: TransactionSupportedOperation,
        verified: Verified,
    ) -> None:
        """See the port."""
        question = _Question(
            transactional_id, producer_id, producer_epoch, partitions, operation, verified, self._clock.monotonic_ms()
        )
        try:
            index = self._here().partition_for(transactional_id)
        except KafkaError as error:
            self._refuse(question, error.code)
            return
        image = self._image()
        registration = image.topics.partition(TRANSACTION_STATE_TOPIC, index)
        leader = -1 if registration is None else registration.leader
        if leader == self._node_id:
            self._ask_here(question)
            return
        broker = image.cluster.broker(leader)
        if self._remote is None or broker is None or broker.fenced:
            self._refuse(question, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        else:
            self._gather(leader, question)

    # -- the coordinator is here --------------------------------------------------------------------------------------

    def _ask_here(self, question: _Question) -> None:
        coordinator = self._here()
        transactional_id, producer_id, producer_epoch, partitions = question[:4]
        if question.operation.supports_epoch_bump:
            coordinator.add_partitions(
                transactional_id, producer_id, producer_epoch, partitions, client_transaction_version=2
            ).add_done_callback(lambda done: self._told(question, done))
        else:
            coordinator.verify_partitions(transactional_id, producer_id, producer_epoch, partitions).add_done_callback(
                lambda done: self._told(question, done)
            )

    def _told(self, question: _Question, done: Completion[None] | Completion[Mapping[TopicPartition, int]]) -> None:
        try:
            codes = done.result()
        except KafkaError as error:
            codes = dict.fromkeys(question.partitions, error.code)
        self._answer(question, codes or {})

    # -- the coordinator is elsewhere ---------------------------------------------------------------------------------

    def _gather(self, node_id: int, question: _Question) -> None:
        gathered = self._gathered.get(node_id)
        if gathered is None:
            self._gathered[node_id] = {question.transactional_id: question}
            self._runtime.spawn(self._ask_gathered(node_id))
            return
        before = gathered.get(question.transactional_id)
        if before is not None:
            if before.producer_epoch > question.producer_epoch:
                self._refuse(question, ErrorCode.INVALID_PRODUCER_EPOCH)
                return
            # The same epoch again is a client that has lost patience: whoever still listens is to try once more.
            is_fenced = before.producer_epoch < question.producer_epoch
            self._refuse(before, ErrorCode.INVALID_PRODUCER_EPOCH if is_fenced else ErrorCode.NETWORK_EXCEPTION)
        gathered[question.transactional_id] = question

    async def _ask_gathered(self, node_id: int) -> None:
        """One request after the other, as long as there are questions for a broker."""
        assert self._remote is not None
        while questions := self._gathered[node_id]:
            self._gathered[node_id] = {}
            request = AddPartitionsToTxnRequest(
                transactions=[question.transaction() for question in questions.values()]
            )
            try:
                response = await self._remote.ask(node_id, request)
            except KafkaError as error:
                self._unanswered(node_id, questions, error)
            else:
                self._answered(questions, response)
        del self._gathered[node_id]

    def _unanswered(self, node_id: int, questions: Mapping[str, _Question], error: KafkaError) -> None:
        is_too_old = error.code == ErrorCode.UNSUPPORTED_VERSION
        logger.warning(
            "Broker %d gave no answer about %d transactions%s: %s",
            node_id,
            len(questions),
            ", because it does not know how; they go on without" if is_too_old else "",
            error,
        )
        for question in questions.values():
            if is_too_old:
                self._answer(question, {})
            else:
                self._refuse(question, error.code)

    def _answered(self, questions: Mapping[str, _Question], response: AddPartitionsToTxnResponse) -> None:
        code = response.error_code
        if code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            code = ErrorCode.INVALID_TXN_STATE  # what is wrong between brokers is not the client's to know
        answers = {
            result.transactional_id: {
                TopicPartition(topic.name, one.partition_index): one.partition_error_code
                for topic in result.topic_results
                for one in topic.results_by_partition
            }
            for result in response.results_by_transaction
        }
        for transactional_id, question in questions.items():
            if code != ErrorCode.NONE:
                self._refuse(question, code)
            elif transactional_id in answers:
                self._answer(question, answers[transactional_id])
            else:
                self._refuse(question, ErrorCode.NETWORK_EXCEPTION)

    # -- answers ------------------------------------------------------------------------------------------------------

    def _refuse(self, question: _Question, code: int) -> None:
        self._answer(question, dict.fromkeys(question.partitions, code))

    def _answer(self, question: _Question, codes: Mapping[TopicPartition, int]) -> None:
        refused = {one: _told_to_producer(code, question.operation) for one, code in codes.items() if code}
        self._failures.mark(len(refused))
        self._time_ms.record(self._clock.monotonic_ms() - question.asked_ms)
        question.verified(refused)


def _told_to_producer(code: int, operation: TransactionSupportedOperation) -> int:
    """A coordinator's error in words that producers of any age understand."""
    if code == ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code == ErrorCode.TRANSACTION_ABORTABLE and operation is TransactionSupportedOperation.DEFAULT_ERROR:
        return ErrorCode.INVALID_TXN_STATE
    return code
