"""What a member of a classic group of consumers has been assigned, as its leader wrote it."""

from collections.abc import Sequence

from ottla.common.errors import InvalidRequestError
from ottla.common.topic_partition import TopicPartition
from ottla.protocol.codec import decode_from
from ottla.protocol.message import BYTES, INT32, STRING, ArrayOf, Message, field

_VERSION_BYTES = 2
_HIGHEST_VERSION = 3


class _AssignedTopic(Message):
    topic: str = field(STRING, "0+", default="")
    partitions: Sequence[int] = field(ArrayOf(INT32), "0+", default=())


class _Assignment(Message, api_key=-1, versions="0-3", flexible="none"):
    assigned_partitions: Sequence[_AssignedTopic] = field(ArrayOf(_AssignedTopic), "0+", default=())
    user_data: bytes | None = field(BYTES, "0+", default=None, nullable="0+")


def assigned_partitions(assignment: bytes) -> frozenset[TopicPartition]:
    """The partitions in an assignment: a version and a struct. Empty bytes are a member that waits for its first."""
    if not assignment:
        return frozenset()
    if len(assignment) < _VERSION_BYTES:
        raise InvalidRequestError("A member's assignment has no version")
    version = min(int.from_bytes(assignment[:_VERSION_BYTES], "big"), _HIGHEST_VERSION)
    read, _ = decode_from(_Assignment, memoryview(assignment), _VERSION_BYTES, version)
    return frozenset(
        TopicPartition(topic.topic, partition) for topic in read.assigned_partitions for partition in topic.partitions
    )
