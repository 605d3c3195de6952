"""When a classic member heartbeats, and when it takes its session for lost."""


class HeartbeatClock:
    """Counts from the moment the member joined."""

    __slots__ = ("_due_ms", "_heard_ms", "_interval_ms", "_retry_backoff_ms", "_session_timeout_ms")

    def __init__(self, interval_ms: int, session_timeout_ms: int, retry_backoff_ms: int) -> None:
        self._interval_ms = interval_ms
        self._session_timeout_ms = session_timeout_ms
        self._retry_backoff_ms = retry_backoff_ms
        self._due_ms = 0
        self._heard_ms = 0

    def reset(self, now_ms: int) -> None:
        """A session begins, or a new coordinator is tried."""
        self._heard_ms = now_ms
        self._due_ms = now_ms + self._interval_ms

    def sent(self, now_ms: int) -> None:
        """A heartbeat went out."""
        self._due_ms = now_ms + self._interval_ms

    def heard(self, now_ms: int) -> None:
        """The coordinator answered."""
        self._heard_ms = now_ms

    def failed(self, now_ms: int) -> None:
        """A heartbeat got no good answer: the next one comes soon."""
        self._due_ms = now_ms + self._retry_backoff_ms

    def is_due(self, now_ms: int) -> bool:
        """Whether to heartbeat now."""
        return now_ms >= self._due_ms

    def is_session_expired(self, now_ms: int) -> bool:
        """Whether the coordinator said nothing for session.timeout.ms."""
        return now_ms > self.session_deadline_ms()

    def session_deadline_ms(self) -> int:
        """When the session is over unless the coordinator answers."""
        return self._heard_ms + self._session_timeout_ms

    def deadline_ms(self) -> int:
        """When the next heartbeat is due."""
        return self._due_ms
