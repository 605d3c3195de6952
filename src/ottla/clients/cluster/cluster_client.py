"""A client's view of a cluster and its ways to ask it: what producer, consumer and admin client stand on."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from ottla.clients.back_off import BackOff
from ottla.clients.cluster.connections import Connections
from ottla.clients.cluster.coordinator_cache import (
    CoordinatorCache,
    CoordinatorType,
    coordinator_in,
    find_coordinator_request,
)
from ottla.clients.cluster.metadata import ClusterMetadata
from ottla.clients.cluster.metadata_refresher import MetadataRefresher
from ottla.clients.cluster.metadata_source import BrokerMetadata, ControllerMetadata, MetadataSource
from ottla.clients.cluster.metadata_updater import TOPIC_IDLE_MS, MetadataSettings, MetadataUpdater, UpdatePlan
from ottla.clients.cluster.outage import Outage
from ottla.clients.cluster.targets import AnyNode, Controller, CoordinatorOf, Target
from ottla.clients.errors import AuthorizationError, KafkaTimeoutError, error_for
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.config.client_configs import ClientConfig
from ottla.network.client_errors import AuthenticationError, NetworkError, UnsupportedVersionError
from ottla.network.node import Node
from ottla.network.node_api_versions import NodeApiVersions
from ottla.network.repeated_failures import RepeatedFailures
from ottla.protocol.message import Message
from ottla.protocol.messages.metadata import MetadataResponse
from ottla.runtime.live import AsyncioRuntime
from ottla.runtime.port import Runtime

if TYPE_CHECKING:
    from ottla.clients.security import TokenProvider

DEFAULT_TIMEOUT_MS: Final = 60_000
"""How long a call may take that is not told; Apache's default.api.timeout.ms."""
_MAX_IN_FLIGHT: Final = 5
_FATAL: Final = (AuthenticationError, AuthorizationError, UnsupportedVersionError)
"""Why metadata cannot be had, however often it is asked for."""


class ClusterClient:
    """New → ``start`` → started → ``close``; one event loop.

    All methods fail with AuthenticationError and UnsupportedVersionError at once, with ClientClosedError when the
    client is closed during the call, and with KafkaTimeoutError, which says what was tried, when the time is up.
    """

    def __init__(
        self,
        config: ClientConfig,
        runtime: Runtime | None = None,
        *,
        allow_auto_topic_creation: bool = True,
        topic_idle_ms: int = TOPIC_IDLE_MS,
        max_in_flight: int = _MAX_IN_FLIGHT,
        token_provider: "TokenProvider | None" = None,
    ) -> None:
        """``topic_idle_ms``: topics of ``require_topics`` that nobody has asked for in so long are forgotten."""
        self._own_runtime = AsyncioRuntime() if runtime is None else None
        self.runtime: Runtime = self._own_runtime if runtime is None else runtime  # type: ignore[assignment]
        self.config = config
        self._connections = Connections(config, self.runtime, max_in_flight, token_provider)
        rebootstraps = config.metadata_recovery_strategy == "rebootstrap"
        self._updater = MetadataUpdater(
            MetadataSettings(
                config.metadata_max_age_ms,
                config.retry_backoff_ms,
                config.retry_backoff_max_ms,
                config.metadata_recovery_rebootstrap_trigger_ms if rebootstraps else None,
                topic_idle_ms,
            )
        )
        self._source: MetadataSource = ControllerMetadata()
        if not config.bootstrap_controllers:
            self._source = BrokerMetadata(allow_auto_topic_creation=allow_auto_topic_creation)
        self._refresher = MetadataRefresher(self.runtime, self._connections, self._updater, self._source)
        self._coordinators = CoordinatorCache()
        self._wants = RepeatedFailures()
        """Topics that were waited for in vain: many may wait for the same."""

    @property
    def metadata(self) -> ClusterMetadata:
        """The newest image."""
        return self._updater.image

    async def start(self, *, timeout_ms: int | None = None) -> None:
        """Return when a bootstrap server has told of the cluster; ``request.timeout.ms`` unless told otherwise.

        A client whose start fails may be closed, or used: it goes on trying.
        """
        timeout_ms = self.config.request_timeout_ms if timeout_ms is None else timeout_ms
        deadline_ms = self._now_ms() + timeout_ms
        await self._connections.resolve()
        self._refresher.start()
        outage = self._refresher.outage
        while self._updater.updated_at_ms is None:
            now_ms = self._now_ms()
            outage.goes_on(now_ms, self._connections.failures() or self._nobody_answers(), deadline_ms)
            await self._refresher.wait_for_update(min(deadline_ms, outage.notice_after(now_ms)) - now_ms)
            self._raise_if_fatal()
            if self._updater.updated_at_ms is None and self._now_ms() >= deadline_ms:
                raise self._timed_out("No bootstrap server has told of the cluster", timeout_ms)

    async def close(self) -> None:
        """Close all connections. Whoever waits gets a ClientClosedError; closing again does nothing."""
        await self._refresher.close()
        await self._connections.close()
        if self._own_runtime is not None:
            self._own_runtime.close(wait=False)  # a name server that does not answer must not hold up the user's loop

    def want_topics(self, topics: Collection[str] | None) -> None:
        """Keep the metadata of these topics, instead of those of the last call; None for all topics."""
        self._updater.want(topics)
        self._refresher.wake()

    def use_topic(self, topic: str) -> None:
        """Keep the metadata of a topic for as long as it is used now and then; costs next to nothing if it is known."""
        self._updater.use((topic,), self._now_ms())
        if topic not in self._updater.image.topics:
            self._refresher.wake()

    async def require_topics(self, topics: Collection[str], *, timeout_ms: int | None = None) -> ClusterMetadata:
        """Return an image in which all these topics have partitions; ``use_topic`` is implied.

        Raises the error of a topic that will not go away by itself (TopicAuthorizationError, InvalidTopicError).
        """
        timeout_ms = DEFAULT_TIMEOUT_MS if timeout_ms is None else timeout_ms
        deadline_ms = self._now_ms() + timeout_ms
        self._refresher.raise_if_closed()
        self._updater.use(topics, self._now_ms())
        missing = self._missing(topics)
        if any(topic in self.metadata.topics for topic in missing):
            self.request_update()  # what is known of it is an error, and may be old
        seen, want = self._refresher.ended_count, Outage(self._wants)
        while missing:
            if self._refresher.ended_count > seen:
                self._raise_if_fatal()
                self._raise_topic_errors(missing)
            now_ms = self._now_ms()
            if now_ms >= deadline_ms:
                raise self._timed_out(self._why_missing(missing), timeout_ms)
            want.goes_on(now_ms, self._why_missing(missing), deadline_ms)
            await self._refresher.wait_for_update(min(deadline_ms, want.notice_after(now_ms)) - now_ms)
            missing = self._missing(topics)
        return self.metadata

    def request_update(self) -> None:
        """Ask for fresh metadata soon: at once, or after the back-off if that was done just now."""
        self._updater.request_update()
        self._refresher.wake()

    async def wait_for_update(self, timeout_ms: int) -> bool:
        """Wait until an update that was asked for has ended, well or not; whether one has."""
        return await self._refresher.wait_for_update(timeout_ms)

    def on_update(self, callback: Callable[[ClusterMetadata], None]) -> None:
        """Call back with each new image, in the loop's thread."""
        self._refresher.on_update(callback)

    def learn_leaders(self, leaders: Mapping[tuple[str, int], tuple[int, int]], nodes: Collection[Node]) -> None:
        """Take new leaders (id and epoch by topic and partition) from an answer that named them by itself."""
        self._updater.learned(self.metadata.with_leaders(leaders, nodes))
        self._refresher.notify()

    async def list_topics(self, *, timeout_ms: int | None = None) -> ClusterMetadata:
        """An image of all topics there are, fetched now; nothing is made, and nothing of it is kept."""
        return await self.describe_topics(None, timeout_ms=timeout_ms)

    async def describe_topics(
        self, topics: Collection[str] | None, *, timeout_ms: int | None = None
    ) -> ClusterMetadata:
        """An image of these topics, or all, fetched now; those that do not exist are in it with their error."""
        names = None if topics is None else tuple(topics)
        request = BrokerMetadata(allow_auto_topic_creation=False).request(UpdatePlan(names, is_partial=False))
        response = await self.ask_any(request, timeout_ms=timeout_ms)
        assert isinstance(response, MetadataResponse)
        return ClusterMetadata().merge(response)

    def node(self, node_id: int) -> Node | None:
        """A node of the cluster, if it is known."""
        return self.metadata.nodes.get(node_id)

    def least_loaded_node(self) -> Node | None:
        """The best node to ask what any can answer; None if all are in back-off."""
        return self._connections.least_loaded(self._refresher.nodes())

    def in_flight_count(self, node: Node) -> int:
        """How many requests the node has not answered."""
        return self._connections.in_flight_count(node)

    def is_ready(self, node: Node) -> bool:
        """Whether the node is connected and not throttled."""
        return self._connections.is_ready(node)

    def send(
        self,
        node: int | Node,
        request: Message,
        *,
        timeout_ms: int | None = None,
        max_version: int | None = None,
        expect_response: bool = True,
    ) -> Awaitable[Any]:
        """Send to one node, once; await the answer. Requests to a node keep the order of the calls.

        Fails with NetworkError, also if the id is not known; then, and when the answer says that the node is not the
        right one, the caller asks for an update.
        """
        found = node if isinstance(node, Node) else self.node(node)
        if found is None:
            unknown: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            unknown.set_exception(NetworkError(f"Node {node} is not known in the cluster"))
            return unknown
        return self._connections.send(found, request, timeout_ms, max_version, expect_response=expect_response)

    async def ask_any(self, request: Message, *, timeout_ms: int | None = None, max_version: int | None = None) -> Any:
        """The answer of any node. A node that cannot be reached is no failure: another is asked, until the time is up.

        So a request may be acted on twice; this is true for all ``ask`` methods.
        """
        return await self._ask(AnyNode(), request, timeout_ms, max_version)

    async def ask_controller(
        self, request: Message, *, timeout_ms: int | None = None, max_version: int | None = None
    ) -> Any:
        """The controller's answer; NOT_CONTROLLER is never in it."""
        return await self._ask(Controller(), request, timeout_ms, max_version)

    async def ask_coordinator(
        self,
        kind: CoordinatorType,
        key: str,
        request: Message,
        *,
        timeout_ms: int | None = None,
        max_version: int | None = None,
    ) -> Any:
        """The coordinator's answer; none in which it says that it is elsewhere, or not ready yet."""
        return await self._ask(CoordinatorOf(kind, key), request, timeout_ms, max_version)

    async def coordinator(self, kind: CoordinatorType, key: str, *, timeout_ms: int | None = None) -> Node:
        """The coordinator of a group or a transactional id, looked up once; ``send`` takes the node.

        Raises an error that will not go away by itself (GroupAuthorizationError, InvalidGroupIdError).
        """
        timeout_ms = DEFAULT_TIMEOUT_MS if timeout_ms is None else timeout_ms
        deadline_ms = self._now_ms() + timeout_ms
        back_off = self._back_off()
        while True:
            known = self._coordinators.get(kind, key)
            if known is not None:
                return known
            remaining_ms = deadline_ms - self._now_ms()
            response = await self.ask_any(find_coordinator_request(kind, key), timeout_ms=remaining_ms)
            try:
                self._coordinators.put(kind, key, coordinator_in(response))
            except KafkaError as error:
                if not error.retriable:
                    raise
                await self._pause(back_off, deadline_ms, timeout_ms, f"No coordinator of {key}: {error}")

    def forget_coordinator(self, kind: CoordinatorType, key: str) -> None:
        """The coordinator is not where it was; the next who needs it looks it up."""
        self._coordinators.forget(kind, key)

    def api_versions(self, node: int | Node) -> NodeApiVersions | None:
        """What a node speaks, while it is connected."""
        found = node if isinstance(node, Node) else self.node(node)
        return None if found is None else self._connections.api_versions(found)

    async def connect(self, node: int | Node, *, timeout_ms: int | None = None) -> NodeApiVersions:
        """Connect to a node; what it speaks. Fails like ``send``."""
        found = node if isinstance(node, Node) else self.node(node)
        if found is None:
            raise NetworkError(f"Node {node} is not known in the cluster")
        return await self._connections.connect(found, timeout_ms)

    def disconnect(self, node: Node) -> None:
        """Close the connection to a node; what is under way on it fails."""
        self._connections.disconnect(node.id)

    async def _ask(self, target: Target, request: Message, timeout_ms: int | None, max_version: int | None) -> Message:
        timeout_ms = DEFAULT_TIMEOUT_MS if timeout_ms is None else timeout_ms
        deadline_ms = self._now_ms() + timeout_ms
        back_off = self._back_off()
        name = type(request).__name__.removesuffix("Request")
        while True:
            self._refresher.raise_if_closed()
            why = f"{name} could not be sent"
            remaining_ms = deadline_ms - self._now_ms()
            node = await target.find(self, remaining_ms)
            if node is not None:
                attempt_ms = max(min(deadline_ms - self._now_ms(), self.config.request_timeout_ms), 1)
                try:
                    response: Message = await self._connections.send(node, request, attempt_ms, max_version)
                except NetworkError as error:
                    self._connections.failed(node, error)
                    target.lost(self)
                    why = f"{name} was not answered"
                else:
                    if not target.refused(self, response):
                        return response
                    why = f"{name} was refused by {node}, which is not, or not yet, the right node"
            await self._pause(back_off, deadline_ms, timeout_ms, why)

    async def _pause(self, back_off: BackOff, deadline_ms: int, timeout_ms: int, why: str) -> None:
        """Wait before the next attempt; KafkaTimeoutError if there is no time for one, ClientClosedError if closed."""
        self._refresher.raise_if_closed()
        pause_ms = back_off.next_ms(self.runtime.rng)
        if self._now_ms() + pause_ms >= deadline_ms:
            raise self._timed_out(why, timeout_ms)
        await self._refresher.pause(pause_ms)

    def _back_off(self) -> BackOff:
        return BackOff(self.config.retry_backoff_ms, self.config.retry_backoff_max_ms)

    def _missing(self, topics: Collection[str]) -> list[str]:
        known = self.metadata.topics
        return [name for name in topics if name not in known or known[name].error_code or not known[name].partitions]

    def _raise_topic_errors(self, topics: Collection[str]) -> None:
        for name in topics:
            known = self.metadata.topics.get(name)
            if known is not None and known.error_code != ErrorCode.NONE:
                error = error_for(known.error_code)
                if not error.retriable:
                    self._updater.forget(name)
                    raise error_for(known.error_code, f"{name}: {error}")

    def _why_missing(self, topics: Collection[str]) -> str:
        name = min(topics)
        known = self.metadata.topics.get(name)
        state = f": {error_for(known.error_code)}" if known is not None and known.error_code else ""
        return f"Topic {name} not present in metadata{state}"

    def _raise_if_fatal(self) -> None:
        if isinstance(self._updater.last_error, _FATAL):
            raise self._updater.last_error

    def _nobody_answers(self) -> str:
        nodes = self._connections.bootstrap_nodes
        return f"{', '.join(f'{node.host}:{node.port}' for node in nodes)}: no answer"

    def _timed_out(self, what: str, timeout_ms: int) -> KafkaTimeoutError:
        failures = self._connections.failures()
        return KafkaTimeoutError(
            f"{what} within {timeout_ms} ms" + (f". What was tried: {failures}" if failures else "")
        )

    def _now_ms(self) -> int:
        return self.runtime.clock.monotonic_ms()
