"""How much of the metadata log an image contains."""

from typing import NamedTuple


class MetadataProvenance(NamedTuple):
    """The last record that an image contains; ``is_offset_batch_aligned``: that record ends its batch."""

    last_contained_offset: int = -1
    last_contained_epoch: int = -1
    last_contained_log_time_ms: int = -1
    is_offset_batch_aligned: bool = False

    @property
    def snapshot_name(self) -> str:
        """What a snapshot of the image is called; its offset is the first that it does not contain."""
        return f"snapshot {self.last_contained_offset + 1:020d}-{self.last_contained_epoch:010d}"
