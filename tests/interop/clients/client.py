"""What the interop tests do with a Kafka client, whichever library it is."""

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol

from tests.apache.driver import ConsumedRecord

BOUND_S = 30
"""No answer of a broker takes longer, on however busy a machine."""


class ErrorCode(IntEnum):
    """The protocol's error codes that these tests meet."""

    OFFSET_OUT_OF_RANGE = 1
    UNKNOWN_TOPIC_OR_PARTITION = 3
    MESSAGE_TOO_LARGE = 10
    INVALID_TOPIC_EXCEPTION = 17
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_CONFIG = 40
    POLICY_VIOLATION = 44


class RefusedError(Exception):
    """The broker, or the client in its name, answered with an error code."""

    def __init__(self, code: int, message: str = "") -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class Sent(NamedTuple):
    """A record to produce; without a timestamp the client takes the time."""

    value: bytes | None
    key: bytes | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()
    timestamp_ms: int | None = None


class Client(Protocol):
    """One library against one cluster; each call uses clients of its own and closes them."""

    name: str
    codecs: tuple[str, ...]

    def produce(
        self,
        topic: str,
        records: Sequence[Sent],
        *,
        partition: int = 0,
        codec: str = "none",
        acks: str = "all",
        idempotent: bool = False,
        settings: Mapping[str, str | int] | None = None,
    ) -> list[int]:
        """Send all without waiting between them and return the offsets that the broker acknowledged (acks=0: −1)."""
        ...

    def consume(
        self, topic: str, *, partition: int = 0, start: int | None = None, isolation: str = "read_uncommitted"
    ) -> list[ConsumedRecord]:
        """Read from `start` (None: the earliest) to the end of the partition."""
        ...

    def watermarks(self, topic: str, partition: int = 0) -> tuple[int, int]:
        """Return the earliest and the latest offset."""
        ...

    def offset_for_time(self, topic: str, timestamp_ms: int, partition: int = 0) -> int | None:
        """Return the first offset with at least this timestamp."""
        ...

    def topics(self) -> set[str]:
        """Return the names of all topics that are not internal."""
        ...

    def partitions(self, topic: str) -> list[int]:
        """Return the partitions of a topic."""
        ...

    def create_topic(self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        """Create it with one replica."""
        ...

    def delete_topic(self, topic: str) -> None:
        """Delete it."""
        ...

    def create_partitions(self, topic: str, count: int) -> None:
        """Raise the number of partitions to `count`."""
        ...

    def topic_configs(self, topic: str) -> dict[str, str | None]:
        """Return all configs of a topic, defaults included."""
        ...

    def set_topic_configs(self, topic: str, configs: Mapping[str, str]) -> None:
        """Set these and leave the others."""
        ...

    def delete_records(self, topic: str, offset: int, partition: int = 0) -> None:
        """Delete what is before `offset`."""
        ...

    def cluster(self) -> tuple[str, list[tuple[int, str, int]]]:
        """Return the cluster's id and its brokers (id, host, port)."""
        ...


class TailingClient(Client, Protocol):
    """A client that can also wait at a partition's end."""

    def tail(self, topic: str, act: Callable[[], object], count: int, partition: int = 0) -> list[ConsumedRecord]:
        """Stand at the latest offset, `act`, and return the next `count` records."""
        ...
