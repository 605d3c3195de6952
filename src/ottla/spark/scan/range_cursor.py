"""How far the reading of one range has come. Pure."""

from typing import Final

from ottla.common.topic_partition import TopicPartition
from ottla.spark.scan.offset_range import OffsetRange

BYTES_PER_OFFSET_GUESS: Final = 64
"""What an offset is taken to cost before anything of the range was seen."""
EMPTY_ANSWERS_MAX: Final = 3
"""So often a broker may say that it has everything up to the end and send nothing, until it is asked for the reason."""


class RangeCursor:
    """idle → in flight → idle …, until ``position`` reaches the end; or a lookup where the log begins and ends.

    ``waiting_since_ms`` is when the broker was first asked for what has not come since; None while nobody asks.
    """

    __slots__ = (
        "_bytes_seen",
        "_offsets_seen",
        "empty_answers",
        "in_flight",
        "needs_lookup",
        "partition",
        "position",
        "replica_id",
        "replica_until_ms",
        "retry_at_ms",
        "short_end_offset",
        "unknown_since_ms",
        "waiting_since_ms",
        "wanted",
        "why",
    )

    def __init__(self, wanted: OffsetRange) -> None:
        self.wanted = wanted
        self.partition = TopicPartition(wanted.topic, wanted.partition)
        self.position = wanted.start_offset
        self.in_flight = False
        self.needs_lookup = False
        self.replica_id = -1
        """The follower that the leader sent us to (client.rack)."""
        self.replica_until_ms = 0
        self.retry_at_ms = 0
        self.waiting_since_ms: int | None = None
        self.unknown_since_ms: int | None = None
        """Since when nobody knows of the partition."""
        self.empty_answers = 0
        self.short_end_offset: int | None = None
        """Where the log ends, if that is before the range does."""
        self.why = "nothing was answered"
        self._bytes_seen = 0
        self._offsets_seen = 0

    @property
    def is_done(self) -> bool:
        """Whether all of the range was fetched."""
        return self.position >= self.wanted.end_offset

    @property
    def is_taken_for_empty(self) -> bool:
        """Whether the broker has all that is left of the range, and there seem to be no records in it."""
        return self.empty_answers >= EMPTY_ANSWERS_MAX

    @property
    def offsets_left(self) -> int:
        """How many offsets are left to fetch; there may be fewer records."""
        return self.wanted.end_offset - self.position

    @property
    def bytes_left(self) -> int:
        """About how many bytes are left to fetch."""
        if not self._offsets_seen:
            return self.offsets_left * BYTES_PER_OFFSET_GUESS
        return self.offsets_left * self._bytes_seen // self._offsets_seen + 1

    @property
    def is_measured(self) -> bool:
        """Whether ``bytes_left`` stands on more than a guess."""
        return self._offsets_seen > 0

    def asked(self, now_ms: int) -> None:
        """A request is under way."""
        self.in_flight = True
        if self.waiting_since_ms is None:
            self.waiting_since_ms = now_ms

    def moved(self, position: int, size_in_bytes: int) -> None:
        """Records up to here came, or were never there."""
        if size_in_bytes:
            self._bytes_seen += size_in_bytes
            self._offsets_seen += position - self.position
        self.position = position
        self.heard()
        self.empty_answers = 0
        self.short_end_offset = None

    def heard(self) -> None:
        """The broker answers for this partition; whether it sent anything is another matter."""
        self.waiting_since_ms = None
        self.unknown_since_ms = None

    def put_off(self, until_ms: int, why: str) -> None:
        """Not to be asked for before this."""
        self.retry_at_ms = until_ms
        self.why = why
