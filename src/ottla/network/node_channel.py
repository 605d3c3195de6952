"""The way to one node: it connects when there is something to send, and lets requests wait for their turn."""

import asyncio
import logging
from collections import deque
from functools import partial
from typing import Final, NamedTuple

from ottla.common.errors import KafkaError
from ottla.network.authenticator import reauthentication_delay_ms
from ottla.network.client_connection import Answer, ClientConnection
from ottla.network.client_connector import ChannelContext, check_api_versions, failure, open_connection
from ottla.network.client_errors import AuthenticationError, NetworkError, RequestTimedOutError
from ottla.network.connection_states import Address, ConnectionState, NodeConnectionState
from ottla.network.least_loaded_node import NodeLoad
from ottla.network.node import Node
from ottla.network.node_api_versions import NodeApiVersions
from ottla.protocol.message import Message

logger = logging.getLogger(__name__)

_FOR_EVER: Final = 1 << 62


class _Waiting(NamedTuple):
    """A request that waits for its turn; without one, somebody who only wants the connection."""

    request: Message | None
    deadline_ms: int
    answer: Answer
    max_version: int | None = None
    expect_response: bool = True


class NodeChannel:
    """Requests leave in the order of ``send``, as many at a time as the bound allows; the others wait, oldest first.

    What waits while a connection is lost fails with those in flight, so that nothing overtakes a request that its
    sender will repeat. What waits while a connection is tried fails when no address of the host could be reached.
    Before each attempt the back-off is waited out.
    """

    def __init__(self, node: Node, context: ChannelContext) -> None:
        self.node = node
        self._place = f"{node.host}:{node.port}"
        self._context = context
        self._clock = context.runtime.clock
        self._loop = asyncio.get_running_loop()
        self._state = NodeConnectionState(context.config, context.runtime.rng)
        self._waiting: deque[_Waiting] = deque()
        self._connection: ClientConnection | None = None
        self._task: asyncio.Task[None] | None = None
        """Connects, or authenticates anew: one of them at a time."""
        self._reauthenticate_at_ms = _FOR_EVER
        """When nothing may be sent any more before ``_reauthenticate`` has moved this."""
        self._timer: asyncio.TimerHandle | None = None
        self._timer_deadline_ms = _FOR_EVER
        self.api_versions: NodeApiVersions | None = None
        """What the node has said of itself, while the connection is READY."""

    def send(
        self,
        request: Message | None,
        timeout_ms: int,
        max_version: int | None = None,
        *,
        expect_response: bool = True,
    ) -> Answer:
        """Send a request as soon as its turn comes; None only connects."""
        now_ms = self._clock.monotonic_ms()
        deadline_ms = now_ms + timeout_ms
        if deadline_ms < self._timer_deadline_ms:
            self._arm(deadline_ms, now_ms)
        answer = self._loop.create_future()
        waiting = _Waiting(request, deadline_ms, answer, max_version, expect_response)
        if not self._waiting and self.can_send(now_ms):
            self._send_now(waiting)
        elif len(self._waiting) >= self._context.config.max_waiting_requests:
            answer.set_exception(NetworkError(f"{len(self._waiting)} requests wait for node {self.node} already"))
        else:
            self._waiting.append(waiting)
            self._drain(now_ms)
        return answer

    def can_send(self, now_ms: int) -> bool:
        """Whether a request would leave now."""
        connection = self._connection
        return (
            connection is not None
            and connection.can_send_more
            and self._state.state is ConnectionState.READY
            and now_ms >= self._state.throttled_until_ms
            and now_ms < self._reauthenticate_at_ms
        )

    @property
    def is_ready(self) -> bool:
        """READY and not throttled."""
        ready = self._state.state is ConnectionState.READY
        return ready and self._clock.monotonic_ms() >= self._state.throttled_until_ms

    @property
    def connection_failed(self) -> bool:
        """Whether there was a connection, or an attempt at one, and there is none now."""
        return self._state.is_disconnected and self._state.last_connect_attempt_ms is not None

    @property
    def state(self) -> ConnectionState:
        """Where the connection stands."""
        return self._state.state

    @property
    def in_flight_count(self) -> int:
        """How many requests wait for their answers."""
        return 0 if self._connection is None else self._connection.in_flight_count

    def load(self, now_ms: int) -> NodeLoad:
        """What choosing a node needs to know."""
        state = self._state
        last_ms = state.last_connect_attempt_ms
        return NodeLoad(
            self.node,
            self.in_flight_count,
            can_send=self.can_send(now_ms),
            is_preparing=state.is_preparing,
            can_connect=state.can_connect(now_ms),
            last_connect_attempt_ms=-1 if last_ms is None else last_ms,
        )

    def disconnect(self, error: KafkaError) -> None:
        """Close the connection, or give the attempt up; whoever waits gets the error. The back-off begins."""
        connection = self._connection
        if self._state.is_preparing:
            if self._task is not None:  # none if the loop is ending, and has cancelled it
                self._task.cancel()
            self._task = self._connection = None
            self._state.disconnected(self._clock.monotonic_ms())
        if connection is not None:
            connection.close(error)
        self._fail_waiting(error)

    async def close(self, error: KafkaError) -> None:
        """End everything."""
        task = self._task
        self.disconnect(error)
        if self._timer is not None:
            self._timer.cancel()
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    def expire(self) -> None:
        """Fail what is overdue, now; the channel's timer calls this."""
        now_ms = self._clock.monotonic_ms()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timer_deadline_ms = _FOR_EVER
        connection = self._connection
        if connection is not None and connection.has_expired(now_ms):
            logger.info("Disconnecting from node %s due to request timeout.", self.node.id)
            connection.close(RequestTimedOutError(f"Disconnected from node {self.node} due to request timeout"))
        overdue = [waiting for waiting in self._waiting if waiting.deadline_ms < now_ms]
        if overdue:
            self._waiting = deque(waiting for waiting in self._waiting if waiting.deadline_ms >= now_ms)
            for waiting in overdue:
                _fail(waiting.answer, RequestTimedOutError(f"Node {self.node} could not be sent to in time"))
        self._drain(now_ms)
        deadlines = [waiting.deadline_ms for waiting in self._waiting]
        in_flight_ms = None if self._connection is None else self._connection.next_deadline_ms()
        if in_flight_ms is not None:
            deadlines.append(in_flight_ms)
        if self._waiting and self._state.throttled_until_ms > now_ms:
            deadlines.append(self._state.throttled_until_ms - 1)
        if deadlines:
            self._arm(min(deadlines), now_ms)

    def on_room(self, connection: ClientConnection) -> None:
        """See ConnectionOwner."""
        if self._waiting and connection is self._connection:
            self._drain(self._clock.monotonic_ms())

    def on_throttle(self, throttle_time_ms: int) -> None:
        """See ConnectionOwner."""
        now_ms = self._clock.monotonic_ms()
        self._state.throttle(now_ms + throttle_time_ms)
        assert self._connection is not None
        self._connection.increment_throttle_time(throttle_time_ms)
        self._arm(self._state.throttled_until_ms - 1, now_ms)

    def on_lost(self, connection: ClientConnection, error: KafkaError) -> None:
        """See ConnectionOwner."""
        if connection is not self._connection:
            return
        self._connection = None
        self.api_versions = None
        if self._state.state is not ConnectionState.READY:
            return  # the attempt hears of it, and says what becomes of those that wait
        now_ms = self._clock.monotonic_ms()
        if isinstance(error, AuthenticationError):
            self._state.authentication_failed(now_ms)
        else:
            self._state.disconnected(now_ms)
        self._fail_waiting(error)

    def _arm(self, deadline_ms: int, now_ms: int) -> None:
        """Look for overdue requests once this deadline has passed, or earlier."""
        if deadline_ms >= self._timer_deadline_ms:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_deadline_ms = deadline_ms
        self._timer = self._loop.call_later((deadline_ms - now_ms + 1) / 1000, self.expire)

    def _wake(self, now_ms: int) -> None:
        """See that those who wait get their turn."""
        if self._task is not None:
            return  # it will
        if self._connection is None:
            self._task = self._loop.create_task(self._establish())
        elif now_ms >= self._reauthenticate_at_ms:
            self._task = self._loop.create_task(self._reauthenticate(self._connection))

    def _drain(self, now_ms: int) -> None:
        while self._waiting and self.can_send(now_ms):
            self._send_now(self._waiting.popleft())
        if self._waiting:
            self._wake(now_ms)

    def _send_now(self, waiting: _Waiting) -> None:
        request, deadline_ms, answer, max_version, expect_response = waiting
        if answer.done():
            return  # whoever asked has gone
        if request is None:
            answer.set_result(None)
            return
        assert self._connection is not None
        assert self.api_versions is not None
        try:
            version = self.api_versions.latest_usable_version(type(request), max_version)
        except KafkaError as error:
            answer.set_exception(error)
            return
        self._connection.send(request, version, deadline_ms, answer, expect_response=expect_response)

    def _fail_waiting(self, error: KafkaError) -> None:
        waiting, self._waiting = self._waiting, deque()
        for request in waiting:
            _fail(request.answer, error)

    async def _establish(self) -> None:
        """Attempts, until one succeeds, nobody waits any more, or there is no further address to try."""
        try:
            while self._waiting:
                delay_ms = self._state.reconnect_delay_ms(self._clock.monotonic_ms())
                if delay_ms:
                    await self._context.runtime.sleep_ms(delay_ms)
                    continue
                error = await self._attempt()
                if error is None:
                    break
                if isinstance(error, AuthenticationError) or not self._state.has_untried_address:
                    self._fail_waiting(error)
        finally:
            if self._task is asyncio.current_task():
                self._task = None
        self._drain(self._clock.monotonic_ms())

    async def _attempt(self) -> KafkaError | None:
        """Connect once; returns why it failed."""
        state, context = self._state, self._context
        address = state.connecting(self._clock.monotonic_ms())
        try:
            async with asyncio.timeout(state.connection_setup_timeout_ms / 1000):
                if address is None:
                    address = state.resolved(await context.resolver.resolve(self.node.host, self.node.port))
                connection = self._connection = await open_connection(context, self.node, address, self)
                exchange = partial(self._exchange, connection)
                lifetime_ms = await context.authenticator.authenticate(exchange, None)
            if context.config.discover_broker_versions:
                state.checking_api_versions()
                api_versions = await check_api_versions(exchange, context.config)
            else:
                api_versions = NodeApiVersions.newest()
            connection.raise_if_closed()
        except (KafkaError, OSError) as error:
            return self._attempt_failed(address, error)
        self.api_versions = api_versions
        self._begin_session(lifetime_ms)
        state.ready()
        self._context.failures.succeeded(self._place)
        return None

    def _attempt_failed(self, address: Address | None, error: KafkaError | OSError) -> KafkaError:
        now_ms = self._clock.monotonic_ms()
        where = f"{self.node} ({self.node.host if address is None else address.sockaddr[0]})"
        reason = failure(error, where, self._state.connection_setup_timeout_ms)
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close(reason)
        if isinstance(reason, AuthenticationError):
            self._state.authentication_failed(now_ms)
            level, line = logging.ERROR, f"Connection to node {where} failed authentication due to: {reason}"
        else:
            self._state.disconnected(now_ms)
            level, line = logging.WARNING, f"{reason}. Node may not be available."
        # A broker has several ids: its own, one as a bootstrap server, one as a coordinator.
        times = self._context.failures.failed(self._place, str(reason).replace(str(self.node), self._place), now_ms)
        if times is not None:
            logger.log(level, "%s%s", line, times)
        return reason

    async def _exchange(self, connection: ClientConnection, request: Message, version: int) -> Message:
        """One request of the connection's own, ahead of all that wait."""
        now_ms = self._clock.monotonic_ms()
        deadline_ms = now_ms + self._context.config.request_timeout_ms
        answer = self._loop.create_future()
        connection.send(request, version, deadline_ms, answer)
        self._arm(deadline_ms, now_ms)
        response: Message = await answer
        return response

    def _begin_session(self, lifetime_ms: int | None) -> None:
        self._reauthenticate_at_ms = _FOR_EVER
        if lifetime_ms is not None:
            delay_ms = reauthentication_delay_ms(lifetime_ms, self._context.runtime.rng)
            self._reauthenticate_at_ms = self._clock.monotonic_ms() + delay_ms

    async def _reauthenticate(self, connection: ClientConnection) -> None:
        """Prove again who we are, behind what is in flight and ahead of what waits."""
        try:
            exchange = partial(self._exchange, connection)
            lifetime_ms = await self._context.authenticator.authenticate(exchange, self.api_versions)
            self._begin_session(lifetime_ms)
        except KafkaError as error:
            connection.close(error)
        finally:
            if self._task is asyncio.current_task():
                self._task = None
        self._drain(self._clock.monotonic_ms())


def _fail(answer: Answer, error: KafkaError) -> None:
    if not answer.done():
        answer.set_exception(error)
