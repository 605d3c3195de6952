"""What the sticky assignors' members tell their leader besides the subscription."""

from collections.abc import Sequence

from ottla.clients.consumer.assignors.assignor import NO_GENERATION
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.protocol.codec import decode_from, encode
from ottla.protocol.message import INT32, STRING, ArrayOf, Message, field

_INT_BYTES = 4


class PreviousTopicPartitions(Message):
    """Partitions of a topic that the member had."""

    topic: str = field(STRING, "0+", default="")
    partitions: Sequence[int] = field(ArrayOf(INT32), "0+", default=())


class StickyUserData(Message, api_key=-1, versions="0-1", flexible="none"):
    """A member's last assignment; the bytes do not say their version."""

    previous_assignment: Sequence[PreviousTopicPartitions] = field(ArrayOf(PreviousTopicPartitions), "0+", default=())
    generation: int = field(INT32, "1+", default=NO_GENERATION)


def encode_previous_assignment(partitions: Sequence[TopicPartition], generation_id: int) -> bytes:
    """Write what the member had in a generation."""
    by_topic: dict[str, list[int]] = {}
    for partition in partitions:
        by_topic.setdefault(partition.topic, []).append(partition.partition)
    previous = [PreviousTopicPartitions(topic=topic, partitions=indexes) for topic, indexes in by_topic.items()]
    return encode(StickyUserData(previous_assignment=previous, generation=generation_id), 1)


def decode_previous_assignment(user_data: bytes | None) -> tuple[list[TopicPartition], int | None]:
    """What a member had and when; old members do not say when. What cannot be read counts as nothing."""
    if not user_data:
        return [], None
    for version in (1, 0):
        try:
            data, _ = decode_from(StickyUserData, memoryview(user_data), 0, version)
        except KafkaError:
            continue
        partitions = [
            TopicPartition(topic.topic, partition)
            for topic in data.previous_assignment
            for partition in topic.partitions
        ]
        return partitions, data.generation if version else None
    return [], NO_GENERATION


def encode_generation(generation_id: int) -> bytes:
    """Write the generation of the last assignment."""
    return generation_id.to_bytes(_INT_BYTES, "big", signed=True)


def decode_generation(user_data: bytes | None) -> int | None:
    """The generation, None if the member says nothing, -1 if it cannot be read."""
    if user_data is None:
        return None
    if len(user_data) < _INT_BYTES:
        return NO_GENERATION
    return int.from_bytes(user_data[:_INT_BYTES], "big", signed=True)
