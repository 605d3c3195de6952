"""A deletion of records that waits until every replica has given them up."""

from collections.abc import Callable, Sequence

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.purgatory.delayed_operation import DelayedOperation
from ottla.replication.partition import Partition


class DeleteRecordsResult:
    """The outcome for one partition, as DeleteRecords answers it."""

    __slots__ = ("error_code", "low_watermark", "requested_offset")

    def __init__(self, error_code: int = 0, low_watermark: int = -1, requested_offset: int = -1) -> None:
        self.error_code = error_code
        self.low_watermark = low_watermark
        self.requested_offset = requested_offset

    def __repr__(self) -> str:
        return f"DeleteRecordsResult(error {self.error_code}, low watermark {self.low_watermark})"


class DelayedDeleteRecords(DelayedOperation):
    """Completes when the low watermark of each partition has reached what was asked for, or never will.

    ``awaited`` has the results to wait for: they read REQUEST_TIMED_OUT until then. ``why_gone`` gives the error
    for a partition that is hosted no longer.
    """

    __slots__ = ("_awaited", "_on_expired", "_respond", "_results", "_why_gone")

    def __init__(
        self,
        timeout_ms: int,
        results: list[DeleteRecordsResult],
        awaited: Sequence[tuple[Partition, DeleteRecordsResult]],
        *,
        respond: Callable[[list[DeleteRecordsResult]], None],
        why_gone: Callable[[TopicPartition], KafkaError],
        on_expired: Callable[[int], None],
    ) -> None:
        super().__init__(timeout_ms)
        self._results = results
        self._awaited = list(awaited)
        self._respond = respond
        self._why_gone = why_gone
        self._on_expired = on_expired
        for _, result in awaited:
            result.error_code = ErrorCode.REQUEST_TIMED_OUT

    def try_complete(self) -> bool:
        """Look at the partitions that are still awaited."""
        pending = []
        for partition, result in self._awaited:
            if not partition.is_leader:
                gone = partition.log is None
                result.error_code = (
                    self._why_gone(partition.topic_partition).code if gone else ErrorCode.NOT_LEADER_OR_FOLLOWER
                )
                result.low_watermark = -1
                continue
            low_watermark = partition.low_watermark
            if low_watermark >= result.requested_offset:
                result.error_code = ErrorCode.NONE
                result.low_watermark = low_watermark
            else:
                pending.append((partition, result))
        self._awaited = pending
        return not pending and self.force_complete()

    def on_complete(self) -> None:
        """Answer."""
        self._respond(self._results)

    def on_expiration(self) -> None:
        """Count the partitions that were late."""
        self._on_expired(len(self._awaited))
