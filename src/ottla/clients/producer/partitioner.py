"""Which partition a record goes to, when it does not say.

A key goes where Java's producer sends it: murmur2 of its bytes, without the sign, modulo the partitions. Without a key
the built-in partitioner decides (:mod:`ottla.clients.producer.sticky_partitioner`), unless another one is given.
"""

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import count
from typing import Final, Protocol

from ottla.common.errors import InvalidConfigError

_SEED: Final = 0x9747B28C
_M: Final = 0x5BD1E995
_UINT32: Final = 0xFFFFFFFF
_POSITIVE: Final = 0x7FFFFFFF

_SHORT_KEY_BYTES: Final = 64
_CACHED_KEYS: Final = 8192
"""Keys repeat, and to look one up takes a tenth of the time of hashing it."""

_WORDS: Final = tuple(struct.Struct(f"<{words}I").unpack_from for words in range(17))
"""Readers of so many little-endian words; longer keys are read word by word."""


class Partitioner(Protocol):
    """Chooses a partition for a record that names none; a plain function of this signature will do."""

    def __call__(
        self, topic: str, key: bytes | None, value: bytes | None, partitions: Sequence[int], available: Sequence[int]
    ) -> int:
        """One of ``partitions``; ``available`` are those of them that have a leader now."""


PartitionerFunction = Callable[[str, bytes | None, bytes | None, Sequence[int], Sequence[int]], int]


def murmur2(data: bytes) -> int:
    """Java's ``Utils.murmur2``, as an unsigned number of 32 bits."""
    length = len(data)
    hashed = _SEED ^ length
    words = length >> 2
    for word in _WORDS[words](data) if words < 17 else struct.unpack_from(f"<{words}I", data):
        mixed = word * _M & _UINT32
        hashed = (hashed * _M ^ (mixed ^ mixed >> 24) * _M) & _UINT32
    tail = length & 3
    if tail:
        hashed = (hashed ^ int.from_bytes(data[length - tail :], "little")) * _M & _UINT32
    hashed = (hashed ^ hashed >> 13) * _M & _UINT32
    return hashed ^ hashed >> 15


def to_positive(number: int) -> int:
    """Java's ``Utils.toPositive``: the sign bit off, which is not the absolute value."""
    return number & _POSITIVE


def partition_for_key(key: bytes, num_partitions: int) -> int:
    """Where Java's producer sends a record with this key."""
    hashed = _hash_of_short_key(key) if len(key) <= _SHORT_KEY_BYTES else murmur2(key)
    return (hashed & _POSITIVE) % num_partitions


_hash_of_short_key: Final = lru_cache(_CACHED_KEYS)(murmur2)


def named_partitioner(name: str | None) -> PartitionerFunction | None:
    """The one of a ``partitioner.class``; None for the built-in one, InvalidConfigError for an unknown one."""
    if name is None:
        return None
    if name.rpartition(".")[2] != RoundRobinPartitioner.__name__:
        raise InvalidConfigError(f"There is no partitioner {name} here; give a function as partitioner instead")
    return RoundRobinPartitioner()


class RoundRobinPartitioner:
    """Each record of a topic to the next partition that has a leader, whatever its key; Java's of that name."""

    __slots__ = ("_counters",)

    def __init__(self) -> None:
        self._counters: dict[str, count[int]] = {}

    def __call__(
        self,
        topic: str,
        key: bytes | None,  # noqa: ARG002  the protocol's
        value: bytes | None,  # noqa: ARG002
        partitions: Sequence[int],
        available: Sequence[int],
    ) -> int:
        """See Partitioner."""
        counter = self._counters.get(topic)
        if counter is None:
            counter = self._counters[topic] = count()
        among = available or partitions
        return among[to_positive(next(counter)) % len(among)]
