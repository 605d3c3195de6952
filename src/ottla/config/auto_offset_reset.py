"""Where a consumer begins in a partition that it has no offset for: a word, or a time ago as an ISO 8601 duration."""

import re
from typing import Final

from ottla.config.values import ConfigValue

BY_DURATION: Final = "by_duration:"
_WORDS: Final = ("latest", "earliest", "none")
_DURATION: Final = re.compile(
    r"([+-]?)P(?=.)(?:([+-]?\d+)D)?"
    r"(?:T(?=.)(?:([+-]?\d+)H)?(?:([+-]?\d+)M)?(?:([+-]?\d+)(?:[.,](\d{0,9}))?S)?)?",
    re.IGNORECASE | re.ASCII,
)
_SECONDS: Final = (86_400, 3_600, 60, 1)


class AutoOffsetReset:
    """``latest``, ``earliest``, ``none`` or ``by_duration:PnDTnHnMn.nS``."""

    __slots__ = ()

    def objection(self, value: ConfigValue) -> str | None:
        """Refuse all else, null and negative durations too."""
        if value in _WORDS:
            return None
        if isinstance(value, str) and value.startswith(BY_DURATION):
            duration_ms = parse_duration_ms(value.removeprefix(BY_DURATION))
            if duration_ms is not None and duration_ms >= 0:
                return None
            return "The duration of by_duration must be PnDTnHnMn.nS, and not negative"
        return "Value must be latest, earliest, none or by_duration:PnDTnHnMn.nS"

    def __str__(self) -> str:
        return "[latest, earliest, none, by_duration:PnDTnHnMn.nS]"


def parse_duration_ms(text: str) -> int | None:
    """The milliseconds of an ISO 8601 duration as Java's ``Duration.parse`` reads it; None if it is none."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    sign, *units, fraction = match.groups()
    total_ms = sum(int(unit or 0) * seconds * 1000 for unit, seconds in zip(units, _SECONDS, strict=True))
    if fraction:
        part_ms = int(f"{fraction:0<3}"[:3])
        total_ms += -part_ms if units[-1].startswith("-") else part_ms
    return -total_ms if sign == "-" else total_ms
