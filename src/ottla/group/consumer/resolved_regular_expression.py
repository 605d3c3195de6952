"""A regular expression that members subscribe to, and the topics that it stands for."""

from typing import NamedTuple


class ResolvedRegularExpression(NamedTuple):
    """The topics that matched, in which version of the metadata (its offset), and when they were looked for."""

    topics: tuple[str, ...]
    """In order."""
    version: int
    timestamp_ms: int
