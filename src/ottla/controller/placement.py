"""Which brokers get the replicas of new partitions: Kafka's striped, rack-aware placement.

Each partition's first replica is on an unfenced broker; racks take turns, and so do the brokers within a rack, so that
leaders and replicas spread evenly. Where every broker had its turn, the order is drawn anew.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError

if TYPE_CHECKING:
    from random import Random


class UsableBroker(NamedTuple):
    """A broker that may get replicas; a fenced one never as the first."""

    id: int
    rack: str | None
    fenced: bool


def place(partitions: int, replication_factor: int, brokers: Iterable[UsableBroker], rng: "Random") -> list[list[int]]:
    """The replicas of so many new partitions; INVALID_REPLICATION_FACTOR where the cluster cannot hold them."""
    racks = _RackList(brokers, rng)
    racks.check(replication_factor)
    return [racks.place(replication_factor) for _ in range(partitions)]


class _BrokerList:
    """Brokers that take turns: each round (``epoch``) begins one further along."""

    __slots__ = ("brokers", "epoch", "index", "offset")

    def __init__(self) -> None:
        self.brokers: list[int] = []
        self.epoch = 0
        self.index = 0
        self.offset = 0

    def initialize(self, rng: "Random") -> None:
        if self.brokers:
            self.brokers.sort()
            self.offset = rng.randrange(len(self.brokers))

    def next(self, epoch: int) -> int | None:
        """The next broker of this round; None when all had their turn."""
        count = len(self.brokers)
        if not count:
            return None
        if self.epoch != epoch:
            self.epoch = epoch
            self.index = 0
            self.offset = (self.offset + 1) % count
        if self.index >= count:
            return None
        broker = self.brokers[(self.index + self.offset) % count]
        self.index += 1
        return broker


class _Rack:
    """The brokers of one rack: unfenced ones go first."""

    __slots__ = ("fenced", "unfenced")

    def __init__(self) -> None:
        self.fenced = _BrokerList()
        self.unfenced = _BrokerList()

    def next(self, epoch: int) -> int | None:
        broker = self.unfenced.next(epoch)
        return broker if broker is not None else self.fenced.next(epoch)


class _RackList:
    """The racks, in an order that starts at a random one."""

    def __init__(self, brokers: Iterable[UsableBroker], rng: "Random") -> None:
        self._rng = rng
        self._racks: dict[str | None, _Rack] = {}
        self._total = self._unfenced = 0
        for broker in brokers:
            rack = self._racks.setdefault(broker.rack, _Rack())
            (rack.fenced if broker.fenced else rack.unfenced).brokers.append(broker.id)
            self._total += 1
            self._unfenced += not broker.fenced
        self._names = sorted(self._racks, key=lambda name: (name is not None, name or ""))
        for name in self._names:
            self._racks[name].fenced.initialize(rng)
            self._racks[name].unfenced.initialize(rng)
        self._offset = rng.randrange(len(self._names)) if self._names else 0
        self._epoch = 0

    def check(self, replication_factor: int) -> None:
        """INVALID_REPLICATION_FACTOR where these brokers cannot hold so many replicas."""
        if replication_factor <= 0:
            reason = f"Invalid replication factor {replication_factor}: the replication factor must be positive."
        elif self._unfenced == 0:
            reason = "All brokers are currently fenced, or have all their log directories cordoned."
        elif replication_factor > self._total:
            reason = (
                f"The target replication factor of {replication_factor} cannot be reached because only {self._total} "
                "broker(s) are registered or some brokers have all their log directories cordoned."
            )
        else:
            return
        raise ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, reason)

    def place(self, replication_factor: int) -> list[int]:
        """The replicas of the next partition."""
        # With one unfenced broker a new order would bring the same broker again, and its round would never end.
        if self._epoch == self._unfenced and self._unfenced > 1:
            self._shuffle()
            self._epoch = 0
        if self._offset == len(self._names):
            self._offset = 0
        first_rack, leader = self._leader()
        replicas = [leader]
        index = self._offset
        # The leader's rack gave a broker already, so it is skipped once.
        skip: int | None = first_rack
        while len(replicas) < replication_factor:
            if index == skip:
                skip = None
            else:
                broker = self._racks[self._names[index]].next(self._epoch)
                if broker is not None:
                    replicas.append(broker)
            index = (index + 1) % len(self._names)
        self._epoch += 1
        self._offset += 1
        return replicas

    def _leader(self) -> tuple[int, int]:
        """The rack, by its place in the order, and the broker of the first replica."""
        index = self._offset
        while True:
            broker = self._racks[self._names[index]].unfenced.next(self._epoch)
            if broker is not None:
                return index, broker
            index = (index + 1) % len(self._names)

    def _shuffle(self) -> None:
        self._rng.shuffle(self._names)
        for rack in self._racks.values():
            self._rng.shuffle(rack.fenced.brokers)
            self._rng.shuffle(rack.unfenced.brokers)
