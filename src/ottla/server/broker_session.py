"""Sends what the broker's lifecycle decides: the registration, then a heartbeat every so often, and the goodbye."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.error_words import in_words
from ottla.common.errors import ApiError, KafkaError
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.message import VersionRange
from ottla.protocol.messages.broker_heartbeat import BrokerHeartbeatResponse
from ottla.protocol.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse
from ottla.runtime.port import Clock
from ottla.server.broker_lifecycle import BrokerLifecycle, BrokerState
from ottla.server.forwarding import ControllerChannel

logger = logging.getLogger(__name__)

RETRY_MS: Final = 100
"""Between two tries while the controller refuses or cannot be reached."""


class BrokerSession:
    """Drives a :class:`BrokerLifecycle` over the channel to the controller."""

    def __init__(
        self,
        lifecycle: BrokerLifecycle,
        channel: ControllerChannel,
        clock: Clock,
        *,
        heartbeat_interval_ms: int,
        registration_timeout_ms: int,
        on_state: Callable[[BrokerState], None],
    ) -> None:
        self.lifecycle = lifecycle
        self._channel = channel
        self._clock = clock
        self._heartbeat_interval_ms = heartbeat_interval_ms
        self._registration_timeout_ms = registration_timeout_ms
        self._on_state = on_state
        self._wake = asyncio.Event()
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self, supported_features: Mapping[str, VersionRange]) -> None:
        """Begin to register with these features, and go on with heartbeats."""
        self.lifecycle.start(supported_features)
        self._announce(BrokerState.NOT_RUNNING)
        self._task = asyncio.get_running_loop().create_task(self._run(), name="broker-lifecycle")

    def nudge(self) -> None:
        """Something changed that the controller should hear of now rather than at the next heartbeat."""
        self._wake.set()

    async def reach(self, state: BrokerState) -> None:
        """Return once the broker is in ``state`` or beyond; raises what ended the session before."""
        while self.lifecycle.state < state:
            assert self._task is not None
            if self._task.done():
                self._task.result()
                raise ApiError(ErrorCode.BROKER_NOT_AVAILABLE, f"the broker never got to {state.name}")
            changed = asyncio.ensure_future(self._changed.wait())
            await asyncio.wait({self._task, changed}, return_when=asyncio.FIRST_COMPLETED)
            changed.cancel()
            self._changed.clear()

    def published(self, metadata_offset: int) -> None:
        """The metadata up to an offset has been published here."""
        before = self.lifecycle.state
        self.lifecycle.published(metadata_offset)
        self._announce(before)
        if self.lifecycle.state in (BrokerState.RECOVERY, BrokerState.PENDING_CONTROLLED_SHUTDOWN):
            self.nudge()

    async def controlled_shutdown(self, timeout_ms: int) -> None:
        """Ask to go, and wait for the controller's leave, but not for ever."""
        before = self.lifecycle.state
        self.lifecycle.begin_controlled_shutdown()
        self._announce(before)
        self.nudge()
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await self.reach(BrokerState.SHUTTING_DOWN)
        except (TimeoutError, KafkaError) as error:
            logger.warning(
                "The controller did not let this broker go in time (%s); it goes all the same", in_words(error)
            )

    async def stop(self) -> None:
        """End the session without a word."""
        before = self.lifecycle.state
        self.lifecycle.shut_down()
        self._announce(before)
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        started_ms = self._clock.monotonic_ms()
        while (request := self.lifecycle.next_request()) is not None:
            self._wake.clear()
            before = self.lifecycle.state
            registering = isinstance(request, BrokerRegistrationRequest)
            error = ErrorCode.NONE
            try:
                if isinstance(request, BrokerRegistrationRequest):
                    answer = await self._channel.request(ApiKey.BROKER_REGISTRATION, request)
                    assert isinstance(answer, BrokerRegistrationResponse)
                    error = self.lifecycle.handle_registration(answer)
                else:
                    answer = await self._channel.request(ApiKey.BROKER_HEARTBEAT, request)
                    assert isinstance(answer, BrokerHeartbeatResponse)
                    error = self.lifecycle.handle_heartbeat(answer)
            except KafkaError as failure:
                error = ErrorCode(failure.code)
            self._announce(before)
            if error != ErrorCode.NONE:
                logger.info("The controller answered %s to %s", error.name, type(request).__name__)
                waited_ms = self._clock.monotonic_ms() - started_ms
                if registering and waited_ms > self._registration_timeout_ms:
                    raise ApiError(error, f"Unable to register this broker with the controller quorum: {error.name}")
            await self._pause(before, error, registering)

    async def _pause(self, before: BrokerState, error: ErrorCode, registering: bool) -> None:
        if error != ErrorCode.NONE:
            delay_ms = RETRY_MS
        elif registering or self.lifecycle.state is not before:
            return
        elif self.lifecycle.state is BrokerState.RUNNING:
            delay_ms = self._heartbeat_interval_ms
        else:
            delay_ms = RETRY_MS
        try:
            async with asyncio.timeout(delay_ms / 1000):
                await self._wake.wait()
        except TimeoutError:
            return

    def _announce(self, before: BrokerState) -> None:
        state = self.lifecycle.state
        if state is not before:
            logger.info("The broker has gone from %s to %s", before.name, state.name)
            self._on_state(state)
            self._changed.set()
