"""The names of files and directories in a data directory, exactly as Apache Kafka gives them."""

import re
from typing import TYPE_CHECKING, Final

from ottla.common.errors import KafkaStorageError
from ottla.common.topic_partition import TopicPartition

if TYPE_CHECKING:
    from random import Random

LOG_SUFFIX: Final = ".log"
INDEX_SUFFIX: Final = ".index"
TIME_INDEX_SUFFIX: Final = ".timeindex"
TXN_INDEX_SUFFIX: Final = ".txnindex"
PRODUCER_SNAPSHOT_SUFFIX: Final = ".snapshot"

DELETED_SUFFIX: Final = ".deleted"
"""Follows the suffix of a file that waits for its deletion."""
CLEANED_SUFFIX: Final = ".cleaned"
"""Follows the suffix of a file that the cleaner is still writing."""
SWAP_SUFFIX: Final = ".swap"
"""Follows the suffix of a finished file that takes the place of others."""
STRAY_SUFFIX: Final = ".stray"
"""Follows the suffix of a file that was put aside for somebody to look at; nothing here reads or deletes it."""

DELETE_DIR_SUFFIX: Final = "-delete"
FUTURE_DIR_SUFFIX: Final = "-future"
STRAY_DIR_SUFFIX: Final = "-stray"

NAME_LENGTH_MAX: Final = 255

_INDEX_SUFFIXES = (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX)
_MARKED_DIR_SUFFIXES = (DELETE_DIR_SUFFIX, FUTURE_DIR_SUFFIX, STRAY_DIR_SUFFIX)
_MARKED_DIR = re.compile(r"(\S+)-(\S+)\.(\S+)-(?:delete|future|stray)", re.ASCII)
_INTEGER = re.compile(r"[+-]?[0-9]+")
_INT_MIN, _INT_MAX = -(1 << 31), (1 << 31) - 1
_LONG_MIN, _LONG_MAX = -(1 << 63), (1 << 63) - 1


def file_name_prefix(offset: int) -> str:
    """The offset in at least twenty digits, so that names sort as offsets do."""
    return f"{offset:020d}"


def log_file_name(base_offset: int, suffix: str = "") -> str:
    """The name of a segment's record file; ``suffix`` is "" or one of .deleted, .cleaned, .swap."""
    return f"{base_offset:020d}{LOG_SUFFIX}{suffix}"


def offset_index_file_name(base_offset: int, suffix: str = "") -> str:
    """The name of a segment's offset index."""
    return f"{base_offset:020d}{INDEX_SUFFIX}{suffix}"


def time_index_file_name(base_offset: int, suffix: str = "") -> str:
    """The name of a segment's time index."""
    return f"{base_offset:020d}{TIME_INDEX_SUFFIX}{suffix}"


def txn_index_file_name(base_offset: int, suffix: str = "") -> str:
    """The name of a segment's index of aborted transactions."""
    return f"{base_offset:020d}{TXN_INDEX_SUFFIX}{suffix}"


def producer_snapshot_file_name(offset: int, suffix: str = "") -> str:
    """The name of the snapshot of all producers as they stood before ``offset``."""
    return f"{offset:020d}{PRODUCER_SNAPSHOT_SUFFIX}{suffix}"


def offset_from_file_name(name: str) -> int:
    """The number before the first dot; ValueError when there is no such number."""
    prefix, dot, _ = name.partition(".")
    if not dot or _INTEGER.fullmatch(prefix) is None or not _LONG_MIN <= int(prefix) <= _LONG_MAX:
        raise ValueError(f"{name!r} does not begin with an offset and a dot")
    return int(prefix)


def is_log_file(name: str) -> bool:
    """Whether this is a record file in use: not .deleted, .cleaned or .swap."""
    return name.endswith(LOG_SUFFIX)


def is_index_file(name: str) -> bool:
    """Whether this is an index of any of the three kinds in use."""
    return name.endswith(_INDEX_SUFFIXES)


def is_producer_snapshot_file(name: str) -> bool:
    """Whether this is a producer snapshot in use."""
    return name.endswith(PRODUCER_SNAPSHOT_SUFFIX)


def log_dir_name(topic_partition: TopicPartition) -> str:
    """The directory of a partition: ``topic-partition``."""
    return f"{topic_partition.topic}-{topic_partition.partition}"


def delete_dir_name(topic_partition: TopicPartition, rng: "Random") -> str:
    """A new name for a directory that waits for its deletion; a long topic is cut to keep within 255 characters."""
    return _capped_dir_name(topic_partition, rng, DELETE_DIR_SUFFIX)


def stray_dir_name(topic_partition: TopicPartition, rng: "Random") -> str:
    """A new name for the directory of a partition that this broker should not have; capped like a deleted one."""
    return _capped_dir_name(topic_partition, rng, STRAY_DIR_SUFFIX)


def future_dir_name(topic_partition: TopicPartition, rng: "Random") -> str:
    """A new name for the copy of a partition that will replace it; never cut, because its topic is read back."""
    return f"{log_dir_name(topic_partition)}.{_unique_id(rng)}{FUTURE_DIR_SUFFIX}"


def is_delete_dir(name: str) -> bool:
    """Whether the directory waits for its deletion."""
    return name.endswith(DELETE_DIR_SUFFIX)


def is_future_dir(name: str) -> bool:
    """Whether the directory holds a future copy."""
    return name.endswith(FUTURE_DIR_SUFFIX)


def is_stray_dir(name: str) -> bool:
    """Whether the directory was found to be stray."""
    return name.endswith(STRAY_DIR_SUFFIX)


def parse_topic_partition_dir(path: str) -> TopicPartition:
    """The partition that a directory belongs to, by the last part of its path.

    Raises KafkaStorageError for a name that no partition has. A deleted directory of a long topic gives the cut topic.
    """
    name = path.rstrip("/").rpartition("/")[2]
    base = name
    if name.endswith(_MARKED_DIR_SUFFIXES):
        if _MARKED_DIR.fullmatch(name) is None:
            raise _not_a_log_dir(path, name)
        base = name.rpartition(".")[0]
    topic, _, partition = base.rpartition("-")
    if not topic or _INTEGER.fullmatch(partition) is None or not _INT_MIN <= int(partition) <= _INT_MAX:
        raise _not_a_log_dir(path, name)
    return TopicPartition(topic, int(partition))


def _not_a_log_dir(path: str, name: str) -> KafkaStorageError:
    return KafkaStorageError(
        f"Found directory {path}, but '{name}' is neither topic-partition nor topic-partition.uniqueId followed by "
        f"{', '.join(_MARKED_DIR_SUFFIXES)}. A log directory and its children hold nothing but Kafka's topic data."
    )


def _capped_dir_name(topic_partition: TopicPartition, rng: "Random", suffix: str) -> str:
    ending = f"-{topic_partition.partition}.{_unique_id(rng)}{suffix}"
    return topic_partition.topic[: NAME_LENGTH_MAX - len(ending)] + ending


def _unique_id(rng: "Random") -> str:
    """The 32 hexadecimal digits of a version 4 UUID."""
    raw = bytearray(rng.randbytes(16))
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    return raw.hex()
