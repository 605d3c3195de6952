"""The socket server: listeners of one kind, their connections and the requests on them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from ottla.common.endpoint import Endpoint
from ottla.metrics.registry import Registry
from ottla.network.acceptor import Acceptor, plain_address
from ottla.network.channel import Channel
from ottla.network.config import SocketServerConfig, validate_thread_count
from ottla.network.connection_quotas import ConnectionQuotas, validate_listener
from ottla.network.listener import Listener
from ottla.network.listener_type import ListenerType
from ottla.network.memory_pool import MemoryPool, NoMemoryPool
from ottla.network.network_metrics import PlaneMetrics
from ottla.network.page_cache import is_cached, load
from ottla.network.plane import ApiVersions, Plane
from ottla.network.processor import Processor
from ottla.network.reactor import Reactor
from ottla.network.readiness import READ, Readiness, default_readiness
from ottla.network.request import RequestHandler
from ottla.network.request_channel import RequestChannel
from ottla.network.request_metrics import RequestChannelMetrics, RequestMetricsSink
from ottla.network.selector import Selector
from ottla.network.send import MAX_WRITE_BYTES, Send
from ottla.network.server_metrics import ServerMetrics
from ottla.protocol.file_slice import ReadableFile
from ottla.runtime.open_files import OpenFiles
from ottla.runtime.port import Runtime

_log = logging.getLogger(__name__)

READ_AHEAD_BYTES: Final = 4 * 1024 * 1024
"""How much behind a cold range is loaded while that is sent."""
TICK_MS: Final = 300
"""How often idle connections are looked for where nothing else happens."""


class SocketServer:
    """The listeners of a broker, or those of a controller; each kind is a plane of the reactor.

    Constructed (ports are bound, nobody can connect) → ``enable_request_processing`` → serving → ``stop``.
    """

    def __init__(
        self,
        config: SocketServerConfig,
        endpoints: Sequence[Endpoint],
        handler: RequestHandler,
        api_versions: ApiVersions,
        *,
        registry: Registry,
        listener_type: ListenerType,
        reactor: Reactor,
        runtime: Runtime,
        readiness: Readiness | None = None,
        request_metrics: RequestMetricsSink | None = None,
        disconnect_listeners: Sequence[Callable[[str], None]] = (),
        on_file_failure: Callable[[str, OSError], None] = lambda _path, _error: None,
        open_files: OpenFiles | None = None,
    ) -> None:
        """``on_file_failure`` is told of a file that was to be sent and whose disk has failed."""
        self.config = config
        self._open_files = open_files or OpenFiles(runtime.clock)
        self.listener_type = listener_type
        self._reactor = reactor
        self._runtime = runtime
        self._disconnect_listeners = disconnect_listeners
        pool = MemoryPool(config.queued_max_request_bytes) if config.queued_max_request_bytes > 0 else NoMemoryPool()
        self.memory_pool = pool
        self.request_channel = RequestChannel(config.queued_max_requests, pool, reactor.wakeup)
        self.metrics = PlaneMetrics(listener_type.value.lower())
        if request_metrics is None:
            request_metrics = RequestChannelMetrics(registry)
        self.plane = Plane(self.request_channel, handler, api_versions, request_metrics, self.metrics)
        self.selector = Selector(
            readiness if readiness is not None else default_readiness(),
            pool,
            runtime.rng,
            received=self.plane.receive,
            sent=self.plane.completed_send,
            load=self._load,
            on_file_failure=on_file_failure,
        )
        self.plane.attach(self.selector, self._after_poll)
        self.quotas = ConnectionQuotas(
            max_connections=config.max_connections,
            max_connections_per_ip=config.max_connections_per_ip,
            max_connections_per_ip_overrides=config.max_connections_per_ip_overrides,
            max_connection_creation_rate=config.max_connection_creation_rate,
            inter_broker_listener_name=config.inter_broker_listener_name,
            quota_window_size_seconds=config.quota_window_size_seconds,
            quota_window_num=config.quota_window_num,
            on_change=self._quotas_changed,
        )
        self._server_metrics = ServerMetrics(registry, self)
        self.acceptors: dict[str, Acceptor] = {}
        self._accepting: dict[int, Acceptor] = {}
        """Those that wait for connections, by descriptor; the others have not started, or pause."""
        self._next_processor_id = 0
        self._next_idle_check_ms = 0
        self._accept_timer_at_ms: int | None = None
        """When somebody looks again at listeners that pause for a time."""
        self._quotas_have_changed = False
        self._authorizers_ready: asyncio.Future[None] | None = None
        self._is_stopped = False
        self._tick: asyncio.TimerHandle | None = None
        try:
            for endpoint in endpoints:
                self._create_acceptor(endpoint)
        except OSError:
            self._release()
            raise

    def _release(self) -> None:
        """Close the listeners, and what was opened and registered for them."""
        for acceptor in self.acceptors.values():
            self._close_acceptor(acceptor)
        self._server_metrics.close()
        self.selector.readiness.close()

    def fileno(self) -> int:
        """The descriptor that tells of work; for the reactor."""
        return self.selector.readiness.fileno()

    def is_due(self) -> bool:
        """Whether the plane has something to do; for the reactor."""
        return self.plane.is_due()

    def turn(self, now_ms: int) -> bool:
        """A turn of the plane; for the reactor."""
        return self.plane.turn(now_ms)

    def now_ms(self) -> int:
        """The time, for rates."""
        return self._runtime.clock.monotonic_ms()

    def processors(self) -> list[Processor]:
        """The processors of all listeners."""
        return [processor for acceptor in self.acceptors.values() for processor in acceptor.listener.processors]

    def bound_port(self, listener_name: str) -> int:
        """The port of a listener, known as soon as the server is constructed."""
        return self.acceptors[listener_name].port

    async def enable_request_processing(self, authorizer_ready: Mapping[str, Awaitable[object]] | None = None) -> None:
        """Start each listener as soon as its authorizer is ready, by listener name; returns when all have started.

        A listener that is not named starts when all that are named are ready.
        """
        assert not self._is_stopped, "the socket server is stopped"
        _log.info("Enabling request processing.")
        ready = {name: asyncio.ensure_future(future) for name, future in (authorizer_ready or {}).items()}
        self._authorizers_ready = asyncio.ensure_future(_all_of(list(ready.values())))
        self._authorizers_ready.add_done_callback(_retrieve)
        self._reactor.add(self, self.listener_type)
        self._schedule_tick()
        waits = [
            self._start_after(acceptor, ready.get(name, self._authorizers_ready))
            for name, acceptor in self.acceptors.items()
        ]
        await asyncio.gather(*waits)

    async def _start_after(self, acceptor: Acceptor, ready: Awaitable[object]) -> None:
        await ready
        if not self._is_stopped:
            self.start_listener(acceptor.name)

    def start_listener(self, name: str) -> None:
        """Let clients connect to a listener; its authorizer is ready."""
        acceptor = self.acceptors[name]
        acceptor.start()
        self._set_accepting(acceptor, accepting=True)

    def add_listeners(self, endpoints: Sequence[Endpoint]) -> None:
        """Listen on more addresses, at once if the authorizers are ready."""
        assert self._authorizers_ready is not None, "request processing is not enabled"
        _log.info("Adding listeners for endpoints %s", endpoints)
        for endpoint in endpoints:
            acceptor = self._create_acceptor(endpoint)
            self._runtime.spawn(self._start_after(acceptor, self._authorizers_ready))

    def remove_listeners(self, names: Sequence[str]) -> None:
        """Stop listening on some addresses, and close their connections."""
        _log.info("Removing listeners %s", names)
        for name in names:
            acceptor = self.acceptors.pop(name)
            self._close_acceptor(acceptor)
            for channel in [*self.selector.channels.values()]:
                if channel.listener is acceptor.listener:
                    self.selector.close(channel)
            self._process_disconnected()
            self.quotas.remove_listener(name)
            self._resize_processors(acceptor.listener, 0)
            self._server_metrics.remove_listener(name)

    def reconfigure(self, config: SocketServerConfig) -> None:
        """Change what can be changed while serving: the connection limits and rates, and the processors' number.

        InvalidConfigError, and nothing is changed, where Apache refuses the change.
        """
        for name, acceptor in self.acceptors.items():
            count = len(acceptor.listener.processors)
            validate_thread_count("num.network.threads", config.network_threads(name), count)
            validate_listener(config.listener(name))
        self.config = config
        quotas = self.quotas
        quotas.max_connections_per_ip = config.max_connections_per_ip
        quotas.max_connections_per_ip_overrides = dict(config.max_connections_per_ip_overrides)
        quotas.update_max_connections(config.max_connections)
        quotas.update_max_connection_creation_rate(config.max_connection_creation_rate)
        for name, acceptor in self.acceptors.items():
            quotas.reconfigure_listener(name, config.listener(name))
            self._resize_processors(acceptor.listener, config.network_threads(name))

    async def stop(self, drain_ms: int = 0) -> None:
        """Stop accepting, give the requests under way ``drain_ms`` to be answered, and close all connections."""
        if self._is_stopped:
            return
        self._is_stopped = True
        _log.info("Stopping socket server request processors")
        for acceptor in self.acceptors.values():
            self._close_acceptor(acceptor)
        deadline_ms = self._runtime.clock.monotonic_ms() + drain_ms
        self.selector.stop_reading()
        while self.selector.is_busy() and self._runtime.clock.monotonic_ms() < deadline_ms:
            await self._runtime.sleep_ms(1)
        if self._authorizers_ready is not None:
            self._reactor.remove(self)
        if self._tick is not None:
            self._tick.cancel()
        for channel in [*self.selector.channels.values()]:
            self.selector.close(channel)
        self._process_disconnected()
        self.request_channel.clear()
        self._server_metrics.close()
        self.selector.readiness.close()
        _log.info("Stopped socket server request processors")

    def _create_acceptor(self, endpoint: Endpoint) -> Acceptor:
        name = endpoint.name
        config = self.config
        listener = Listener(
            endpoint,
            config.listener(name),
            is_privileged=name == config.inter_broker_listener_name,
            max_idle_ms=config.connections_max_idle_ms,
        )
        listener.on_client_kind = self._server_metrics.client_kind
        self._resize_processors(listener, config.network_threads(name))
        acceptor = Acceptor(
            listener,
            config,
            self.quotas,
            self._open_files,
            is_internal=self.listener_type is ListenerType.CONTROLLER,
        )
        self.quotas.add_listener(name, config.listener(name))
        self.acceptors[name] = acceptor
        self._server_metrics.add_listener(acceptor)
        return acceptor

    def _resize_processors(self, listener: Listener, count: int) -> None:
        while len(listener.processors) < count:
            processor = Processor(self._next_processor_id, listener.endpoint)
            listener.processors.append(processor)
            self._server_metrics.add_processor(processor)
            self._next_processor_id += 1
        while len(listener.processors) > count:
            self._server_metrics.remove_processor(listener.processors.pop())

    def _close_acceptor(self, acceptor: Acceptor) -> None:
        self._set_accepting(acceptor, accepting=False)
        acceptor.close()

    def _set_accepting(self, acceptor: Acceptor, *, accepting: bool) -> None:
        descriptor = acceptor.descriptor
        if accepting and descriptor not in self._accepting:
            self._accepting[descriptor] = acceptor
            self.selector.readiness.set_interest(descriptor, 0, READ)
        elif not accepting and descriptor in self._accepting:
            del self._accepting[descriptor]
            self.selector.readiness.set_interest(descriptor, READ, 0)

    def _quotas_changed(self) -> None:
        self._quotas_have_changed = True
        if not self.request_channel.in_turn:
            self._reactor.wakeup()

    def _after_poll(self, now_ms: int) -> None:
        """The end of a turn: those who came, those who went, and those who must go."""
        selector = self.selector
        if selector.foreign_events:
            self._accept(now_ms)
        if selector.disconnected:
            self._process_disconnected()
        if self.quotas.total_count > self.quotas.max_connections:
            self._close_excess_connections()
        if now_ms >= self._next_idle_check_ms:
            self._next_idle_check_ms = now_ms + TICK_MS
            self._expire_idle(now_ms)
        if self._quotas_have_changed:
            self._quotas_have_changed = False
            self._resume_accepting(now_ms)

    def _accept(self, now_ms: int) -> None:
        descriptors, self.selector.foreign_events = self.selector.foreign_events, []
        for descriptor in descriptors:
            acceptor = self._accepting.get(descriptor)
            if acceptor is not None:
                acceptor.accept(now_ms)
                self._configure_new_connections(acceptor, now_ms)
                self._pause_or_resume(acceptor, now_ms)

    def _configure_new_connections(self, acceptor: Acceptor, now_ms: int) -> None:
        listener = acceptor.listener
        while acceptor.new_connections:
            sock, address = acceptor.new_connections.popleft()
            processor = listener.next_processor()
            connection_id = processor.connection_id(plain_address(sock.getsockname()), address)
            channel = Channel(
                sock,
                connection_id,
                address[0],
                listener=listener,
                processor=processor,
                request_channel=self.request_channel,
                max_receive_bytes=self.config.socket_request_max_bytes,
            )
            processor.connections_created += 1
            processor.connection_count += 1
            self.selector.register(channel, now_ms)

    def _pause_or_resume(self, acceptor: Acceptor, now_ms: int) -> None:
        may_accept = acceptor.may_accept(now_ms)
        self._set_accepting(acceptor, accepting=may_accept)
        deadline_ms = acceptor.next_deadline_ms()
        timer_at_ms = self._accept_timer_at_ms
        if deadline_ms is not None and (timer_at_ms is None or deadline_ms < timer_at_ms):
            self._accept_timer_at_ms = deadline_ms
            self._reactor.call_later(max(deadline_ms - now_ms, 0), self._accept_timer_fired)

    def _accept_timer_fired(self) -> None:
        self._accept_timer_at_ms = None
        self._quotas_changed()

    def _resume_accepting(self, now_ms: int) -> None:
        for acceptor in self.acceptors.values():
            if acceptor.is_listening:
                acceptor.close_throttled(now_ms)
                self._pause_or_resume(acceptor, now_ms)

    def _process_disconnected(self) -> None:
        disconnected, self.selector.disconnected = self.selector.disconnected, []
        for channel in disconnected:
            self.plane.disconnected(channel)
            channel.processor.connections_closed += 1
            channel.processor.connection_count -= 1
            channel.listener.count_client(channel.client_information, -1)
            self.quotas.dec(channel.listener_name, channel.client_address)
            for listener in self._disconnect_listeners:
                listener(channel.connection_id)

    def _close_excess_connections(self) -> None:
        """Where a protected listener went beyond max.connections, close one connection of each other listener."""
        for name, acceptor in self.acceptors.items():
            if self.quotas.max_connections_exceeded(name):
                channel = acceptor.listener.lowest_priority_channel()
                if channel is not None:
                    self.selector.close(channel)
        self._process_disconnected()
        if self.quotas.total_count > self.quotas.max_connections:
            self._reactor.wakeup()

    def _expire_idle(self, now_ms: int) -> None:
        for acceptor in self.acceptors.values():
            while (channel := acceptor.listener.idle.poll_expired(now_ms)) is not None:
                _log.debug("Closing the idle connection %s", channel.connection_id)
                self.selector.expire(channel)
        self._process_disconnected()

    def _schedule_tick(self) -> None:
        """Have a turn now and then, for what time alone brings about."""
        self._tick = self._reactor.call_later(TICK_MS, self._schedule_tick)
        self._reactor.wakeup()

    def _load(self, channel: Channel, send: Send) -> None:
        """Read the range that a send has come upon from the disk, away from the reactor, and go on."""
        self._runtime.spawn(self._load_and_go_on(channel, send))

    async def _load_and_go_on(self, channel: Channel, send: Send) -> None:
        cold = send.cold_range
        assert cold is not None, "nothing to load"
        try:
            await self._runtime.blocking(partial(load, cold.file, cold.position, cold.size))
        except OSError as error:
            self.selector.fail_file(channel, cold.file, error)
            self._reactor.wakeup()
            return
        if channel.send is send:
            send.loaded()
            self.selector.write(channel)
            self._reactor.wakeup()
            await self._read_ahead(cold.file, cold.position + cold.size)

    async def _read_ahead(self, file: ReadableFile, position: int) -> None:
        """Who reads cold data reads on: load what follows while that is sent, if the kernel has not done so."""
        with suppress(OSError):  # whoever comes to read what is broken there is told
            if not is_cached(file, position, MAX_WRITE_BYTES):
                await self._runtime.blocking(partial(load, file, position, READ_AHEAD_BYTES))


def _retrieve(future: "asyncio.Future[None]") -> None:
    """Take note of a failure that a listener's own authorizer has told of already."""
    if not future.cancelled():
        future.exception()


async def _all_of(futures: Sequence[Awaitable[object]]) -> None:
    await asyncio.gather(*futures)
