"""Results that are keyed by what was asked about."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from ottla.clients.errors import error_for
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition

K = TypeVar("K")
V = TypeVar("V")


def checked(results: Mapping[K, V | KafkaError], *, raise_errors: bool) -> dict[K, V | KafkaError]:
    """The results as they are, or with ``raise_errors`` the first error of them raised."""
    if raise_errors:
        for result in results.values():
            if isinstance(result, KafkaError):
                raise result
    return dict(results)


def outcome(code: int, message: str | None, result: V) -> V | KafkaError:
    """The result, unless there is an error code."""
    return result if code == ErrorCode.NONE else error_for(code, message)


def check(code: int, message: str | None = None) -> None:
    """Raise the error of a code, if there is one."""
    if code != ErrorCode.NONE:
        raise error_for(code, message)


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """The partitions of each topic, in the order given."""
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return topics
