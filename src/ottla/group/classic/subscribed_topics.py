"""Which topics the members of a consumer group read, from what they say in the consumer protocol."""

from collections.abc import Iterable
from struct import Struct
from struct import error as StructError  # noqa: N812

_INT16 = Struct(">h")
_INT32 = Struct(">i")


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """The topics of all subscriptions together; None if one of them is malformed.

    Only the first version's part is read (a version, topics, user data): every later version begins like it.
    """
    topics: set[str] = set()
    try:
        # Members of one group mostly say the same, byte for byte.
        for subscription in dict.fromkeys(subscriptions):
            topics.update(_topics(subscription))
    except (StructError, ValueError):
        return None
    return frozenset(topics)


def _topics(subscription: bytes) -> list[str]:
    _INT16.unpack_from(subscription, 0)  # the version
    (count,) = _INT32.unpack_from(subscription, 2)
    if count < 0:
        raise ValueError("topics are not nullable")
    position = 6
    topics = []
    for _ in range(count):
        (length,) = _INT16.unpack_from(subscription, position)
        position += 2
        end = position + length
        if length < 0 or end > len(subscription):
            raise ValueError(f"a topic of {length} bytes")
        topics.append(str(subscription[position:end], "utf-8"))
        position = end
    (length,) = _INT32.unpack_from(subscription, position)
    if length > len(subscription) - position - 4:
        raise ValueError(f"user data of {length} bytes")
    return topics
