"""An offset, and where in the log its bytes begin if that is known."""

from typing import NamedTuple

UNKNOWN_OFFSET = -1
UNKNOWN_FILE_POSITION = -1


class LogOffsetMetadata(NamedTuple):
    """A message offset with the segment and the position in it that hold it; -1 where unknown."""

    message_offset: int
    segment_base_offset: int = UNKNOWN_OFFSET
    relative_position_in_segment: int = UNKNOWN_FILE_POSITION

    @property
    def message_offset_only(self) -> bool:
        """Whether nothing is known but the offset itself."""
        return self.segment_base_offset == UNKNOWN_OFFSET and self.relative_position_in_segment == UNKNOWN_FILE_POSITION
