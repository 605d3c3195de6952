"""Asks a cluster what an ``Ask`` says: finds the nodes, sends in parallel, and tries again until the time is up."""

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar, assert_never

from ottla.clients.admin.ask import Anywhere, Ask, Broker, GroupCoordinator, Leader, Target, TransactionCoordinator
from ottla.clients.admin.routing import Progress, leader_of, split
from ottla.clients.back_off import BackOff
from ottla.clients.cluster.cluster_client import ClusterClient
from ottla.clients.cluster.coordinator_cache import CoordinatorType, broker_id
from ottla.clients.cluster.metadata import ClusterMetadata
from ottla.clients.errors import BrokerNotAvailableError, ClientClosedError, UnsupportedVersionError
from ottla.common.errors import KafkaError
from ottla.config.client_configs import AdminConfig
from ottla.network.client_errors import NetworkError
from ottla.network.node import Node
from ottla.protocol.message import Message

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

Coordinated = GroupCoordinator | TransactionCoordinator


class ClusterCaller:
    """The way from an admin client's parts to its cluster. Decisions are ``Progress``'s."""

    __slots__ = ("_closed", "_cluster", "_config")

    def __init__(self, cluster: ClusterClient, config: AdminConfig) -> None:
        self._cluster = cluster
        self._config = config
        self._closed = asyncio.Event()

    @property
    def uses_controllers(self) -> bool:
        """Whether controllers are asked and no brokers are known."""
        return bool(self._config.common.bootstrap_controllers)

    @property
    def request_timeout_ms(self) -> int:
        """``request.timeout.ms``."""
        return self._config.common.request_timeout_ms

    def close(self) -> None:
        """Whoever waits gets a ClientClosedError."""
        self._closed.set()

    async def ask(self, ask: Ask[K, V], timeout_ms: int | None) -> dict[K, V | KafkaError]:
        """The result or the error of each key, in the order of the keys."""
        timeout_ms = self._config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        deadline_ms = self._now_ms() + timeout_ms
        progress = Progress(ask, self._now_ms())
        back_off = BackOff(self._config.common.retry_backoff_ms, self._config.common.retry_backoff_max_ms)
        while progress.pending:
            self._raise_if_closed()
            await self._attempt(ask, progress, deadline_ms)
            if not progress.pending:
                break
            pause_ms = back_off.next_ms(self._cluster.runtime.rng)
            if self._now_ms() + pause_ms >= deadline_ms or back_off.attempts > self._config.retries:
                progress.expire(timeout_ms, back_off.attempts)
                break
            await self._pause(pause_ms)
        self._raise_if_closed()
        return progress.results()

    async def ask_every_node(
        self, ask: Callable[[Sequence[int]], Ask[int, V]], timeout_ms: int | None
    ) -> dict[int, V | KafkaError]:
        """The answers of all nodes that are up, by their ids, from a fresh look at the cluster.

        When one goes meanwhile all are asked again, until the time is up: what it had is with others by then.
        """
        timeout_ms = self._config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        deadline_ms = self._now_ms() + timeout_ms
        while True:
            node_ids = await self._node_ids(self._left_ms(deadline_ms))
            results = await self.ask(ask(node_ids), self._left_ms(deadline_ms))
            has_lost_one = any(isinstance(result, BrokerNotAvailableError) for result in results.values())
            if not has_lost_one or self._now_ms() >= deadline_ms:
                return results

    async def coordinator(self, target: Coordinated, timeout_ms: int | None) -> Node:
        """The broker that coordinates a group or a transactional id, under its own id."""
        timeout_ms = self._config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        node = await self._cluster.coordinator(*_coordinated(target), timeout_ms=timeout_ms)
        return Node(broker_id(node), node.host, node.port)

    async def _node_ids(self, timeout_ms: int) -> list[int]:
        if self.uses_controllers:
            return sorted(self._cluster.metadata.nodes)
        return sorted((await self._cluster.describe_topics((), timeout_ms=timeout_ms)).nodes)

    async def _attempt(self, ask: Ask[K, V], progress: Progress[K, V], deadline_ms: int) -> None:
        """Ask once about all that is pending."""
        targets = {key: ask.where(key) for key in progress.pending}
        nodes = await self._find(targets, progress, deadline_ms)
        requests = split(nodes, nodes.__getitem__, one_by_one=ask.one_by_one)
        await asyncio.gather(*(self._exchange(ask, progress, node, keys, deadline_ms) for node, keys in requests))
        for key in progress.pending:
            self._forget(targets[key])

    async def _find(self, targets: Mapping[K, Target], progress: Progress[K, V], deadline_ms: int) -> dict[K, Node]:
        """The nodes of all targets that have one; the others have failed for now."""
        image: ClusterMetadata | KafkaError | None = None
        topics = {target.topic for target in targets.values() if isinstance(target, Leader)}
        if topics:
            try:
                image = await self._cluster.describe_topics(topics, timeout_ms=self._left_ms(deadline_ms))
            except KafkaError as error:
                image = error

        async def find(target: Target) -> Node | KafkaError:
            try:
                return await self._node(target, image, deadline_ms)
            except KafkaError as error:
                return error

        distinct = list(dict.fromkeys(targets.values()))
        found = dict(zip(distinct, await asyncio.gather(*(find(target) for target in distinct)), strict=True))
        nodes: dict[K, Node] = {}
        for key, target in targets.items():
            node = found[target]
            if isinstance(node, KafkaError):
                progress.fail([key], node, self._now_ms())
            else:
                nodes[key] = node
        return nodes

    async def _node(self, target: Target, image: ClusterMetadata | KafkaError | None, deadline_ms: int) -> Node:
        match target:
            case Leader(topic, partition):
                assert image is not None, "leaders are looked up with their topics"
                if isinstance(image, KafkaError):
                    raise image
                return leader_of(image, topic, partition)
            case GroupCoordinator() | TransactionCoordinator():
                left_ms = self._left_ms(deadline_ms)
                return await self._cluster.coordinator(*_coordinated(target), timeout_ms=left_ms)
            case Broker(node_id):
                absent = BrokerNotAvailableError(f"There is no broker {node_id} in the cluster")
                return self._known(self._cluster.node(node_id), absent)
            case Anywhere.CONTROLLER:
                return self._known(self._cluster.metadata.controller, NetworkError("Nobody knows a controller"))
            case Anywhere.ANY_NODE:
                return self._known(self._cluster.least_loaded_node(), NetworkError("No node can be reached"))
            case _:
                assert_never(target)

    def _known(self, node: Node | None, absent: KafkaError) -> Node:
        if node is None:
            self._cluster.request_update()
            raise absent
        return node

    async def _exchange(
        self, ask: Ask[K, V], progress: Progress[K, V], node: Node, keys: Sequence[K], deadline_ms: int
    ) -> None:
        # The node may take as long as we wait for it, and no longer: it would work for nobody.
        timeout_ms = min(self._left_ms(deadline_ms), self.request_timeout_ms)
        request = ask.request(keys, timeout_ms)
        try:
            if ask.min_version:
                await self._require_version(node, request, ask.min_version, deadline_ms)
            answer = await self._cluster.send(node, request, timeout_ms=timeout_ms, max_version=ask.max_version)
            results = ask.read(answer, keys)
        except KafkaError as error:
            progress.fail(keys, error, self._now_ms())
        else:
            progress.answer(keys, results, self._now_ms())

    async def _require_version(self, node: Node, request: Message, min_version: int, deadline_ms: int) -> None:
        versions = await self._cluster.connect(node, timeout_ms=self._left_ms(deadline_ms))
        version = versions.latest_usable_version(type(request))
        if version < min_version:
            name = type(request).__name__.removesuffix("Request")
            raise UnsupportedVersionError(f"{node} speaks {name} up to version {version}; {min_version} is needed")

    def _forget(self, target: Target) -> None:
        """Look again for whom we did not get an answer from."""
        if isinstance(target, Coordinated):
            self._cluster.forget_coordinator(*_coordinated(target))
        elif not isinstance(target, Leader):
            self._cluster.request_update()

    async def _pause(self, duration_ms: int) -> None:
        try:
            await asyncio.wait_for(self._closed.wait(), duration_ms / 1000)
        except TimeoutError:
            return

    def _raise_if_closed(self) -> None:
        if self._closed.is_set():
            raise ClientClosedError("The admin client is closed")

    def _left_ms(self, deadline_ms: int) -> int:
        return max(deadline_ms - self._now_ms(), 1)

    def _now_ms(self) -> int:
        return self._cluster.runtime.clock.monotonic_ms()


def _coordinated(target: Coordinated) -> tuple[CoordinatorType, str]:
    if isinstance(target, GroupCoordinator):
        return CoordinatorType.GROUP, target.group_id
    return CoordinatorType.TRANSACTION, target.transactional_id
