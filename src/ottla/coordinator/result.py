"""What an operation of a coordinator decides: records to write, and the answer once they are committed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ottla.common.errors import KafkaError
from ottla.coordinator.record import CoordinatorRecord

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CoordinatorResult(Generic[T]):
    """The outcome of a write operation, which itself has changed nothing that is durable.

    The runtime appends ``records`` as one batch, replays them, and releases ``response`` when they are committed. If
    the append fails nothing is replayed, and the caller gets the error instead of the response.
    """

    records: Sequence[CoordinatorRecord]
    response: T
    on_committed: Callable[[KafkaError | None], None] | None = None
    """Called when the records are committed (None) or will not be (the error), before the response is released. For
    state that is not durable (members who wait to join) and must follow the fate of the records.
    """
    replay: bool = True
    """False when the operation's own state already says what the records say (classic groups)."""
    is_atomic: bool = True
    """False when the records may be written in several batches."""


TimerOperation = Callable[[int], CoordinatorResult[None]]
"""What to do when a timer is due, at a time in ms."""

NOTHING: CoordinatorResult[Any] = CoordinatorResult((), None)
"""No records and no answer."""
