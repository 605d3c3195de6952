"""One question of an admin client: what is asked about, of whom, and how the answer is read. All of it pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Generic, TypeVar

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.protocol.message import Message

K = TypeVar("K")
V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)


class Anywhere(Enum):
    """Targets that are not known by an id."""

    ANY_NODE = "any node"
    CONTROLLER = "the controller"


@dataclass(frozen=True, slots=True)
class Broker:
    """One node, by its id."""

    node_id: int


@dataclass(frozen=True, slots=True)
class GroupCoordinator:
    """The broker that holds a group."""

    group_id: str


@dataclass(frozen=True, slots=True)
class TransactionCoordinator:
    """The broker that holds a transactional id."""

    transactional_id: str


@dataclass(frozen=True, slots=True)
class Leader:
    """The broker that leads a partition."""

    topic: str
    partition: int


Target = Anywhere | Broker | GroupCoordinator | TransactionCoordinator | Leader
"""Who can answer for a key."""

RetryRule = Callable[[KafkaError], bool]
"""Whether to ask about a key again that was answered with this error."""


def codes(*retried: ErrorCode) -> RetryRule:
    """Retry these errors of a key, and report all others."""
    wanted = frozenset(retried)
    return lambda error: error.code in wanted


def retriable(error: KafkaError) -> bool:
    """Retry every error of a key that Kafka calls retriable."""
    return error.retriable


AT_CONTROLLER: Final = codes(ErrorCode.NOT_CONTROLLER, ErrorCode.THROTTLING_QUOTA_EXCEEDED)
AT_COORDINATOR: Final = codes(
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR
)


@dataclass(frozen=True, slots=True)
class Ask(Generic[K, V_co]):
    """A question about ``keys``, split by who can answer, asked in parallel and put together again.

    ``request`` is given the keys of one target and the time that is left; ``read`` gives a result or an error for each
    of them. What ``read`` raises counts for all keys of that answer, and is retried if it is retriable; an error of a
    key is retried only if ``retries`` says so: for most APIs a retriable error (an unknown topic) is the result.
    """

    keys: Sequence[K]
    where: Callable[[K], Target]
    request: Callable[[Sequence[K], int], Message]
    read: Callable[[Any, Sequence[K]], Mapping[K, V_co | KafkaError]]
    retries: RetryRule = AT_CONTROLLER
    max_version: int | None = None
    """The newest version that says what we mean; None for the newest there is."""
    min_version: int = 0
    """The oldest version that says what we mean."""
    one_by_one: bool = False
    """Whether the API takes one key a request."""


def anywhere(_: object) -> Target:
    """Every node can answer."""
    return Anywhere.ANY_NODE


def controller(_: object) -> Target:
    """The controller answers, or a broker that forwards to it."""
    return Anywhere.CONTROLLER


def keyed(read: Callable[[Any], Mapping[K, V]]) -> Callable[[Any, Sequence[K]], Mapping[K, V]]:
    """A reader of answers that name their keys."""
    return lambda answer, _: read(answer)


def one(
    target: Target, request: Callable[[int], Message], read: Callable[[Any], V], max_version: int | None = None
) -> Ask[None, V]:
    """A question about one thing; ``request`` is given the time that is left."""
    return Ask(
        (None,),
        lambda _: target,
        lambda _, timeout_ms: request(timeout_ms),
        lambda answer, _: {None: read(answer)},
        max_version=max_version,
    )


def each_broker(
    node_ids: Sequence[int], request: Message, read: Callable[[Any], V], min_version: int = 0
) -> Ask[int, V]:
    """The same question to several brokers, answered by each for itself."""
    return Ask(
        node_ids, Broker, lambda *_: request, lambda answer, keys: {keys[0]: read(answer)}, min_version=min_version
    )
