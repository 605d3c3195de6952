"""Which segments have outlived their topic's retention. Pure."""

import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from ottla.config.topic import LogConfig

logger = logging.getLogger(__name__)


class Segment(Protocol):
    """What retention looks at."""

    @property
    def base_offset(self) -> int:
        """Where it begins."""

    @property
    def size(self) -> int:
        """Its bytes."""

    @property
    def largest_timestamp_ms(self) -> int:
        """Its age is counted from here."""


class Breach(NamedTuple):
    """How many of the oldest segments must go, and why."""

    segments: int
    reason: str


class LogBounds(NamedTuple):
    """The offsets that limit what may go."""

    log_start_offset: int
    high_watermark: int
    log_end_offset: int


def first_breach(segments: Sequence[Segment], bounds: LogBounds, config: LogConfig, now_ms: int) -> Breach | None:
    """The first rule that a log breaks; delete what it says and ask again until it is None."""
    breach = by_start_offset(segments, bounds)
    if not breach.segments and config.delete:
        breach = by_size(segments, bounds, config.retention_bytes)
        if not breach.segments:
            breach = by_time(segments, bounds, config.retention_ms, now_ms)
    return breach if breach.segments else None


def by_start_offset(segments: Sequence[Segment], bounds: LogBounds) -> Breach:
    """Segments that lie wholly below the log start offset."""

    def breached(_: Segment, following: Segment | None) -> bool:
        return following is not None and following.base_offset <= bounds.log_start_offset

    return Breach(_leading(segments, bounds, breached), f"log start offset {bounds.log_start_offset} breach")


def by_size(segments: Sequence[Segment], bounds: LogBounds, retention_bytes: int) -> Breach:
    """The oldest segments, as long as what is left is still at least ``retention_bytes``; -1 keeps all."""
    excess_bytes = sum(segment.size for segment in segments) - retention_bytes

    def breached(segment: Segment, _: Segment | None) -> bool:
        nonlocal excess_bytes
        excess_bytes -= segment.size
        return excess_bytes >= 0

    count = _leading(segments, bounds, breached) if retention_bytes >= 0 and excess_bytes >= 0 else 0
    return Breach(count, f"log retention size {retention_bytes} breach")


def by_time(segments: Sequence[Segment], bounds: LogBounds, retention_ms: int, now_ms: int) -> Breach:
    """Segments whose largest timestamp is more than ``retention_ms`` ago; -1 keeps all."""

    def breached(segment: Segment, _: Segment | None) -> bool:
        largest_ms = segment.largest_timestamp_ms
        if largest_ms > now_ms:
            logger.warning("%s contains future timestamp(s), making it ineligible to be deleted", segment)
        return now_ms - largest_ms > retention_ms

    count = _leading(segments, bounds, breached) if retention_ms >= 0 else 0
    return Breach(count, f"log retention time {retention_ms}ms breach")


def _leading(
    segments: Sequence[Segment], bounds: LogBounds, breached: Callable[[Segment, Segment | None], bool]
) -> int:
    """How many segments from the oldest on are breached; never one above the high watermark, nor an empty last one."""
    for count, segment in enumerate(segments):
        following = segments[count + 1] if count + 1 < len(segments) else None
        upper_bound = following.base_offset if following is not None else bounds.log_end_offset
        if bounds.high_watermark < upper_bound or not breached(segment, following):
            return count
        if following is None and segment.size == 0:
            return count
    return len(segments)
