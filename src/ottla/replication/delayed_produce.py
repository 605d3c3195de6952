"""A produce with acks=all that waits for its records to be committed."""

from collections.abc import Callable, Sequence
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.purgatory.delayed_operation import DelayedOperation
from ottla.replication.append_result import AppendResult
from ottla.replication.partition import Partition

REQUEST_TIMED_OUT: Final = int(ErrorCode.REQUEST_TIMED_OUT)


class DelayedProduce(DelayedOperation):
    """Completes when each partition is either committed up to its last record, or never will be.

    ``results`` runs parallel to the request. ``awaited`` has the results to wait for: they read REQUEST_TIMED_OUT
    until their partition decides otherwise. ``why_gone`` gives the error for a partition that is hosted no longer.
    """

    __slots__ = ("_awaited", "_on_expired", "_respond", "_results", "_why_gone")

    def __init__(
        self,
        timeout_ms: int,
        results: list[AppendResult],
        awaited: Sequence[tuple[Partition, AppendResult]],
        *,
        respond: Callable[[list[AppendResult]], None],
        why_gone: Callable[[TopicPartition], KafkaError],
        on_expired: Callable[[Partition], None],
    ) -> None:
        super().__init__(timeout_ms)
        self._results = results
        self._awaited = list(awaited)
        self._respond = respond
        self._why_gone = why_gone
        self._on_expired = on_expired
        for _, result in awaited:
            result.error_code = REQUEST_TIMED_OUT

    def try_complete(self) -> bool:
        """Look at the partitions that are still awaited."""
        pending = []
        for partition, result in self._awaited:
            if partition.log is None:
                error_code: int | None = self._why_gone(partition.topic_partition).code
            else:
                error_code = partition.check_enough_replicas_reach_offset(result.last_offset + 1)
            if error_code is None:
                pending.append((partition, result))
            else:
                result.error_code = error_code
        self._awaited = pending
        return not pending and self.force_complete()

    def on_complete(self) -> None:
        """Answer."""
        self._respond(self._results)

    def on_expiration(self) -> None:
        """Count the partitions that were late."""
        for partition, _ in self._awaited:
            self._on_expired(partition)
