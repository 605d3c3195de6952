"""Finds the shard of a group, runs operations there, and turns whatever goes wrong into an answer."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from ottla.common.errors import KafkaError
from ottla.common.internal_topics import GROUP_METADATA_TOPIC
from ottla.common.topic_partition import TopicPartition
from ottla.coordinator.errors import coordinator_error
from ottla.coordinator.partitioner import CoordinatorPartitioner
from ottla.coordinator.result import CoordinatorResult
from ottla.coordinator.runtime import CoordinatorRuntime
from ottla.coordinator.shard_context import TransactionalAppend
from ottla.group.shard import GroupCoordinatorShard
from ottla.runtime.completion import Completion
from ottla.runtime.completion_chain import gather, recover, then

T = TypeVar("T")

Answer = Callable[[KafkaError], T]
Write = Callable[[GroupCoordinatorShard, int], CoordinatorResult[T]]
Read = Callable[[GroupCoordinatorShard, int], T]
DeferredWrite = Callable[[GroupCoordinatorShard, Callable[[T], None], int], CoordinatorResult[None]]
"""An operation that calls back with its answer, at once or later."""


class ShardAccess:
    """The ``answer`` of each method makes a response of an error, which is in words that clients know."""

    __slots__ = ("partitioner", "runtime")

    def __init__(self, runtime: CoordinatorRuntime[GroupCoordinatorShard]) -> None:
        self.runtime = runtime
        self.partitioner = CoordinatorPartitioner(GROUP_METADATA_TOPIC)

    def write(
        self, group_id: str, operation: Write[T], answer: Answer[T], transaction: TransactionalAppend | None = None
    ) -> Completion[T]:
        """Run an operation on the shard of a group."""
        try:
            topic_partition = self.partitioner.topic_partition_for(group_id)
        except KafkaError as error:
            return Completion.done(answer(error))
        return recover(
            self.runtime.write(topic_partition, operation, transaction), lambda error: answer(coordinator_error(error))
        )

    def write_deferred(self, group_id: str, operation: DeferredWrite[T], answer: Answer[T]) -> Completion[T]:
        """Run an operation whose answer comes later, unless its own records fail before."""
        response: Completion[T] = Completion()

        def respond(answered: T) -> None:
            if not response.is_done:  # a failed append has been told already
                response.complete(answered)

        def written(done: Completion[None]) -> None:
            if done.error is not None:
                respond(answer(coordinator_error(done.error)))

        try:
            topic_partition = self.partitioner.topic_partition_for(group_id)
        except KafkaError as error:
            respond(answer(error))
        else:
            self.runtime.write(
                topic_partition, lambda shard, now_ms: operation(shard, respond, now_ms)
            ).add_done_callback(written)
        return response

    def read(self, group_id: str, operation: Read[T], answer: Answer[T]) -> Completion[T]:
        """Ask the shard of a group."""
        try:
            topic_partition = self.partitioner.topic_partition_for(group_id)
        except KafkaError as error:
            return Completion.done(answer(error))
        return recover(self.runtime.read(topic_partition, operation), lambda error: answer(coordinator_error(error)))

    def for_each_shard(
        self,
        group_ids: Iterable[str],
        ask: Callable[[TopicPartition, list[str]], Completion[list[T]]],
        answer: Callable[[list[str], int], list[T]],
    ) -> Completion[list[T]]:
        """Ask every shard once for all of its groups; the answers in one list."""
        by_partition: dict[TopicPartition, list[str]] = {}
        try:
            for group_id in group_ids:
                by_partition.setdefault(self.partitioner.topic_partition_for(group_id), []).append(group_id)
        except KafkaError as error:
            return Completion.done(answer(list(group_ids), error.code))

        def recovered(topic_partition: TopicPartition, ids: list[str]) -> Completion[list[T]]:
            return recover(ask(topic_partition, ids), lambda error: answer(ids, coordinator_error(error).code))

        answers = gather([recovered(topic_partition, ids) for topic_partition, ids in by_partition.items()])
        return then(answers, lambda lists: [each for answered in lists for each in answered])
