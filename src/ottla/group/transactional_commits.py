"""Offsets that are committed with a transaction."""

from typing import Protocol

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.coordinator.errors import coordinator_error
from ottla.coordinator.shard_context import TransactionalAppend
from ottla.group import refusals
from ottla.group.shard_access import ShardAccess
from ottla.log.verification import VerificationGuard
from ottla.network.request import RequestContext
from ottla.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from ottla.runtime.completion import Completion


class TransactionVerifier(Protocol):
    """Asks whether a transaction may write to a partition of this coordinator."""

    def start_verification(
        self,
        topic_partition: TopicPartition,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        api_version: int,
    ) -> Completion[VerificationGuard]:
        """The guard that the append must present; fails with the error if the transaction may not write."""


class TransactionalCommits:
    """TxnOffsetCommit: verify, then write."""

    __slots__ = ("_shards", "_verifier")

    def __init__(self, shards: ShardAccess, verifier: TransactionVerifier) -> None:
        self._shards = shards
        self._verifier = verifier

    def commit(self, context: RequestContext, request: TxnOffsetCommitRequest) -> Completion[TxnOffsetCommitResponse]:
        """Commit offsets that count when their transaction does; its coordinator is asked first."""

        def answer(error: KafkaError) -> TxnOffsetCommitResponse:
            return refusals.txn_offset_commit(request, coordinator_error(error).code)

        response: Completion[TxnOffsetCommitResponse] = Completion()

        def write(verified: Completion[VerificationGuard]) -> None:
            if verified.error is not None:
                response.complete(answer(verified.error))
                return
            self._shards.write(
                request.group_id,
                lambda shard, now_ms: shard.commit_transactional_offset(context, request, now_ms),
                answer,
                TransactionalAppend(request.producer_id, request.producer_epoch, verified.result()),
            ).add_done_callback(lambda done: response.complete(done.result()))

        try:
            if not request.group_id:
                raise ApiError(ErrorCode.INVALID_GROUP_ID)
            topic_partition = self._shards.partitioner.topic_partition_for(request.group_id)
        except KafkaError as error:
            return Completion.done(answer(error))
        self._verifier.start_verification(
            topic_partition,
            request.transactional_id,
            request.producer_id,
            request.producer_epoch,
            context.header.api_version,
        ).add_done_callback(write)
        return response
