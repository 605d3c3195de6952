"""The settings of raft, as raft reads them; the broker's table of keys gives the values. Pure."""

from dataclasses import dataclass

from ottla.config.topic import LogConfig

MAX_BATCH_SIZE_BYTES = 8 * 1024 * 1024
"""The largest batch that any KRaft node writes or reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataLogConfig:
    """How ``__cluster_metadata-0`` is kept. Its segments go with the snapshots that cover them, never by age alone."""

    segment_bytes: int = 1 << 30
    """``metadata.log.segment.bytes``"""
    segment_ms: int = 7 * 24 * 3_600_000
    """``metadata.log.segment.ms``"""
    retention_bytes: int = 100 * 1024 * 1024
    """``metadata.max.retention.bytes``: of log and snapshots together; negative keeps all."""
    retention_ms: int = 7 * 24 * 3_600_000
    """``metadata.max.retention.ms``: a snapshot's age by the records in it; negative keeps all."""
    max_batch_bytes: int = MAX_BATCH_SIZE_BYTES
    """Never more than a segment holds: an append is refused before it is scheduled, or not at all."""
    delete_delay_ms: int = 60_000
    """How long a file that nothing needs stays under its ``.deleted`` name."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_batch_bytes", min(self.max_batch_bytes, self.segment_bytes))

    def log_config(self) -> LogConfig:
        """What the log itself goes by."""
        return LogConfig(
            segment_bytes=self.segment_bytes,
            segment_ms=self.segment_ms,
            max_message_bytes=self.max_batch_bytes,
            retention_ms=-1,
            retention_bytes=-1,
            file_delete_delay_ms=self.delete_delay_ms,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumConfig:
    """``controller.quorum.*``: how long the states of the quorum last."""

    election_timeout_ms: int = 1_000
    """``controller.quorum.election.timeout.ms``: at least this long without a leader; up to twice that, by chance."""
    fetch_timeout_ms: int = 2_000
    """``controller.quorum.fetch.timeout.ms``"""
