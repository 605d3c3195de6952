"""A load generator that sends frames as they are: ``python -m bench.groups.frames_load`` reads a plan and prints JSON.

Each frame has a connection of its own and is sent again when it has been answered, or when its time has come. All
answers to one frame have to be the same, byte by byte: an error in between is noticed.
"""

import json
import os
import select
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from bench.broker.load import connected, read_frame
from bench.broker.wire import SIZE

_RECEIVE_BYTES = 1 << 16
_TIMEOUT_S = 60


class FramesLoad(NamedTuple):
    """What the generator measured."""

    requests: int
    wall_s: float
    cpu_s: float
    latencies_us: list[float]
    """Only of a load with a rate; from the time at which a request was due."""
    answers: list[str]
    """The first answer to each frame, in hexadecimal."""


def generate(port: int, frames: Sequence[bytes], requests: int, per_second: int = 0) -> FramesLoad:
    """Send `requests` in all, as fast as they are answered or at a rate; runs the generator's process to its end."""
    plan = {"port": port, "frames": [frame.hex() for frame in frames], "requests": requests, "per_second": per_second}
    done = subprocess.run(
        [sys.executable, "-m", "bench.groups.frames_load"],
        input=json.dumps(plan),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the load generator failed:\n{done.stderr[-2000:]}")
    return FramesLoad(**json.loads(done.stdout))


class _Channel:
    """A connection, its frame, and the answer that its frame gets."""

    __slots__ = ("answer", "due_s", "frame", "received", "socket")

    def __init__(self, port: int, frame: bytes) -> None:
        self.frame = frame
        self.socket = connected(("127.0.0.1", port))
        self.socket.sendall(frame)
        answer = read_frame(self.socket)
        self.answer = SIZE.pack(len(answer)) + answer
        self.received = b""
        self.due_s = 0.0

    def hear(self) -> bool:
        """Take in what has come; whether the answer is complete."""
        received = self.socket.recv(_RECEIVE_BYTES)
        if not received:
            raise RuntimeError("the broker closed the connection")
        self.received += received
        if len(self.received) < len(self.answer):
            return False
        if self.received != self.answer:
            raise RuntimeError(f"another answer: {self.received.hex()} after {self.answer.hex()}")
        self.received = b""
        return True


def main() -> None:
    plan = json.load(sys.stdin)
    processors = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, processors[-1:])
    channels = {}
    poll = select.epoll()
    for frame in plan["frames"]:
        channel = _Channel(plan["port"], bytes.fromhex(frame))
        channels[channel.socket.fileno()] = channel
        poll.register(channel.socket.fileno(), select.EPOLLIN)
    begun, cpu = time.perf_counter(), time.process_time()
    if plan["per_second"]:
        latencies = _paced(channels, poll, plan["requests"], plan["per_second"])
    else:
        latencies = []
        _as_fast_as_it_goes(channels, poll, plan["requests"])
    answers = [channel.answer[SIZE.size :].hex() for channel in channels.values()]
    load = FramesLoad(plan["requests"], time.perf_counter() - begun, time.process_time() - cpu, latencies, answers)
    json.dump(load._asdict(), sys.stdout)


def _as_fast_as_it_goes(channels: dict[int, _Channel], poll: select.epoll, requests: int) -> None:
    """One request under way on each connection."""
    for channel in channels.values():
        channel.socket.sendall(channel.frame)
    left_to_send, left_to_hear = requests - len(channels), requests
    while left_to_hear:
        for fd, _ in poll.poll(_TIMEOUT_S):
            channel = channels[fd]
            if channel.hear():
                left_to_hear -= 1
                if left_to_send > 0:
                    left_to_send -= 1
                    channel.socket.sendall(channel.frame)


def _paced(channels: dict[int, _Channel], poll: select.epoll, requests: int, per_second: int) -> list[float]:
    """Requests are due at even times; one that finds no idle connection waits, and its waiting counts."""
    idle = deque(channels.values())
    latencies: list[float] = []
    begun = time.perf_counter()
    sent = 0
    while len(latencies) < requests:
        now = time.perf_counter()
        while sent < requests and idle and begun + sent / per_second <= now:
            channel = idle.popleft()
            channel.due_s = begun + sent / per_second
            channel.socket.sendall(channel.frame)
            sent += 1
        for fd, _ in poll.poll(0):  # a wait would last a whole millisecond
            channel = channels[fd]
            if channel.hear():
                latencies.append((time.perf_counter() - channel.due_s) * 1e6)
                idle.append(channel)
    return latencies


if __name__ == "__main__":
    main()
