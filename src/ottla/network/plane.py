"""A plane: connections, queues and a handler that are served together, in turns of bounded length.

A turn goes through Apache's pipeline of a processor: new connections, new responses, poll, completed receives,
completed sends, disconnected, excess connections. Requests are handled in the turn that receives them as far as its
time reaches, and those left over come first in the next.
"""

import logging
import os
from collections.abc import Callable, Sequence
from time import perf_counter_ns, thread_time_ns
from typing import Final, Protocol

from ottla.common.errors import KafkaError
from ottla.network.channel import Channel
from ottla.network.mute_state import MuteEvent
from ottla.network.network_metrics import PlaneMetrics
from ottla.network.request import NOT_YET, Part, Request, RequestHandler, ResponseKind
from ottla.network.request_channel import RequestChannel
from ottla.network.request_metrics import RequestMetricsSink
from ottla.network.selector import Selector
from ottla.network.send import Send
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.file_slice import FileSlice
from ottla.protocol.headers import parse_request_header

_log = logging.getLogger(__name__)

SLICE_NS: Final = 1_000_000
"""How long a turn goes on taking up work."""
SLOW_CALLBACK_NS: Final = 2_000_000
"""A turn that takes longer than this in CPU is counted, and told at DEBUG: a busy machine has some in every hour."""
STALLED_CALLBACK_NS: Final = 100_000_000
"""A turn that takes longer than this in CPU is a warning: all clients have waited so long for it."""
STALLED_LOG_INTERVAL_MS: Final = 60_000
CORK_BYTES: Final = 16 * 1024
"""Responses up to this size in all wait for the next ones of their connection, within a turn."""
FOLLOW_UP_NS: Final = 100_000
"""How long a plane looks out for the next request of a client that sends one after the other."""
_CAN_SPIN: Final = (os.cpu_count() or 1) > 1
"""With one processor, the client could not go on while it is waited for."""


_API_VERSIONS: Final = ApiKey.API_VERSIONS
_SEND: Final = ResponseKind.SEND
_THROTTLING: Final = {
    ResponseKind.START_THROTTLING: MuteEvent.THROTTLE_STARTED,
    ResponseKind.END_THROTTLING: MuteEvent.THROTTLE_ENDED,
}


class ApiVersions(Protocol):
    """Which requests a plane serves."""

    def is_enabled(self, api_key: ApiKey, version: int) -> bool:
        """Whether this version of an API is served here."""


class Plane:
    """See the module. ``turn`` is all that the reactor calls."""

    def __init__(
        self,
        request_channel: RequestChannel,
        handler: RequestHandler,
        api_versions: ApiVersions,
        request_metrics: RequestMetricsSink,
        metrics: PlaneMetrics,
    ) -> None:
        self.request_channel = request_channel
        self.metrics = metrics
        self.handler = handler
        self._is_enabled = api_versions.is_enabled
        self._update_metrics = request_metrics.update
        self._requests = request_channel.requests
        self._responses = request_channel.responses
        self._seen_enabled: set[tuple[ApiKey, int]] = set()
        self._corked: dict[Channel, None] = {}
        self._finished: list[Request] = []
        self._turn_start_cpu_ns = 0
        self._last_handled_ns = 0
        self._gap_ns = FOLLOW_UP_NS + 1
        """Between the last two times that requests were handled."""
        self._spun_ns = 0
        self._is_cut_short = False
        """Whether the turn was over before the wait for a follow-up was; the next one goes on with it."""
        self._slow_handler = ""
        self._next_stalled_log_ms = 0

    def attach(self, selector: Selector, after_poll: Callable[[int], None]) -> None:
        """Say whose connections these are, and what ends a turn: the accounts of those that came and went."""
        self.selector = selector
        self._after_poll = after_poll

    def is_due(self) -> bool:
        """Whether a turn would find something to do."""
        return bool(self._requests or self._responses or self.selector.has_work or self.selector.readiness.poll())

    def turn(self, now_ms: int) -> bool:
        """Do what there is to do for about ``SLICE_NS``; returns whether there is more that cannot wait."""
        start_ns = perf_counter_ns()
        start_cpu_ns = self._turn_start_cpu_ns = thread_time_ns()
        self._is_cut_short = False
        deadline_ns = start_ns + SLICE_NS
        request_channel = self.request_channel
        request_channel.in_turn = True
        selector = self.selector
        requests = self._requests
        try:
            if self._responses:
                self._process_responses(deadline_ns)
            while True:
                received = selector.poll(request_channel.room, deadline_ns, now_ms)
                if not requests:
                    if selector.has_written and perf_counter_ns() < deadline_ns:
                        continue
                    if self._is_followed_up(deadline_ns):
                        continue
                    break
                if self._handle_requests(deadline_ns) >= deadline_ns:
                    break
                if not received and not selector.has_work:
                    break
            if self._corked:
                self._flush_corked()
            self._after_poll(now_ms)
            if self._finished:
                self._count_finished()
        finally:
            request_channel.in_turn = False
        self.metrics.busy_ns += perf_counter_ns() - start_ns - self._spun_ns
        self._spun_ns = 0
        cpu_ns = thread_time_ns() - start_cpu_ns
        if cpu_ns > SLOW_CALLBACK_NS:
            self._slow_turn(cpu_ns, now_ms)
        return bool(requests or self._responses or selector.has_work or self._is_cut_short)

    def _is_followed_up(self, deadline_ns: int) -> bool:
        """Whether somebody who was just answered asks again at once.

        Going back to the event loop, to sleep and be woken takes longer than a client that sends one request after the
        other needs for its next one. So where the last request came that soon, the next one is waited for here, for
        ``FOLLOW_UP_NS`` at most; in vain once, and it is not done again before another comes so soon. Where the turn
        is over before that, all others have theirs, and the next one waits for the rest of the time.
        """
        if self._gap_ns > FOLLOW_UP_NS or not _CAN_SPIN:
            return False
        if self._corked:
            self._flush_corked()
        start_ns = now_ns = perf_counter_ns()
        if start_ns - self._last_handled_ns > FOLLOW_UP_NS:
            return False
        until_ns = self._last_handled_ns + FOLLOW_UP_NS
        deadline_ns = min(deadline_ns, until_ns)
        poll = self.selector.readiness.poll
        is_ready = False
        while now_ns < deadline_ns and not is_ready:
            is_ready = bool(poll())
            now_ns = perf_counter_ns()
        self._spun_ns += now_ns - start_ns
        if not is_ready:
            self._is_cut_short = now_ns < until_ns
            if not self._is_cut_short:
                self._gap_ns = FOLLOW_UP_NS + 1
        return is_ready

    def receive(self, channel: Channel, frame: memoryview, memory_bytes: int) -> None:
        """A frame is complete: make it a request, or hang up."""
        now_ns = perf_counter_ns()
        size = len(frame)
        try:
            header, position = parse_request_header(frame)
            api_key, version, _correlation_id, _client_id = header
            if (
                (api_key, version) not in self._seen_enabled
                and not self._is_enabled_at_first(api_key, version)
                and api_key is not _API_VERSIONS
            ):
                self._refuse(
                    channel,
                    memory_bytes,
                    f"Received request for disabled api with key {api_key:d} ({api_key.name}) and version {version}",
                )
                return
        except KafkaError as error:
            self._refuse(channel, memory_bytes, str(error))
            return
        self._requests.append(Request(channel, header, frame[position:], size, memory_bytes, now_ns))

    def _is_enabled_at_first(self, api_key: ApiKey, version: int) -> bool:
        """Ask whether a version is served, and remember a yes: there are a few hundred of them at most."""
        is_enabled = self._is_enabled(api_key, version)
        if is_enabled:
            self._seen_enabled.add((api_key, version))
        return is_enabled

    def _refuse(self, channel: Channel, memory_bytes: int, reason: str) -> None:
        _log.warning("Closing socket for %s because of error: %s", channel.connection_id, reason)
        if memory_bytes:
            self.request_channel.release_memory(memory_bytes)
        self.selector.close(channel)

    def _handle_requests(self, deadline_ns: int) -> int:
        """Handle what is queued, at least one, then until the deadline; returns the time."""
        requests = self._requests
        responses = self._responses
        metrics = self.metrics
        handle = self.handler.handle
        now_ns = perf_counter_ns()
        self._gap_ns = now_ns - self._last_handled_ns
        while requests:
            request = requests.popleft()
            start_ns = request.request_dequeue_time_ns = now_ns
            try:
                handle(request)
            except Exception:  # noqa: BLE001  one request's failure, a bug of ours, must not end the service of all others
                _log.exception("Exception when handling request %s", request)
                if not request.is_answered:
                    request.close_connection()
            now_ns = perf_counter_ns()
            if request.api_local_complete_time_ns == NOT_YET:
                request.api_local_complete_time_ns = now_ns
            handler_ns = now_ns - start_ns
            metrics.handler_busy_ns += handler_ns
            if handler_ns > SLOW_CALLBACK_NS:
                self._check_slow_handler(request, handler_ns)
            if now_ns >= deadline_ns:
                break
        if responses:
            now_ns = self._process_responses(deadline_ns)
        self._last_handled_ns = now_ns
        return now_ns

    def _check_slow_handler(self, request: Request, handler_ns: int) -> None:
        """Count a handler that took long, unless the machine was busy with others all that time."""
        cpu_ns = min(thread_time_ns() - self._turn_start_cpu_ns, handler_ns)
        if cpu_ns > SLOW_CALLBACK_NS:
            self.metrics.slow_handlers += 1
            self._slow_handler = f", {cpu_ns / 1_000_000:.1f} ms of it in the handler of {request}"

    def _slow_turn(self, cpu_ns: int, now_ms: int) -> None:
        """Count a turn that took long, and tell of it; as a warning only where it stalled clients, once a minute."""
        self.metrics.slow_turns += 1
        level = logging.DEBUG
        if cpu_ns > STALLED_CALLBACK_NS and now_ms >= self._next_stalled_log_ms:
            self._next_stalled_log_ms = now_ms + STALLED_LOG_INTERVAL_MS
            level = logging.WARNING
        name, handler = self.metrics.name, self._slow_handler
        _log.log(level, "A turn of the %s plane took %.1f ms of CPU%s", name, cpu_ns / 1_000_000, handler)
        self._slow_handler = ""

    def _process_responses(self, deadline_ns: int) -> int:
        """Carry out the answers that handlers have given, at least one, then until the deadline; returns the time."""
        responses = self._responses
        now_ns = perf_counter_ns()
        while responses:
            kind, request = responses.popleft()
            try:
                if kind is _SEND:
                    request.response_dequeue_time_ns = now_ns
                    if request.memory_bytes:
                        request.release_buffer()
                    now_ns = self._send(request.channel, request)
                else:
                    now_ns = self._process_response(kind, request, now_ns)
            except Exception:  # noqa: BLE001  a bug of ours that one connection met must not end the others
                _log.exception("Exception while processing response for %s", request.channel.connection_id)
                self.selector.close(request.channel)
            if now_ns >= deadline_ns:
                break
        return now_ns

    def _process_response(self, kind: ResponseKind, request: Request, now_ns: int) -> int:
        """Carry out an answer that sends nothing; returns the time."""
        channel = request.channel
        event = _THROTTLING.get(kind)
        if event is not None:
            if not channel.closed:
                self.selector.handle_mute_event(channel, event)
            return now_ns
        request.response_dequeue_time_ns = now_ns
        request.release_buffer()
        self._complete(request, now_ns)
        if kind is ResponseKind.CLOSE_CONNECTION:
            self.selector.close(channel)
        elif not channel.closed:
            self.selector.response_sent(channel)
        return now_ns

    def _send(self, channel: Channel, request: Request) -> int:
        """Write a response at once, or as soon as the connection takes it; returns the time."""
        parts = request.response
        request.response = ()
        if channel.closed or channel.closing:
            _log.debug("The connection %s is gone; its response is dropped", channel.connection_id)
            now_ns = perf_counter_ns()
            self._complete(request, now_ns)
            self.selector.close(channel)
            return now_ns
        if channel.send is not None:  # corked responses that the socket did not take
            channel.send.append(parts, request)
            return perf_counter_ns()
        if len(parts) == 1 and not isinstance(parts[0], FileSlice):
            return self._send_small(channel, request, parts[0])
        if channel.corked:
            parts = [bytes(channel.corked), *parts]
        self._begin_send(channel, parts, request)
        return perf_counter_ns()

    def _send_small(self, channel: Channel, request: Request, data: bytes | bytearray | memoryview) -> int:
        corked = channel.corked
        size = len(corked) + len(data)
        if size <= CORK_BYTES and channel.frames.has_frame():
            corked += data
            channel.corked_requests.append(request)
            self._corked[channel] = None
            self.selector.response_sent(channel, has_frame=True)
            return perf_counter_ns()
        if corked:
            corked += data
            data = corked
        start_ns = request.response_dequeue_time_ns
        try:
            sent = channel.send_bytes(data)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            _log.debug("Connection with %s disconnected: %s", channel.connection_id, error)
            self._complete(request, perf_counter_ns())
            self.selector.close(channel)
            return perf_counter_ns()
        now_ns = perf_counter_ns()
        channel.network_thread_time_ns += now_ns - start_ns
        if sent < size:
            self._begin_send(channel, [memoryview(bytes(data))[sent:]], request)
            return now_ns
        if corked:
            self._uncork(channel, now_ns)
        self._complete(request, now_ns)
        self.selector.response_sent(channel)
        return now_ns

    def _begin_send(self, channel: Channel, parts: Sequence[Part], request: Request | None) -> None:
        requests = [*channel.corked_requests, request] if request is not None else [*channel.corked_requests]
        channel.corked = bytearray()
        channel.corked_requests = []
        self._corked.pop(channel, None)
        self.selector.begin_send(channel, Send(parts, requests, ends_request=request is not None))

    def completed_send(self, channel: Channel, send: Send) -> None:
        """All of a send is with the kernel."""
        now_ns = perf_counter_ns()
        for request in send.requests:
            self._complete(request, now_ns)
        if send.ends_request:
            self.selector.response_sent(channel)
        else:
            self.selector.try_unmute(channel)

    def _flush_corked(self) -> None:
        """The turn ends: what waited for company goes alone."""
        for channel in list(self._corked):
            if channel.closed:
                continue
            corked = channel.corked
            try:
                sent = channel.send_bytes(corked)
            except OSError:  # full or gone: the long way tells which
                sent = 0
            if sent == len(corked):
                self._uncork(channel, perf_counter_ns())
            else:
                self._begin_send(channel, [bytes(corked[sent:])], None)
        self._corked.clear()

    def _uncork(self, channel: Channel, now_ns: int) -> None:
        channel.corked = bytearray()
        self._corked.pop(channel, None)
        requests, channel.corked_requests = channel.corked_requests, []
        for request in requests:
            self._complete(request, now_ns)

    def _complete(self, request: Request, now_ns: int) -> None:
        """T5: count the request."""
        request.end_time_ns = now_ns
        channel = request.channel
        if request.record_network_thread_time is not None:
            request.network_thread_time_ns = channel.network_thread_time_ns
            request.record_network_thread_time(channel.network_thread_time_ns)
        channel.network_thread_time_ns = 0
        if self.request_channel.in_turn:
            self._finished.append(request)
        else:
            self._update_metrics(request)

    def _count_finished(self) -> None:
        """Count the requests that ended in this turn, all at once: one after the other would cost twice as much."""
        update = self._update_metrics
        for request in self._finished:
            update(request)
        self._finished.clear()

    def disconnected(self, channel: Channel) -> None:
        """A channel is closed: responses that it did not get are over, too."""
        self._corked.pop(channel, None)
        now_ns = perf_counter_ns()
        unsent = channel.send.requests if channel.send is not None else []
        channel.send = None
        for request in (*channel.corked_requests, *unsent):
            self._complete(request, now_ns)
        channel.corked_requests = []
