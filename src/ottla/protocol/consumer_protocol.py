"""What consumers say to each other in the classic protocol: a subscription to the leader, an assignment back.

Consumers write and read both; the broker does where classic members live in a consumer group, or a group changes its
protocol.
"""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from ottla.common.errors import InvalidRequestError
from ottla.protocol.codec import decode_from, encode
from ottla.protocol.message import BYTES, INT32, STRING, ArrayOf, Message, field

_HIGHEST_VERSION = 3
"""Later versions begin like this one."""


class OwnedTopicPartitions(Message):
    """Partitions of a topic that the member owns."""

    topic: str = field(STRING, "1+", default="")
    partitions: Sequence[int] = field(ArrayOf(INT32), "1+", default=())


class ConsumerProtocolSubscription(Message, api_key=-1, versions="0-3", flexible="none"):
    """What a member subscribes to."""

    topics: Sequence[str] = field(ArrayOf(STRING), "0+", default=())
    user_data: bytes | None = field(BYTES, "0+", default=None, nullable="0+")
    owned_partitions: Sequence[OwnedTopicPartitions] = field(ArrayOf(OwnedTopicPartitions), "1+", default=())
    generation_id: int = field(INT32, "2+", default=-1)
    rack_id: str | None = field(STRING, "3+", default=None, nullable="3+")


class AssignedTopicPartitions(Message):
    """Partitions of a topic that the member gets."""

    topic: str = field(STRING, "0+", default="")
    partitions: Sequence[int] = field(ArrayOf(INT32), "0+", default=())


class ConsumerProtocolAssignment(Message, api_key=-1, versions="0-3", flexible="none"):
    """What a member is assigned."""

    assigned_partitions: Sequence[AssignedTopicPartitions] = field(ArrayOf(AssignedTopicPartitions), "0+", default=())
    user_data: bytes | None = field(BYTES, "0+", default=None, nullable="0+")


M = TypeVar("M", bound=Message)


def decode_subscription(metadata: bytes) -> ConsumerProtocolSubscription:
    """Read a subscription; InvalidRequestError if it is malformed."""
    return _decode(ConsumerProtocolSubscription, metadata)


def decode_assignment(assignment: bytes) -> ConsumerProtocolAssignment:
    """Read an assignment; InvalidRequestError if it is malformed."""
    return _decode(ConsumerProtocolAssignment, assignment)


def decode_version(metadata: bytes) -> int:
    """The version that a subscription or an assignment was written in; InvalidRequestError if it has none."""
    if len(metadata) < 2:
        raise InvalidRequestError("the embedded consumer protocol has no version")
    version = int.from_bytes(metadata[:2], "big", signed=True)
    if version < 0:
        raise InvalidRequestError(f"the embedded consumer protocol has version {version}")
    return version


def encode_subscription(subscription: ConsumerProtocolSubscription) -> bytes:
    """Write a subscription in our highest version, which older readers can read, too."""
    return _HIGHEST_VERSION.to_bytes(2, "big") + encode(subscription, _HIGHEST_VERSION)


def encode_assignment(
    partitions: Iterable[tuple[str, Sequence[int]]], version: int = _HIGHEST_VERSION, user_data: bytes | None = None
) -> bytes:
    """Write an assignment of topics by name, in our highest version if ``version`` is beyond that."""
    assignment = ConsumerProtocolAssignment(
        assigned_partitions=[AssignedTopicPartitions(topic=topic, partitions=indexes) for topic, indexes in partitions],
        user_data=user_data,
    )
    version = min(version, _HIGHEST_VERSION)
    return version.to_bytes(2, "big") + encode(assignment, version)


def _decode(cls: type[M], data: bytes) -> M:
    version = min(decode_version(data), _HIGHEST_VERSION)
    return decode_from(cls, memoryview(data), 2, version)[0]
