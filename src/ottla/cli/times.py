"""Times and durations as Kafka's tools take them."""

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from ottla.cli.errors import CommandError

_DATETIME: Final = re.compile(
    r"(\d+)-(\d{1,2})-(\d{1,2})T(\d{1,2}):(\d{1,2}):(\d{1,2})\.(\d{1,3})(?:Z|([+-])(\d{2})(?::?(\d{2}))?)"
)
_DURATION: Final = re.compile(
    r"([-+]?)P(?:([-+]?\d+)D)?(T(?:([-+]?\d+)H)?(?:([-+]?\d+)M)?(?:([-+]?)(\d+)(?:[.,](\d{0,9}))?S)?)?", re.IGNORECASE
)


def parse_datetime_ms(text: str) -> int:
    """``2026-11-16T12:00:00.000`` in ms since 1970; in UTC unless ``+01:00``, ``+0100``, ``+01`` or ``Z`` follows."""
    if "T" not in text:
        raise CommandError("Error parsing timestamp. It does not contain a 'T' according to ISO8601 format")
    zoned = text if any(sign in text.partition("T")[2] for sign in "+-Z") else f"{text}Z"
    match = _DATETIME.fullmatch(zoned)
    try:
        if match is None:
            raise ValueError
        year, month, day, hour, minute, second, ms = map(int, match.groups()[:7])
        sign, offset_hours, offset_minutes = match.groups()[7:]
        offset = timedelta(hours=int(offset_hours or 0), minutes=int(offset_minutes or 0))
        zone = timezone(-offset if sign == "-" else offset) if sign else UTC
        moment = datetime(year, month, day, hour, minute, second, tzinfo=zone)
    except ValueError:
        raise CommandError(f'Unparseable date: "{zoned}"', hint="it is YYYY-MM-DDThh:mm:ss.sss") from None
    return round(moment.timestamp()) * 1000 + ms


def parse_duration_ms(text: str) -> int:
    """``P1DT2H3M4.5S`` in ms; any part may be left out or negative, but not all."""
    match = _DURATION.fullmatch(text)
    if match is None or not any(match.group(part) for part in (2, 4, 5, 7)) or (match.group(3) or "").upper() == "T":
        raise CommandError("Text cannot be parsed to a Duration", hint="it is PnDTnHnMnS, as P7D or PT1H30M")
    sign, days, _, hours, minutes, second_sign, seconds, fraction = match.groups()
    ms = (int(days or 0) * 86400 + int(hours or 0) * 3600 + int(minutes or 0) * 60) * 1000
    fine = int(seconds or 0) * 1000 + int((fraction or "").ljust(3, "0")[:3])
    ms += -fine if second_sign == "-" else fine
    return -ms if sign == "-" else ms
