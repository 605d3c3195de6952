"""Assignors by name, as ``partition.assignment.strategy`` lists them."""

from collections.abc import Callable, Sequence
from typing import Final, cast

from ottla.clients.consumer.assignors.assignor import PartitionAssignor, RebalanceProtocol
from ottla.clients.consumer.assignors.range import RangeAssignor
from ottla.clients.consumer.assignors.round_robin import RoundRobinAssignor
from ottla.clients.consumer.assignors.sticky import CooperativeStickyAssignor, StickyAssignor
from ottla.common.errors import InvalidConfigError

_JAVA_PACKAGE: Final = "org.apache.kafka.clients.consumer."

_ASSIGNORS: Final[dict[str, Callable[[], PartitionAssignor]]] = {
    "range": RangeAssignor,
    "roundrobin": RoundRobinAssignor,
    "sticky": StickyAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}
_JAVA_NAMES: Final = {
    f"{_JAVA_PACKAGE}RangeAssignor": "range",
    f"{_JAVA_PACKAGE}RoundRobinAssignor": "roundrobin",
    f"{_JAVA_PACKAGE}StickyAssignor": "sticky",
    f"{_JAVA_PACKAGE}CooperativeStickyAssignor": "cooperative-sticky",
}


def make_assignors(strategy: Sequence[object]) -> tuple[PartitionAssignor, ...]:
    """The assignors that a consumer offers, best first: our names, Apache's class names, classes or objects of users.

    InvalidConfigError: an unknown name, a name twice, or assignors without a common rebalance protocol.
    """
    assignors = tuple(_make(entry) for entry in strategy)
    names = [assignor.name for assignor in assignors]
    if not assignors:
        raise InvalidConfigError("partition.assignment.strategy is empty")
    if len(set(names)) < len(names):
        raise InvalidConfigError(f"partition.assignment.strategy names an assignor twice: {', '.join(names)}")
    common_protocol(assignors)
    return assignors


def common_protocol(assignors: Sequence[PartitionAssignor]) -> RebalanceProtocol:
    """The most advanced protocol that all of them support; InvalidConfigError if there is none."""
    common = set(RebalanceProtocol).intersection(*(assignor.supported_protocols for assignor in assignors))
    if not common:
        names = ", ".join(assignor.name for assignor in assignors)
        raise InvalidConfigError(f"the assignors {names} have no rebalance protocol in common")
    return max(common)


def _make(entry: object) -> PartitionAssignor:
    if isinstance(entry, str):
        factory = _ASSIGNORS.get(_JAVA_NAMES.get(entry, entry))
        if factory is None:
            known = ", ".join(_ASSIGNORS)
            raise InvalidConfigError(f"partition.assignment.strategy: no assignor is called {entry!r}; known: {known}")
        return factory()
    made = entry() if isinstance(entry, type) else entry
    if not all(hasattr(made, name) for name in ("name", "assign", "supported_protocols")):
        raise InvalidConfigError(f"partition.assignment.strategy: {entry!r} is not an assignor")
    return cast("PartitionAssignor", made)
