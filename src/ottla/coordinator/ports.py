"""What a coordinator needs of the partition that it lives on: implemented in ``server`` on top of replication."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.log.verification import SENTINEL, VerificationGuard

Acknowledge = Callable[[KafkaError | None], None]
"""Called once: records are committed (None), or nobody knows whether they will be."""


class Appended(NamedTuple):
    """Where a batch is in the log."""

    base_offset: int
    is_committed: bool
    """False: ``acknowledge`` will be called, after the append has returned."""


class PartitionWriter(Protocol):
    """Appends to the leader's log."""

    def append(
        self,
        topic_partition: TopicPartition,
        batch: bytearray,
        acknowledge: Acknowledge,
        *,
        verification_guard: VerificationGuard = SENTINEL,
        transaction_version: int = -1,
    ) -> Appended:
        """Append one batch; a KafkaError means that nothing was written."""

    def await_committed(self, topic_partition: TopicPartition, end_offset: int, acknowledge: Acknowledge) -> bool:
        """Whether everything below an offset is committed; if not yet, ``acknowledge`` is called when it is."""

    def max_batch_bytes(self, topic_partition: TopicPartition) -> int:
        """The largest batch that the topic takes; a KafkaError where this broker does not lead."""


class PartitionReader(Protocol):
    """Reads the log that a coordinator is loaded from."""

    def bounds(self, topic_partition: TopicPartition) -> tuple[int, int]:
        """The first offset and the end of the log; a KafkaError where this broker no longer leads."""

    async def read(self, topic_partition: TopicPartition, offset: int, max_bytes: int) -> bytes:
        """Whole batches from the one that holds ``offset`` on, at least one; nothing if there are none."""
