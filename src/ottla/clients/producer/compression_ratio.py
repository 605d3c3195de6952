"""How well a topic's batches compress: an estimate that says when a batch that is not compressed yet is full."""

from typing import Final

IMPROVING_STEP: Final = 0.005
DETERIORATING_STEP: Final = 0.05
SAFETY_FACTOR: Final = 1.05
"""A batch is taken to come out this much larger than the ratio says."""


class CompressionRatio:
    """Compressed by raw bytes: follows bad news at once and good news slowly, since a batch that is too large costs."""

    __slots__ = ("ratio",)

    def __init__(self) -> None:
        self.ratio = 1.0

    def update(self, observed: float) -> None:
        """A batch came out like this."""
        if observed > self.ratio:
            self.ratio = max(self.ratio + DETERIORATING_STEP, observed)
        elif observed < self.ratio:
            self.ratio = max(self.ratio - IMPROVING_STEP, observed)

    def reset(self, observed: float) -> None:
        """A batch was too large for the broker: expect nothing of compression for a while."""
        self.ratio = max(1.0, observed)
