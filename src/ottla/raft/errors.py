"""What raft refuses."""

from ottla.common.errors import KafkaError


class NotLeaderError(KafkaError):
    """An append by somebody who does not lead, or no longer does in the epoch it names; NOT_LEADER_OR_FOLLOWER."""

    code = 6
    retriable = True


class BufferAllocationError(KafkaError):
    """Too many appends wait for the disk; try again when some are committed."""

    retriable = True


class FormatterError(KafkaError):
    """A data directory that cannot be formatted as asked."""
