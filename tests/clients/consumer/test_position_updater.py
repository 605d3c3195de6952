"""Looking positions up while partitions come and go, and bugs that must not be silent."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from types import SimpleNamespace
from typing import Any

from ottla.clients.cluster.metadata import ClusterMetadata, PartitionMetadata, TopicMetadata
from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
from ottla.clients.consumer.offset_lookup import IsolationLevel
from ottla.clients.consumer.offset_reset_policy import EARLIEST
from ottla.clients.consumer.partition_state import FetchPosition, FetchState
from ottla.clients.consumer.position_updater import PositionUpdater
from ottla.clients.consumer.subscription_state import SubscriptionState
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.network.node import Node

P = TopicPartition("t", 0)
LED = ClusterMetadata(
    nodes={1: Node(1, "there", 9092)},
    topics={"t": TopicMetadata("t", partitions={0: PartitionMetadata(0, leader_id=1, leader_epoch=4)})},
)
Committed = Mapping[TopicPartition, OffsetAndMetadata | None]


class World:
    """An updater on a cluster that answers when it is told to, and what its owner hears."""

    def __init__(self) -> None:
        self.subscription = SubscriptionState(EARLIEST)
        self.errors: list[KafkaError] = []
        self.bugs: list[Exception] = []
        self.sent: list[asyncio.Future[Any]] = []
        self.asked: list[asyncio.Future[Committed]] = []
        self.updater = PositionUpdater(
            self,  # type: ignore[arg-type]
            self.subscription,
            self,
            isolation=IsolationLevel.READ_UNCOMMITTED,
            request_timeout_ms=1000,
            retry_backoff_ms=100,
        )

    metadata = LED

    @property
    def runtime(self) -> Any:
        clock = SimpleNamespace(monotonic_ms=lambda: 0, now_ms=lambda: 0)
        return SimpleNamespace(clock=clock, spawn=asyncio.ensure_future)

    def send(self, _node_id: int, _request: object) -> Awaitable[Any]:
        self.sent.append(asyncio.get_running_loop().create_future())
        return self.sent[-1]

    def fetch_committed(self, _partitions: Collection[TopicPartition]) -> Awaitable[Committed]:
        self.asked.append(asyncio.get_running_loop().create_future())
        return self.asked[-1]

    def request_update(self) -> None: ...

    def on_positions_changed(self) -> None: ...

    def on_error(self, error: KafkaError) -> None:
        self.errors.append(error)

    def on_bug(self, bug: Exception) -> None:
        self.bugs.append(bug)


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def in_world(test: Callable[[World], Awaitable[None]]) -> None:
    async def run() -> None:
        await test(World())

    asyncio.run(run())


def test_what_is_taken_away_before_it_is_asked_for_is_no_error() -> None:
    async def run(world: World) -> None:
        world.subscription.assign([P])
        world.subscription.request_reset(P)
        world.updater.step(0)
        world.subscription.assign([])  # before the loop runs what the step has started
        await turns()
        world.subscription.assign([P])
        world.subscription.seek(P, 5, 2)
        world.subscription.leader_changed(P, 4)
        for answer in world.sent:
            answer.cancel()
        await turns()
        world.updater.step(0)
        world.subscription.assign([])
        await turns()
        assert (world.errors, world.bugs) == ([], [])

    in_world(run)


def test_what_was_committed_before_another_owner_is_asked_for_again() -> None:
    async def run(world: World) -> None:
        world.updater.fetch_committed = world.fetch_committed
        world.subscription.assign([P])
        world.updater.step(0)
        await turns()
        world.subscription.assign([])
        world.subscription.assign([P])
        world.asked[0].set_result({P: OffsetAndMetadata(3)})
        await turns()
        assert world.subscription.state(P).fetch_state is FetchState.INITIALIZING
        world.updater.step(0)
        await turns()
        world.asked[1].set_result({P: OffsetAndMetadata(100)})
        await turns()
        assert world.subscription.state(P).position == FetchPosition(100)

    in_world(run)


def test_a_bug_is_told() -> None:
    async def run(world: World) -> None:
        world.subscription.assign([P])
        world.subscription.request_reset(P)
        world.updater.step(0)
        await turns()
        bug = AssertionError("a bug")
        world.sent[0].set_exception(bug)
        await turns()
        assert world.bugs == [bug]

    in_world(run)
