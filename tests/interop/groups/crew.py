"""The members of a test's groups, and what has to be true of them."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import count, pairwise
from typing import Any, Self

from tests.interop.groups.host import Host, Member, await_until, changed, java_host, python_host
from tests.interop.groups.member_spec import MemberSpec, Partition
from tests.oracle import Oracle

LIBRARIES = ("confluent", "aiokafka", "kafka-python", "java")
_numbers = count()


class Hosts:
    """Processes that tests share, one of each kind; started when somebody needs them."""

    def __init__(self, oracle: Callable[[], Oracle]) -> None:
        self._oracle = oracle
        self._shared: dict[str, Host] = {}

    def shared(self, library: str) -> Host:
        """The process for this library that lives on."""
        kind = "java" if library == "java" else "python"
        host = self._shared.get(kind)
        if host is None or not host.alive:
            host = self._shared[kind] = self.new(library)
        return host

    def new(self, library: str) -> Host:
        """A process of the caller's own."""
        return java_host(self._oracle()) if library == "java" else python_host()

    def close(self) -> None:
        """End them."""
        for host in self._shared.values():
            if host.alive:
                host.kill()


class Crew:
    """All members that a test starts; at its end those that are left leave."""

    def __init__(self, bootstrap: str, hosts: Hosts) -> None:
        self.bootstrap = bootstrap
        self.members: list[Member] = []
        self._hosts = hosts
        self._own: list[Host] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        for host in self._own:
            if host.alive:
                host.kill()
        left = [member for member in self.members if not member.closed and "failed" not in member.kinds()]
        left = [member for member in left if member.host.alive]
        for member in left:
            member.poll_again()
            member.begin_to_leave()
        if error is None:  # else that is what the test has to tell
            await_until(lambda: all("leaving" in member.kinds() for member in left), "all leave")

    def join(self, spec: MemberSpec, host: Host | None = None) -> Member:
        """Start a member in the shared process, or in one that `own_host` gave."""
        name = f"{spec.library}-{next(_numbers)}"
        member = (host or self._hosts.shared(spec.library)).join(name, self.bootstrap, spec)
        self.members.append(member)
        return member

    def own_host(self, library: str) -> Host:
        """A process that the test may kill or freeze."""
        host = self._hosts.new(library)
        self._own.append(host)
        return host


def await_shared(members: Sequence[Member], partitions: Iterable[Partition]) -> None:
    """Wait until the members own all the partitions, each one owner, as evenly as can be."""
    wanted = sorted(partitions)
    least, most = len(wanted) // len(members), -(-len(wanted) // len(members))

    def shared() -> bool:
        owned = sorted(partition for member in members for partition in member.owned)
        return owned == wanted and all(least <= len(member.owned) <= most for member in members)

    await_until(shared, f"{len(members)} members share {len(wanted)} partitions", list(members))


def await_processed(
    members: Sequence[Member], ends: dict[Partition, int], starts: dict[Partition, int] | None = None
) -> None:
    """Wait until every record up to `ends` was processed by one of `members`, those that are gone included."""
    first = starts or {}
    wanted = {
        (topic, partition, offset)
        for (topic, partition), end in ends.items()
        for offset in range(first.get((topic, partition), 0), end)
    }

    def processed() -> bool:
        return wanted <= {record for member in members for record in member.processed}

    await_until(processed, f"{len(wanted)} records are processed", list(members))


def times_processed(members: Iterable[Member]) -> Counter[tuple[str, int, int]]:
    """How often each record was processed."""
    return Counter(record for member in members for record in member.processed)


def assert_never_shared(members: Sequence[Member]) -> None:
    """No two members of a group own a partition at the same time, or in the same generation of the classic protocol.

    A member that crashed or stalled owns nothing from that moment on, and neither does one that leaves.
    """
    with changed:
        spans = [(span, member) for member in members for span in _spans(member)]
    by_partition: dict[tuple[str, Partition], list[tuple[int, float, Member]]] = {}
    by_generation: dict[tuple[str, int, Partition], str] = {}
    for (partition, start, end, generation), member in spans:
        by_partition.setdefault((member.spec.group, partition), []).append((start, end, member))
        if member.spec.protocol == "classic" and generation >= 0:
            name = member.spec.instance_id or member.name
            owner = by_generation.setdefault((member.spec.group, generation, partition), name)
            assert owner == name, f"{owner} and {name} own {partition} in generation {generation}"
    for (_, partition), owners in by_partition.items():
        owners.sort(key=lambda each: each[0])
        for (_, end, before), (start, _, after) in pairwise(owners):
            assert end <= start or before is after, f"{before} and {after} own {partition} at once: {end} > {start}"


def _spans(member: Member) -> list[tuple[Partition, int, float, int]]:
    """From when till when a member owned a partition, and in which generation it got it."""
    spans = []
    open_since: dict[Partition, tuple[int, int]] = {}

    def end(partitions: Iterable[Partition], at_ns: int) -> None:
        for partition in partitions:
            if partition in open_since:
                start, generation = open_since.pop(partition)
                spans.append((partition, start, float(at_ns), generation))

    for event in sorted(member.events, key=lambda event: event["at_ns"]):
        match event["event"]:
            case "assigned":
                for partition in _partitions(event):
                    open_since.setdefault(partition, (event["at_ns"], event["generation"]))
            case "revoked" | "lost":
                end(_partitions(event), event["at_ns"])
            case "stalled":
                end(list(open_since), event["at_ns"])
            case "leaving" | "crashed":
                end(list(open_since), event["at_ns"])
                return spans
    end(list(open_since), 1 << 62)
    return spans


def _partitions(event: dict[str, Any]) -> list[Partition]:
    return [(topic, partition) for topic, partition in event["partitions"]]
