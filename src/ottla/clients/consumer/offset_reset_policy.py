"""``auto.offset.reset``: where to read from when there is no position, or none that the log still has."""

from dataclasses import dataclass
from typing import Final

from ottla.common.errors import InvalidConfigError
from ottla.config.auto_offset_reset import BY_DURATION, parse_duration_ms

EARLIEST_TIMESTAMP: Final = -2
LATEST_TIMESTAMP: Final = -1


@dataclass(frozen=True, slots=True)
class OffsetResetPolicy:
    """A place to start from; ``timestamp_ms`` is what ListOffsets calls it. NONE has no place: it is an error."""

    name: str
    duration_ms: int = -1
    """How long ago, of a policy by duration; -1 of any other."""

    @property
    def is_none(self) -> bool:
        """Whether a missing position is the user's business."""
        return self.name == "none"

    def timestamp_ms(self, now_ms: int) -> int:
        """What to ask ListOffsets for."""
        assert not self.is_none, "no place to reset to"
        if self.duration_ms >= 0:
            return max(0, now_ms - self.duration_ms)
        return EARLIEST_TIMESTAMP if self.name == "earliest" else LATEST_TIMESTAMP

    @classmethod
    def parse(cls, text: str) -> "OffsetResetPolicy":
        """``earliest``, ``latest``, ``none`` or ``by_duration:PT1H``; raises InvalidConfigError for anything else."""
        if text in _BY_NAME:
            return _BY_NAME[text]
        duration_ms = parse_duration_ms(text.removeprefix(BY_DURATION)) if text.startswith(BY_DURATION) else None
        if duration_ms is None or duration_ms < 0:
            raise InvalidConfigError(
                f"auto.offset.reset is {text!r}; it may be earliest, latest, none or by_duration:PnDTnHnMn.nS"
            )
        return cls(text, duration_ms)


EARLIEST: Final = OffsetResetPolicy("earliest")
LATEST: Final = OffsetResetPolicy("latest")
NONE: Final = OffsetResetPolicy("none")
_BY_NAME: Final = {policy.name: policy for policy in (EARLIEST, LATEST, NONE)}
