"""The requests that a node has been sent and has not answered, in the order of their answers."""

from collections import deque
from typing import Final, Generic, TypeVar

from ottla.network.client_errors import CorrelationIdMismatchError
from ottla.protocol.api_keys import ApiKey

T = TypeVar("T")

_CORRELATION_ID_MASK: Final = 2**31 - 1


class InFlightRequest(Generic[T]):
    """A request on its way; ``waiter`` is whoever wants the answer."""

    __slots__ = ("api_key", "api_version", "correlation_id", "deadline_ms", "waiter")

    def __init__(self, api_key: ApiKey, api_version: int, correlation_id: int, deadline_ms: int, waiter: T) -> None:
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.deadline_ms = deadline_ms
        self.waiter = waiter


class InFlightRequests(Generic[T]):
    """At most ``max_requests`` on one connection; a node answers them in order, which their correlation ids prove.

    The ids count from 0 on each connection and start again after 2**31 - 1. Apache keeps some for SASL, whose answers
    it reads outside of this queue; ours go through it.
    """

    __slots__ = ("_max_requests", "_next_correlation_id", "_requests")

    def __init__(self, max_requests: int) -> None:
        self._max_requests = max_requests
        self._requests: deque[InFlightRequest[T]] = deque()
        self._next_correlation_id = 0

    def __len__(self) -> int:
        return len(self._requests)

    @property
    def can_send_more(self) -> bool:
        """Whether another one fits."""
        return len(self._requests) < self._max_requests

    def next_correlation_id(self) -> int:
        """The number of the next request, also of one that expects no answer."""
        correlation_id = self._next_correlation_id
        self._next_correlation_id = (correlation_id + 1) & _CORRELATION_ID_MASK
        return correlation_id

    def add(self, request: InFlightRequest[T]) -> None:
        """Note a request that is being sent."""
        self._requests.append(request)

    def complete_next(self, correlation_id: int) -> InFlightRequest[T]:
        """The request that has been answered: the oldest, or it is a CorrelationIdMismatchError."""
        requests = self._requests
        if not requests:
            raise CorrelationIdMismatchError(f"An answer with correlation id {correlation_id} to no request")
        oldest = requests[0]
        if oldest.correlation_id != correlation_id:
            raise CorrelationIdMismatchError(
                f"Correlation id for response ({correlation_id}) does not match request ({oldest.correlation_id}), "
                f"{oldest.api_key.api_name} version {oldest.api_version}"
            )
        return requests.popleft()

    def next_deadline_ms(self) -> int | None:
        """When the first of them is overdue; not always the oldest, for each brings its own patience."""
        return min((request.deadline_ms for request in self._requests), default=None)

    def has_expired(self, now_ms: int) -> bool:
        """Whether one is overdue."""
        deadline_ms = self.next_deadline_ms()
        return deadline_ms is not None and deadline_ms < now_ms

    def increment_throttle_time(self, throttle_time_ms: int) -> None:
        """Give all of them more time: the node has said that it holds answers back."""
        for request in self._requests:
            request.deadline_ms += throttle_time_ms

    def clear_all(self) -> list[InFlightRequest[T]]:
        """Give all of them up, oldest first."""
        cleared = list(self._requests)
        self._requests.clear()
        return cleared
