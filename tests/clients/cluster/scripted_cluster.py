"""A cluster of scripted brokers in the test's loop: what it says is what the test has set."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from ottla.clients.cluster.cluster_client import ClusterClient
from ottla.common.error_code import ErrorCode
from ottla.common.uuid import Uuid
from ottla.config.client_configs import AdminConfig
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from ottla.protocol.messages.list_groups import ListGroupsResponse
from ottla.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.network.client_harness import Received, ScriptedBroker

QUICK = {
    "reconnect.backoff.ms": 5,
    "reconnect.backoff.max.ms": 10,
    "retry.backoff.ms": 1,
    "retry.backoff.max.ms": 8,
}
SPOKEN = {ApiKey.FIND_COORDINATOR: (0, 6), ApiKey.LIST_GROUPS: (0, 5), ApiKey.DESCRIBE_CLUSTER: (0, 2)}


class ScriptedCluster:
    """Brokers that answer Metadata, FindCoordinator and ListGroups from the attributes of this object."""

    def __init__(self, count: int) -> None:
        self.brokers = [ScriptedBroker(node_id=number + 1) for number in range(count)]
        self.advertised = list(self.brokers)
        """Who stands in the metadata."""
        self.controller_id = 1
        self.leaders: dict[str, tuple[int, int]] = {}
        """Leader and epoch of the one partition of each topic."""
        self.topic_errors: dict[str, ErrorCode] = {}
        self.metadata_error = ErrorCode.NONE
        self.coordinator_id = 1
        self.coordinator_error = ErrorCode.NONE
        self.group_errors: dict[int, ErrorCode] = {}
        """What a broker's ListGroups says."""
        self.metadata_requests: list[tuple[int, MetadataRequest]] = []
        self.asked: list[tuple[int, type]] = []
        """Who was asked what, Metadata apart."""
        for broker in self.brokers:
            broker.spoken |= SPOKEN
            broker.handle = self._handler(broker)

    @property
    def bootstrap(self) -> str:
        """The addresses of all brokers."""
        return ",".join(f"{broker.node.host}:{broker.node.port}" for broker in self.brokers)

    def _handler(self, broker: ScriptedBroker) -> Any:
        def handle(received: Received) -> None:
            body = received.body
            if isinstance(body, MetadataRequest):
                self.metadata_requests.append((broker.node.id, body))
                received.answer(self._metadata(body))
                return
            self.asked.append((broker.node.id, type(body)))
            if isinstance(body, FindCoordinatorRequest):
                received.answer(self._coordinator(body))
            else:
                received.answer(ListGroupsResponse(error_code=self.group_errors.get(broker.node.id, ErrorCode.NONE)))

        return handle

    def _metadata(self, request: MetadataRequest) -> MetadataResponse:
        nodes = [broker.node for broker in self.advertised]
        names = sorted(self.leaders) if request.topics is None else [topic.name or "" for topic in request.topics]
        return MetadataResponse(
            error_code=self.metadata_error,
            cluster_id="scripted",
            controller_id=self.controller_id,
            brokers=[MetadataResponseBroker(node_id=node.id, host=node.host, port=node.port) for node in nodes],
            topics=[self._topic(name) for name in names],
        )

    def _topic(self, name: str) -> MetadataResponseTopic:
        if name not in self.leaders:
            error = self.topic_errors.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            return MetadataResponseTopic(name=name, error_code=error)
        leader, epoch = self.leaders[name]
        partition = MetadataResponsePartition(partition_index=0, leader_id=leader, leader_epoch=epoch)
        return MetadataResponseTopic(name=name, topic_id=Uuid(name.encode().ljust(16)[:16]), partitions=[partition])

    def _coordinator(self, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
        node = self.brokers[self.coordinator_id - 1].node
        found = Coordinator(
            key=request.coordinator_keys[0],
            node_id=node.id,
            host=node.host,
            port=node.port,
            error_code=self.coordinator_error,
        )
        return FindCoordinatorResponse(coordinators=[found])


@asynccontextmanager
async def scripted_cluster(count: int = 1) -> AsyncIterator[ScriptedCluster]:
    """A running cluster; broker n has the id n + 1."""
    cluster = ScriptedCluster(count)
    for broker in cluster.brokers:
        await broker.listen()
    try:
        yield cluster
    finally:
        for broker in cluster.brokers:
            await broker.stop()


@asynccontextmanager
async def cluster_client(bootstrap: str, *, start: bool = True, **properties: Any) -> AsyncIterator[ClusterClient]:
    """A client with short back-offs; ``properties`` are its keys with underscores."""
    config = AdminConfig.parse(QUICK, {"bootstrap_servers": bootstrap or None, **properties})
    client = ClusterClient(config.common)
    try:
        if start:
            await client.start(timeout_ms=20_000)
        yield client
    finally:
        await client.close()


async def until(condition: Callable[[], object]) -> None:
    """Wait for it; the test's own bound is the harness's."""
    while not condition():
        await asyncio.sleep(0.001)
