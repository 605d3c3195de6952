"""The hash of what a group's assignment depends on: the topics that it reads, their partitions and racks.

A group whose hash differs from the one in its ConsumerGroupMetadata record rebalances, so ours must be Apache's: a
group that moves between Ottla and Apache's brokers keeps its assignment. XXH3 over little-endian numbers and UTF-16
strings with their length behind them.
"""

from collections.abc import Iterable, Mapping
from struct import Struct

from ottla.metadata.image.metadata import MetadataImage

_MAGIC_BYTE = b"\x00"
"""The version of the way in which topics are hashed."""

_INT = Struct("<i").pack
_LONG = Struct("<q").pack
_HALVES = Struct(">qq").unpack


def compute_topic_hash(topic_name: str, image: MetadataImage) -> int:
    """The hash of a topic, signed; 0 if it does not exist."""
    topic = image.topics.topic(topic_name)
    if topic is None:
        return 0
    most, least = _HALVES(topic.id.bytes)
    parts = [_MAGIC_BYTE, _LONG(most), _LONG(least), _string(topic.name), _INT(len(topic.partitions))]
    rack_parts: dict[tuple[int, ...], bytes] = {}  # by replicas: there are fewer of these than of partitions
    for partition_id in range(len(topic.partitions)):
        parts.append(_INT(partition_id))
        registration = topic.partitions.get(partition_id)
        if registration is not None:
            replicas = registration.replicas
            racks = rack_parts.get(replicas)
            if racks is None:
                racks = rack_parts[replicas] = _racks(replicas, image)
            parts.append(racks)
    return _xxh3(parts)


def compute_group_hash(topic_hashes: Mapping[str, int]) -> int:
    """The hash of a group whose topics have these hashes, signed; 0 without any."""
    if not topic_hashes:
        return 0
    return _xxh3(_LONG(topic_hashes[name]) for name in sorted(topic_hashes, key=_java_order))


def _racks(replicas: tuple[int, ...], image: MetadataImage) -> bytes:
    brokers = (image.cluster.broker(replica) for replica in replicas)
    racks = [broker.rack for broker in brokers if broker is not None and broker.rack is not None]
    return b"".join(_INT(_length(rack)) + _string(rack) for rack in sorted(racks, key=_java_order))


def _string(text: str) -> bytes:
    encoded = text.encode("utf-16-le", "surrogatepass")
    return encoded + _INT(len(encoded) // 2)


def _length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _java_order(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")


def _xxh3(parts: Iterable[bytes]) -> int:
    import xxhash  # only groups of the consumer protocol need it

    unsigned = xxhash.xxh3_64_intdigest(b"".join(parts))
    return unsigned - (1 << 64) if unsigned >> 63 else unsigned
