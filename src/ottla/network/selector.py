"""The connections of a plane: reading frames, muting, writing, closing."""

import logging
from collections.abc import Callable
from contextlib import suppress
from random import Random
from time import perf_counter_ns
from typing import Final

from ottla.common.error_words import in_words
from ottla.network.channel import Channel
from ottla.network.frames import SIZE_BYTES, InvalidReceiveError
from ottla.network.memory_pool import MemoryPool, NoMemoryPool
from ottla.network.mute_state import MuteEvent, MuteState, after, mute, unmute
from ottla.network.page_cache import is_disk_error
from ottla.network.readiness import READ, WRITE, Readiness
from ottla.network.send import Progress, Send
from ottla.protocol.file_slice import ReadableFile

_log = logging.getLogger(__name__)

RECEIVE_BUFFER_BYTES: Final = 256 * 1024
"""What all connections receive into; whatever is not a whole frame then waits with its channel."""

DIRECT_BYTES: Final = 16 * 1024
"""What is missing of a frame larger than this is received where it will stay."""

_NOT_MUTED: Final = MuteState.NOT_MUTED
_RECEIVED: Final = after(mute(MuteState.NOT_MUTED), MuteEvent.REQUEST_RECEIVED)
"""Muted with a response pending: where receiving a request leads in one step."""


class Selector:
    """All channels of a plane. At most one frame a channel and a ``poll``; none while a request is under way.

    Muting is lazy: the readiness is told only when a muted channel turns out to be readable. A frame that waits for
    memory waits in ``_awaiting_memory``.
    """

    def __init__(
        self,
        readiness: Readiness,
        memory_pool: MemoryPool,
        rng: Random,
        *,
        received: Callable[[Channel, memoryview, int], None],
        sent: Callable[[Channel, Send], None],
        load: Callable[[Channel, Send], None],
        on_file_failure: Callable[[str, OSError], None],
    ) -> None:
        """``on_file_failure`` is told of a file that a disk does not give out any more."""
        self.readiness = readiness
        self.channels: dict[int, Channel] = {}
        self.disconnected: list[Channel] = []
        self._is_reading = True
        self._memory_pool = memory_pool
        self._is_bounded = not isinstance(memory_pool, NoMemoryPool)
        self._rng = rng
        self._received = received
        self._sent = sent
        self._load = load
        self._on_file_failure = on_file_failure
        self._buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
        self._to_read: dict[Channel, bool] = {}
        """The line of those to be read from, and whether that means a frame that has been received already."""
        self._to_write: dict[Channel, None] = {}
        self.has_written = False
        """Whether the last poll had something to write: those who read it may have made room for more."""
        self._awaiting_memory: dict[Channel, None] = {}
        self.foreign_events: list[int] = []
        """Ready descriptors that are no connections: the acceptors'."""

    @property
    def has_work(self) -> bool:
        """Whether there is something to do that no readiness will tell about."""
        return bool(
            self._to_read or self._to_write or (self._awaiting_memory and not self._memory_pool.is_out_of_memory())
        )

    def register(self, channel: Channel, now_ms: int) -> None:
        """Begin to read from a connection."""
        self.channels[channel.descriptor] = channel
        channel.listener.idle.touch(channel, now_ms)
        self._set_interest(channel, READ)

    def poll(self, room: int, deadline_ns: int, now_ms: int) -> int:
        """Write and read where that is possible, until ``room`` frames have come or the deadline has.

        Returns how many came. Channels stand in line, once each, and who has been served goes to the end: none is
        passed over for ever, however short a turn is. Writing gets half of the time at most.
        """
        pool = self._memory_pool
        to_read = self._to_read
        if self._awaiting_memory and not pool.is_out_of_memory():
            self._readmit()
        channels = self.channels
        for descriptor, ready in self.readiness.poll():
            channel = channels.get(descriptor)
            if channel is None:
                self.foreign_events.append(descriptor)
                continue
            if not channel.closing:
                channel.listener.idle.touch(channel, now_ms)
            if channel.send is not None:
                if ready != WRITE:
                    self._set_interest(channel, channel.interest & ~READ)
                if ready & ~READ:
                    self._to_write[channel] = None
            elif channel.mute_state is not _NOT_MUTED:
                self._set_interest(channel, channel.interest & ~READ)
            elif channel not in to_read:
                to_read[channel] = False
        self.has_written = bool(self._to_write)
        if self._to_write:
            self._write_some(deadline_ns)
        if not to_read:
            return 0
        line = list(to_read)
        if pool.is_low():
            self._rng.shuffle(line)
        received = 0
        for served, channel in enumerate(line, 1):
            if received >= room:
                break
            is_buffered = to_read.pop(channel)
            try:
                if self._receive_frame(channel) if is_buffered else self._read(channel):
                    received += 1
            except Exception:  # noqa: BLE001  a bug of ours that one connection met must not end the others
                _log.exception("Unexpected error from %s; closing connection", channel.connection_id)
                self.close(channel)
            if served & 7 == 0 and perf_counter_ns() >= deadline_ns:
                break
        return received

    def _write_some(self, deadline_ns: int) -> None:
        """Go on with the sends whose sockets take more, at least one and then for half of the time there is."""
        now_ns = perf_counter_ns()
        deadline_ns = (now_ns + deadline_ns) // 2
        to_write = self._to_write
        for channel in list(to_write):
            del to_write[channel]
            self.write(channel)
            if perf_counter_ns() >= deadline_ns:
                break

    def _read(self, channel: Channel) -> bool:
        """Receive once; returns whether a frame came of it."""
        frames = channel.frames
        size = channel.large_size
        try:
            if size:
                with frames.window(size) as window:
                    count = channel.recv_into(window)
                frames.filled(count)
            else:
                buffer = self._buffer
                if self._memory_pool.is_out_of_memory() and not frames.admitted:
                    # Only learn how much memory the frame needs; its bytes stay in the kernel.
                    count = channel.recv_into(buffer, SIZE_BYTES - frames.buffered_bytes)
                else:
                    count = channel.recv_into(buffer)
                if count:
                    if not self._is_bounded:
                        frame = frames.feed(buffer[:count])
                        if frame is not None:
                            channel.mute_state = _RECEIVED
                            self._received(channel, frame, 0)
                            return True
                    else:
                        frames.append(buffer[:count])
        except BlockingIOError:
            return False
        except OSError as error:
            _log.debug("Connection with %s disconnected: %s", channel.connection_id, error)
            self.close(channel)
            return False
        if count == 0:
            _log.debug("Connection with %s closed by the client", channel.connection_id)
            self.close(channel)
            return False
        return self._receive_frame(channel)

    def _receive_frame(self, channel: Channel) -> bool:
        """Hand over the frame at the front if it is complete and has its memory; the channel is then muted."""
        frames = channel.frames
        try:
            size = frames.size()
        except InvalidReceiveError as error:
            _log.warning("Closing socket for %s because of error: %s", channel.connection_id, error)
            self.close(channel)
            return False
        if size < 0:
            self._close_if_closing(channel)
            return False
        if not frames.admitted:
            if self._is_bounded and size:
                if not self._memory_pool.try_allocate(size, perf_counter_ns()):
                    channel.mute_state = mute(channel.mute_state)
                    self._awaiting_memory[channel] = None
                    return False
                channel.memory_bytes = size
            frames.admitted = True
        frame = frames.take(size)
        if frame is None:
            if size > DIRECT_BYTES:
                channel.large_size = size
            self._close_if_closing(channel)
            return False
        memory_bytes = channel.memory_bytes
        channel.large_size = channel.memory_bytes = 0
        channel.mute_state = _RECEIVED
        self._received(channel, frame, memory_bytes)
        return True

    def _close_if_closing(self, channel: Channel) -> None:
        """Nothing more can come of a channel that was given up and has no complete frame."""
        if channel.closing:
            self.close(channel)

    def _readmit(self) -> None:
        """Memory is free again: all that wait for it may try, before all others and in an order that favours none."""
        waiting = list(self._awaiting_memory)
        self._awaiting_memory.clear()
        self._rng.shuffle(waiting)
        behind = dict(self._to_read)
        self._to_read.clear()
        for channel in waiting:
            channel.mute_state = unmute(channel.mute_state)
            self._to_read[channel] = True
            if not channel.interest & READ and not channel.closing:
                self._set_interest(channel, channel.interest | READ)
        self._to_read.update(behind)

    def handle_mute_event(self, channel: Channel, event: MuteEvent) -> None:
        """Something happened to the request of a channel; it is read again if nothing speaks against it."""
        channel.mute_state = after(channel.mute_state, event)
        if event is not MuteEvent.THROTTLE_STARTED:
            self.try_unmute(channel)

    def response_sent(self, channel: Channel, *, has_frame: bool = False) -> None:
        """``handle_mute_event`` for what happens to every request; the common way is written out.

        ``has_frame``: the caller knows that another one waits.
        """
        if channel.mute_state is not _RECEIVED or channel.closing or channel.send is not None or not self._is_reading:
            self.handle_mute_event(channel, MuteEvent.RESPONSE_SENT)
            return
        channel.mute_state = _NOT_MUTED
        if has_frame or channel.frames.has_frame():
            self._to_read[channel] = True
        if not channel.interest & READ:
            self._set_interest(channel, channel.interest | READ)

    def try_unmute(self, channel: Channel) -> None:
        """Read again, unless a response is pending or being written or the channel is throttled."""
        state = channel.mute_state = unmute(channel.mute_state)
        if state is not _NOT_MUTED or channel.send is not None or channel.closed or not self._is_reading:
            return
        if channel.frames.has_frame():
            self._to_read[channel] = True
        elif channel.closing:
            self.close(channel)
            return
        if not channel.interest & READ and not channel.closing:
            self._set_interest(channel, channel.interest | READ)

    def begin_send(self, channel: Channel, send: Send) -> None:
        """Write a response; what the socket does not take waits until it does."""
        assert channel.send is None, f"{channel} has a send under way"
        channel.send = send
        self.write(channel)

    def write(self, channel: Channel) -> None:
        """Go on with the send of a channel."""
        send = channel.send
        if send is None or send.cold_range is not None:
            self._set_interest(channel, channel.interest & ~WRITE)
            return
        start_ns = perf_counter_ns()
        try:
            progress = send.write(channel.socket, channel.listener.send_mode)
        except EOFError as error:
            _log.error("Closing %s: its response cannot be sent: %s", channel.connection_id, error)
            self.close(channel)
            return
        except OSError as error:
            file = send.file
            if file is not None and is_disk_error(error):
                self.fail_file(channel, file, error)
                return
            _log.debug("Closing %s: its response cannot be sent: %s", channel.connection_id, error)
            self.close(channel)
            return
        channel.network_thread_time_ns += perf_counter_ns() - start_ns
        if progress is Progress.DONE:
            channel.send = None
            self._set_interest(channel, channel.interest & ~WRITE)
            self._sent(channel, send)
        elif progress is Progress.BLOCKED:
            self._set_interest(channel, channel.interest | WRITE)
        else:
            self._set_interest(channel, channel.interest & ~WRITE)
            self._load(channel, send)

    def fail_file(self, channel: Channel, file: ReadableFile, error: OSError) -> None:
        """A file that was promised to a client cannot be read: hang up, and tell whose disk it is."""
        _log.error("Closing %s: %s cannot be read: %s", channel.connection_id, file.path, in_words(error))
        self.close(channel)
        if is_disk_error(error):
            self._on_file_failure(file.path, error)

    def stop_reading(self) -> None:
        """Take no more requests; those under way are answered."""
        self._is_reading = False
        for channel in self.channels.values():
            self._set_interest(channel, channel.interest & ~READ)
        self._to_read.clear()

    def is_busy(self) -> bool:
        """Whether a request is under way or a response is being written."""
        return any(channel.mute_state is _RECEIVED or channel.send is not None for channel in self.channels.values())

    def expire(self, channel: Channel) -> None:
        """Give up a connection that was idle for too long; a request that is under way is still carried out."""
        if channel.send is not None or (channel.mute_state is _NOT_MUTED and channel not in self._to_read):
            self.close(channel)
            return
        channel.closing = True
        channel.listener.closing[channel] = None
        self._set_interest(channel, 0)

    def close(self, channel: Channel) -> None:
        """Let go of a connection at once; ``disconnected`` lists it for the accounts. Closing twice is harmless."""
        if channel.closed:
            return
        channel.closed = True
        self._set_interest(channel, 0)
        del self.channels[channel.descriptor]
        if channel.corked:  # without the cork these would have gone out before
            with suppress(OSError):
                channel.send_bytes(channel.corked)
        channel.socket.close()
        channel.listener.idle.remove(channel)
        channel.listener.closing.pop(channel, None)
        self._to_read.pop(channel, None)
        self._to_write.pop(channel, None)
        self._awaiting_memory.pop(channel, None)
        channel.frames.clear()
        if channel.memory_bytes:
            channel.request_channel.release_memory(channel.memory_bytes)
            channel.memory_bytes = 0
        self.disconnected.append(channel)

    def _set_interest(self, channel: Channel, interest: int) -> None:
        if interest != channel.interest:
            self.readiness.set_interest(channel.descriptor, channel.interest, interest)
            channel.interest = interest
