"""What a member of a group is, whichever library it uses: written by a test, read by the host that runs it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Protocol

Partition = tuple[str, int]


@dataclass(frozen=True)
class MemberSpec:
    """One consumer. It reads what it is assigned and commits after every poll.

    `assignors` are the names that go over the wire; under the consumer protocol the first is the server's assignor, and
    session and heartbeats are the broker's affair.
    """

    library: str
    group: str
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    protocol: str = "classic"
    assignors: tuple[str, ...] = ()
    instance_id: str | None = None
    session_timeout_ms: int = 10_000
    heartbeat_interval_ms: int = 300
    max_poll_interval_ms: int = 60_000
    offset_reset: str = "earliest"

    def to_json(self) -> dict[str, Any]:
        """Return a form that JSON keeps."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields_by_name: Mapping[str, Any]) -> "MemberSpec":
        """Return what `to_json` was called on."""
        spec = {field.name: fields_by_name[field.name] for field in fields(cls)}
        return cls(**spec | {"topics": tuple(spec["topics"]), "assignors": tuple(spec["assignors"])})


class CommitRefusedError(Exception):
    """A commit was not accepted, which a rebalance explains."""


class Listener(Protocol):
    """What a consumer tells; it is called from within the library."""

    def uncommitted(self) -> dict[Partition, int]:
        """Return the positions that are to be committed now."""
        ...

    def committed(self, offsets: Mapping[Partition, int]) -> None:
        """Hear that these are committed."""
        ...

    def refused(self, error: Exception) -> None:
        """Hear that a commit was refused."""
        ...

    def assigned(self, partitions: Sequence[Partition]) -> None:
        """Hear of partitions that are ours now, beside those that we have."""
        ...

    def revoked(self, partitions: Sequence[Partition]) -> None:
        """Hear of partitions to be given up, which others do not have yet."""
        ...

    def lost(self, partitions: Sequence[Partition]) -> None:
        """Hear of partitions that others may have already."""
        ...

    def error(self, text: str) -> None:
        """Hear of something that the library complains of and goes on."""
        ...


class GroupConsumer(Protocol):
    """A library's consumer, subscribed; one thread calls it."""

    def poll(self) -> list[tuple[str, int, int]]:
        """Return topic, partition and offset of new records, after a short while at most."""
        ...

    def commit(self, offsets: Mapping[Partition, int]) -> None:
        """Commit and wait; raises CommitRefusedError."""
        ...

    def idle(self) -> None:
        """Let a short while pass without a poll."""
        ...

    def membership(self) -> tuple[int, str]:
        """Return the generation (or member epoch) and the member id."""
        ...

    def close(self) -> None:
        """Leave the group, as a consumer of this library does when it is closed."""
        ...
