"""What appending to one partition gave: the fields of a produce response."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.common.errors import RecordError


class AppendResult:
    """The outcome for one partition; -1 for what is not known.

    ``error_message`` and ``record_errors`` name the records at fault, where it is known that records are.
    """

    __slots__ = (
        "base_offset",
        "error_code",
        "error_message",
        "last_offset",
        "log_append_time_ms",
        "log_start_offset",
        "record_errors",
    )

    def __init__(
        self,
        error_code: int = 0,
        base_offset: int = -1,
        log_append_time_ms: int = -1,
        log_start_offset: int = -1,
        last_offset: int = -1,
        *,
        record_errors: "tuple[RecordError, ...]" = (),
        error_message: str | None = None,
    ) -> None:
        self.error_code = error_code
        self.base_offset = base_offset
        self.log_append_time_ms = log_append_time_ms
        self.log_start_offset = log_start_offset
        self.last_offset = last_offset
        self.record_errors = record_errors
        self.error_message = error_message

    def __repr__(self) -> str:
        return (
            f"AppendResult(error {self.error_code}, offsets {self.base_offset}..{self.last_offset}, "
            f"log start {self.log_start_offset})"
        )
