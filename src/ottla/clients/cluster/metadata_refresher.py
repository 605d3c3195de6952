"""The task that keeps a client's metadata fresh, and those who wait for it."""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from ottla.clients.cluster.outage import Outage
from ottla.clients.errors import ClientClosedError, IllegalStateError
from ottla.common.errors import KafkaError
from ottla.network.client_errors import NetworkError
from ottla.network.repeated_failures import RepeatedFailures

if TYPE_CHECKING:
    from ottla.clients.cluster.connections import Connections
    from ottla.clients.cluster.metadata import ClusterMetadata
    from ottla.clients.cluster.metadata_source import MetadataSource
    from ottla.clients.cluster.metadata_updater import MetadataUpdater
    from ottla.network.node import Node
    from ottla.protocol.message import Message
    from ottla.protocol.messages.metadata import MetadataResponse
    from ottla.runtime.port import Runtime

logger = logging.getLogger(__name__)


class MetadataRefresher:
    """New → ``start`` → running → ``close``. Asks when the updater says so, and closes connections that are unused."""

    def __init__(
        self, runtime: "Runtime", connections: "Connections", updater: "MetadataUpdater", source: "MetadataSource"
    ) -> None:
        self._runtime = runtime
        self._connections = connections
        self._updater = updater
        self._source = source
        self._task: asyncio.Task[None] | None = None
        self._woken: asyncio.Future[None] | None = None
        """Set while the task sleeps."""
        self._failures = RepeatedFailures()
        self._waiters: set[asyncio.Future[None]] = set()
        self._pausing: set[asyncio.Future[None]] = set()
        self._callbacks: list[Callable[[ClusterMetadata], None]] = []
        self._is_closed = False
        self.outage = Outage()
        self.ended_count = 0
        """Updates that have ended, well or not."""

    def start(self) -> None:
        """Begin to look; once is enough."""
        self._refuse_closed()
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())
            self._task.add_done_callback(self._run_ended)

    def on_update(self, callback: "Callable[[ClusterMetadata], None]") -> None:
        """Call back with each new image, in the loop's thread."""
        self._callbacks.append(callback)

    def wake(self) -> None:
        """Look at the updater again: it may want something sooner."""
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    async def wait_for_update(self, timeout_ms: int) -> bool:
        """Wait until an update has ended, well or not; whether one has. ClientClosedError when the client closes."""
        self.raise_if_closed()
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        self.wake()
        try:
            async with asyncio.timeout(max(timeout_ms, 0) / 1000):
                await waiter
        except TimeoutError:
            return False
        finally:
            self._waiters.discard(waiter)
        return True

    async def pause(self, duration_ms: int) -> None:
        """Let time pass; ClientClosedError when the client closes."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pausing.add(waiter)
        try:
            async with asyncio.timeout(duration_ms / 1000):
                await waiter
        except TimeoutError:
            return
        finally:
            self._pausing.discard(waiter)

    def raise_if_closed(self) -> None:
        """ClientClosedError if it is closed, IllegalStateError if it was never started."""
        self._refuse_closed()
        if self._task is None:
            raise IllegalStateError("The client is not started")

    def _refuse_closed(self) -> None:
        if self._is_closed:
            raise ClientClosedError("The client is closed")

    async def close(self) -> None:
        """Stop looking; whoever waits gets a ClientClosedError."""
        self._is_closed = True
        self._fail_all(ClientClosedError("The client was closed"))
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    def nodes(self) -> "list[Node]":
        """Those who can be asked: the known ones, and the bootstrap servers while no known one answers."""
        updater = self._updater
        nodes = list(updater.image.nodes.values()) if updater.asks_known_nodes else []
        return [*nodes, *self._connections.bootstrap_nodes] if updater.is_bootstrapping else nodes

    def notify(self) -> None:
        """The image is new."""
        for callback in self._callbacks:
            callback(self._updater.image)

    async def _run(self) -> None:
        while True:
            now_ms = self._runtime.clock.monotonic_ms()
            due_at_ms = self._updater.due_at_ms()
            if due_at_ms <= now_ms:
                await self._update(now_ms)
                continue
            idle_at_ms = self._connections.expire_idle(now_ms)
            until_ms = due_at_ms if idle_at_ms is None else min(due_at_ms, idle_at_ms)
            await self._sleep(until_ms - now_ms)

    async def _sleep(self, duration_ms: int) -> None:
        loop = asyncio.get_running_loop()
        self._woken = woken = loop.create_future()
        timer = loop.call_later(duration_ms / 1000, self.wake)
        try:
            await woken
        finally:
            timer.cancel()
            self._woken = None

    async def _update(self, now_ms: int) -> None:
        plan = self._updater.begin(now_ms)
        try:
            node = await self._connected_node()
            answer = await self._ask(node, self._source.request(plan))
        except KafkaError as error:
            now_ms = self._runtime.clock.monotonic_ms()
            if (times := self._failures.failed("", str(error), now_ms)) is not None:
                logger.info("Metadata could not be had: %s%s", error, times)
            if self._updater.updated_at_ms is not None:  # else somebody waits for the start, and says it
                self.outage.goes_on(now_ms, self._connections.failures() or str(error))
            self._updater.failed(error, self._runtime.clock.monotonic_ms(), self._runtime.rng)
            if not self._updater.is_bootstrapping and self._connections.least_loaded(self.nodes()) is None:
                logger.info("No known node can be reached; the bootstrap servers are asked")
                self._updater.nodes_lost()
        else:
            self._updater.succeeded(answer, self._runtime.clock.monotonic_ms(), self._runtime.rng)
            if self._updater.last_error is None:
                self._failures.succeeded("")
                self.outage.ends()
                self._connections.succeeded()
                if node.id < 0:
                    self._connections.disconnect(node.id)  # from now on its own id is used
                self.notify()
            else:
                self._connections.failed(node, self._updater.last_error)
        self._ended()

    async def _connected_node(self) -> "Node":
        """Connect to a node, the best first; NetworkError when all that may be tried now have been.

        What could not be reached costs no back-off of the update: others may answer at once.
        """
        error: NetworkError | None = None
        for _ in self.nodes():
            node = self._connections.least_loaded(self.nodes())
            if node is None:
                break
            try:
                await self._connections.connect(node)
            except NetworkError as lost:
                self._connections.failed(node, lost)
                error = lost
            else:
                return node
        raise error or NetworkError("All nodes are in back-off")

    async def _ask(self, node: "Node", request: "Message") -> "MetadataResponse":
        try:
            return self._source.read(await self._connections.send(node, request))
        except KafkaError as error:
            self._connections.failed(node, error)
            raise

    def _run_ended(self, task: "asyncio.Task[None]") -> None:
        """Without the task nobody hears of a change: a bug that ends it must not look like a quiet cluster."""
        if task.cancelled():
            return
        error = task.exception()
        assert error is not None, "it runs until it is cancelled"
        logger.critical("Metadata is not refreshed any more", exc_info=error)
        self._is_closed = True
        self._fail_all(error)

    def _fail_all(self, error: BaseException) -> None:
        for waiter in self._waiters | self._pausing:
            if not waiter.done():
                waiter.set_exception(error)

    def _ended(self) -> None:
        self.ended_count += 1
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
