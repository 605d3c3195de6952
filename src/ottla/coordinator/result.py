"""What an operation of a coordinator decides: records to write, and the answer once they are committed."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from ottla.common.errors import KafkaError
from ottla.coordinator.record import CoordinatorRecord

T = TypeVar("T")


class CoordinatorResult(Generic[T]):
    """The outcome of a write operation, which itself has changed nothing that is durable. It does not change.

    The runtime appends ``records`` as one batch, replays them, and releases ``response`` when they are committed. If
    the append fails nothing is replayed, and the caller gets the error instead of the response.
    """

    __slots__ = ("is_atomic", "on_committed", "records", "replay", "response")

    def __init__(
        self,
        records: Sequence[CoordinatorRecord],
        response: T,
        on_committed: Callable[[KafkaError | None], None] | None = None,
        *,
        replay: bool = True,
        is_atomic: bool = True,
    ) -> None:
        self.records = records
        self.response = response
        self.on_committed = on_committed
        """Called when the records are committed (None) or will not be (the error), before the response is released. For
        state that is not durable (members who wait to join) and must follow the fate of the records.
        """
        self.replay = replay
        """False when the operation's own state already says what the records say (classic groups)."""
        self.is_atomic = is_atomic
        """False when the records may be written in several batches."""


TimerOperation = Callable[[int], CoordinatorResult[None]]
"""What to do when a timer is due, at a time of the wall clock, for its records."""

NOTHING: CoordinatorResult[Any] = CoordinatorResult((), None)
"""No records and no answer."""
