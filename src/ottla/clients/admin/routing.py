"""What is still to be asked, of whom, and what to do with each answer: the decisions behind every admin call."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Final, Generic, TypeVar

from ottla.clients.admin.ask import Ask
from ottla.clients.cluster.metadata import ClusterMetadata
from ottla.clients.errors import (
    BrokerNotAvailableError,
    KafkaTimeoutError,
    LeaderNotAvailableError,
    UnknownServerError,
    UnknownTopicOrPartitionError,
    error_for,
)
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.network.node import Node

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T", bound=Hashable)

ABSENCE_GRACE_MS: Final = 2000
"""How long a topic or a broker that nobody knows is looked for: it may have come a moment ago. Apache's client goes on
until the call's time is up and then says only that it is; who mistypes a name should not wait a minute for that."""
_ABSENT: Final = (UnknownTopicOrPartitionError, BrokerNotAvailableError)


class Progress(Generic[K, V]):
    """One call under way: each key is pending → settled, with a result or an error that is not worth a retry.

    ``fail`` and ``answer`` take what came of a request; then, while ``pending`` is not empty, the caller waits and
    asks again. ``expire`` ends it.
    """

    __slots__ = ("_ask", "_causes", "_results", "_started_ms", "pending")

    def __init__(self, ask: Ask[K, V], now_ms: int) -> None:
        self._ask = ask
        self._started_ms = now_ms
        self._results: dict[K, V | KafkaError] = {}
        self._causes: dict[K, KafkaError] = {}
        self.pending: dict[K, None] = dict.fromkeys(ask.keys)

    def answer(self, keys: Sequence[K], results: Mapping[K, V | KafkaError], now_ms: int) -> None:
        """An answer for these keys; one that it does not mention has failed."""
        for key in keys:
            if key not in results:
                self._settle(key, UnknownServerError(f"The answer says nothing of {key}"))
                continue
            result = results[key]
            if isinstance(result, KafkaError) and self._ask.retries(result):
                self._retry(key, result, now_ms)
            else:
                self._settle(key, result)

    def fail(self, keys: Iterable[K], error: KafkaError, now_ms: int) -> None:
        """No answer for these keys, or one that is an error for all of them."""
        for key in keys:
            if error.retriable or isinstance(error, _ABSENT):
                self._retry(key, error, now_ms)
            else:
                self._settle(key, error)

    def expire(self, timeout_ms: int, attempts: int) -> None:
        """The time is up: what is pending fails with what kept it so."""
        for key in list(self.pending):
            cause = self._causes.get(key)
            about = "" if key is None else f" about {key}"
            why = "nobody answered" if cause is None else f"last error: {cause}"
            error = KafkaTimeoutError(f"No answer{about} in {timeout_ms} ms and {attempts} attempts; {why}")
            error.__cause__ = cause
            self._settle(key, error)

    def results(self) -> dict[K, V | KafkaError]:
        """All results, in the order of the keys."""
        assert not self.pending, "results before the end"
        return {key: self._results[key] for key in self._ask.keys}

    def _retry(self, key: K, error: KafkaError, now_ms: int) -> None:
        if isinstance(error, _ABSENT) and now_ms - self._started_ms >= ABSENCE_GRACE_MS:
            self._settle(key, error)
        else:
            self._causes[key] = error

    def _settle(self, key: K, result: V | KafkaError) -> None:
        if key not in self._results:
            self._results[key] = result
            del self.pending[key]


def split(keys: Iterable[K], place: Callable[[K], T], *, one_by_one: bool) -> list[tuple[T, list[K]]]:
    """The keys of each place, in one request a place, or one a key."""
    if one_by_one:
        return [(place(key), [key]) for key in keys]
    places: dict[T, list[K]] = {}
    for key in keys:
        places.setdefault(place(key), []).append(key)
    return list(places.items())


def leader_of(image: ClusterMetadata, topic: str, partition: int) -> Node:
    """The leader of a partition; raises why there is none."""
    known = image.topics.get(topic)
    if known is not None and known.error_code != ErrorCode.NONE:
        raise error_for(known.error_code, f"{topic}: {error_for(known.error_code)}")
    if known is None or partition not in known.partitions:
        raise UnknownTopicOrPartitionError(f"There is no partition {topic}-{partition}")
    leader = image.leader(topic, partition)
    if leader is None:
        raise LeaderNotAvailableError(f"{topic}-{partition} has no leader")
    return leader
