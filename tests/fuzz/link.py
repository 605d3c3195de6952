"""A connection that sends frames without waiting, and knows from answers and hang-ups what became of them."""

import socket
import struct
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import suppress

from tests.fuzz.mutations import Frame

PIPELINE = 24
"""Frames on their way at once."""
HELD_S = 10.0
"""A frame that is not answered for so long is left alone with its connection: a fetch or a join may wait for weeks."""
_RECEIVE_BYTES = 1 << 18


class Link:
    """Frames come from ``frames`` and end in ``outcomes``: answered, closed (it cost the connection), or held.

    What was sent behind a frame that cost the connection is sent again on the next one. ``answered`` is told of frames
    and their answers, without the size.
    """

    def __init__(
        self,
        port: int,
        frames: Iterator[Frame],
        outcomes: Counter[str],
        answered: Callable[[Frame, memoryview], None] = lambda _frame, _answer: None,
        pipeline: int = PIPELINE,
    ) -> None:
        self._port = port
        self._frames = frames
        self.outcomes = outcomes
        self._on_answer = answered
        self._pipeline = pipeline
        self._waiting: deque[Frame] = deque()
        self._in_flight: deque[Frame] = deque()
        self._output = b""
        self._input = bytearray()
        self._ends = False
        self._progress_s = 0.0
        self.is_done = False
        self.held: list[Frame] = []
        self._connect()

    @property
    def descriptor(self) -> int:
        """Of the socket of now."""
        return self._socket.fileno()

    def _connect(self) -> None:
        self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=10)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setblocking(False)
        self._output = b""
        self._input.clear()
        self._ends = False
        self._progress_s = time.monotonic()

    def _reconnect(self) -> None:
        self._socket.close()
        self._waiting.extendleft(reversed(self._in_flight))
        self._in_flight.clear()
        self._connect()

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def turn(self) -> bool:
        """Send what goes out and take what has come; False if nothing moved."""
        moved = self._receive()
        return self._send() or moved

    def _send(self) -> bool:
        if not self._output and not self._ends:
            batch = []
            while len(self._in_flight) < self._pipeline:
                frame = self._waiting.popleft() if self._waiting else next(self._frames, None)
                if frame is None:
                    break
                batch.append(frame.data)
                self._in_flight.append(frame)
                if frame.ends_connection:
                    self._ends = True
                    break
            self._output = b"".join(batch)
            if not self._in_flight:
                self.is_done = True
        if not self._output:
            return False
        try:
            sent = self._socket.send(self._output)
        except BlockingIOError:
            return self._check_held()
        except OSError:
            return False  # receiving will tell
        self._output = self._output[sent:]
        if self._ends and not self._output:
            self._shutdown()
        return True

    def _shutdown(self) -> None:
        with suppress(OSError):  # the other side may be faster
            self._socket.shutdown(socket.SHUT_WR)

    def _receive(self) -> bool:
        try:
            data = self._socket.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            return self._check_held()
        except OSError:
            data = b""
        if not data:
            self._closed()
            return True
        self._progress_s = time.monotonic()
        buffer = self._input
        buffer += data
        position, end = 0, len(buffer)
        while end - position >= 8:
            size, correlation_id = struct.unpack_from(">ii", buffer, position)
            assert 4 <= size <= 1 << 30, f"a response of {size} bytes"
            if end - position < 4 + size:
                break
            self._answered(correlation_id, bytes(buffer[position + 4 : position + 4 + size]))
            position += 4 + size
        del buffer[:position]
        return True

    def _answered(self, correlation_id: int, answer: bytes) -> None:
        """The frames before this one had no answer to give (acks=0)."""
        in_flight = self._in_flight
        while in_flight:
            frame = in_flight.popleft()
            if frame.correlation_id == correlation_id:
                self.outcomes["answered"] += 1
                self._on_answer(frame, memoryview(answer))
                return
            self.outcomes["not answered"] += 1
        raise AssertionError(f"an answer to nothing that was asked: correlation id {correlation_id}")

    def _closed(self) -> None:
        if self._in_flight:
            self._in_flight.popleft()
            self.outcomes["closed"] += 1
        self._reconnect()

    def _check_held(self) -> bool:
        if self._in_flight and time.monotonic() - self._progress_s > HELD_S:
            self.held.append(self._in_flight.popleft())
            self.outcomes["held"] += 1
            self._reconnect()
            return True
        return False
