"""What the exactly-once sink raises; all are KafkaErrors."""

from ottla.common.errors import KafkaError


class BatchFailedError(KafkaError):
    """A batch cannot be committed, and nothing of it will be seen: run it again."""


class OldCheckpointError(KafkaError):
    """The query is at a batch that lies before those that its sink has written."""


class RecordsLostError(KafkaError):
    """Records of a batch that was decided are neither committed nor in the log any more."""
