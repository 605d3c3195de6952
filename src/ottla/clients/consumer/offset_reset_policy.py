"""``auto.offset.reset``: where to read from when there is no position, or none that the log still has."""

import re
from dataclasses import dataclass
from typing import Final

from ottla.common.errors import InvalidConfigError

EARLIEST_TIMESTAMP: Final = -2
LATEST_TIMESTAMP: Final = -1

_BY_DURATION: Final = "by_duration"
_ISO_DURATION: Final = re.compile(
    r"(?P<sign>[+-]?)P(?:(?P<days>[+-]?\d+)D)?"
    r"(?P<time>T(?:(?P<hours>[+-]?\d+)H)?(?:(?P<minutes>[+-]?\d+)M)?(?:(?P<seconds>[+-]?\d+(?:[.,]\d{0,9})?)S)?)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class OffsetResetPolicy:
    """A place to start from; ``timestamp_ms`` is what ListOffsets calls it. NONE has no place: it is an error."""

    name: str
    duration_ms: int = 0

    @property
    def is_none(self) -> bool:
        """Whether a missing position is the user's business."""
        return self.name == "none"

    def timestamp_ms(self, now_ms: int) -> int:
        """What to ask ListOffsets for."""
        assert not self.is_none, "no place to reset to"
        if self.name == _BY_DURATION:
            return max(0, now_ms - self.duration_ms)
        return EARLIEST_TIMESTAMP if self.name == "earliest" else LATEST_TIMESTAMP

    @classmethod
    def parse(cls, text: str) -> "OffsetResetPolicy":
        """``earliest``, ``latest``, ``none`` or ``by_duration:PT1H``; raises InvalidConfigError for anything else."""
        if text in _BY_NAME:
            return _BY_NAME[text]
        name, _, duration = text.partition(":")
        if name != _BY_DURATION:
            raise InvalidConfigError(
                f"auto.offset.reset is {text!r}; it may be earliest, latest, none or by_duration:<ISO-8601 duration>"
            )
        return cls(_BY_DURATION, _duration_ms(duration))

    def __str__(self) -> str:
        return self.name if self.name != _BY_DURATION else f"{_BY_DURATION} of {self.duration_ms} ms"


EARLIEST: Final = OffsetResetPolicy("earliest")
LATEST: Final = OffsetResetPolicy("latest")
NONE: Final = OffsetResetPolicy("none")
_BY_NAME: Final = {policy.name: policy for policy in (EARLIEST, LATEST, NONE)}
_UNITS_MS: Final = (("days", 86_400_000), ("hours", 3_600_000), ("minutes", 60_000), ("seconds", 1_000))


def _duration_ms(text: str) -> int:
    """An ISO-8601 duration of days and smaller units, as Java's ``Duration.parse`` takes them."""
    matched = _ISO_DURATION.fullmatch(text)
    amounts = {} if matched is None else {unit: matched[unit] for unit, _ in _UNITS_MS if matched[unit]}
    if matched is None or not amounts or (matched["time"] and set(amounts) == {"days"}):
        raise InvalidConfigError(f"auto.offset.reset: {text!r} is not an ISO-8601 duration such as PT1H or P7D")
    total = sum(float(amounts[unit].replace(",", ".")) * unit_ms for unit, unit_ms in _UNITS_MS if unit in amounts)
    if matched["sign"] == "-":
        total = -total
    if total < 0:
        raise InvalidConfigError(f"auto.offset.reset: the duration {text!r} is negative")
    return int(total)
