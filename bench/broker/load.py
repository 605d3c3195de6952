"""A load generator on raw sockets, in a process of its own: ``python -m bench.broker.load '{…}'`` prints JSON.

It sends frames that were written beforehand and only counts the bytes of the answers, so that it takes little of the
machine; it says how much. All answers to one frame have the same size, which the first one tells.
"""

import json
import os
import select
import socket
import subprocess
import sys
import time
from typing import Any, NamedTuple

from bench.broker import wire

_RECEIVE_BYTES = 4 << 20
_TIMEOUT_S = 60
_RETRY_S = 0.01
_NOT_YET = (3, 5, 6)  # UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE, NOT_LEADER_OR_FOLLOWER


class Load(NamedTuple):
    """What the generator measured."""

    requests: int
    bytes_received: int
    wall_s: float
    cpu_s: float
    latencies_us: list[float]


def generate(**plan: Any) -> Load:
    """Run a generator process to its end and return what it measured."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.broker.load", json.dumps(plan)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"the load generator failed:\n{done.stderr[-2000:]}")
    return Load(**json.loads(done.stdout))


def main() -> None:
    plan = json.loads(sys.argv[1])
    processors = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, processors[-1:])
    address = (plan["host"], plan["port"])
    load = {"produce": _produce, "fetch": _fetch, "sync": _sync}[plan["kind"]](address, plan)
    json.dump(load._asdict(), sys.stdout)


def _produce(address: tuple[str, int], plan: dict[str, Any]) -> Load:
    """Keep `in_flight` requests under way on each of `connections`, one partition each, for `requests` in all."""
    in_flight, wanted = plan["in_flight"], plan["requests"]
    batch = wire.batch_of(plan["value_bytes"], plan["records"], int(time.time() * 1000))
    channels: dict[int, _Channel] = {}
    for partition in range(plan["connections"]):
        frame = wire.produce_frame(plan["topic"], [partition], batch)
        channel = _Channel(address, frame, in_flight, plan["topic"])
        channels[channel.socket.fileno()] = channel
    left_to_send, left_to_hear = wanted - len(channels) * in_flight, wanted
    poll = select.epoll()
    begun, cpu = time.perf_counter(), time.process_time()
    for fd, channel in channels.items():
        poll.register(fd, select.EPOLLIN)
        channel.send(in_flight)
    buffer = bytearray(1 << 16)
    while left_to_hear > 0:
        for fd, events in poll.poll(_TIMEOUT_S):
            channel = channels[fd]
            if events & select.EPOLLIN:
                received = channel.socket.recv_into(buffer)
                if not received:
                    raise RuntimeError("the broker closed the connection")
                answered, channel.rest = divmod(channel.rest + received, channel.answer_bytes)
                left_to_hear -= answered
                again = min(answered, max(left_to_send, 0))
                left_to_send -= again
                if again:
                    channel.send(again)
            if channel.unsent:
                channel.resume()
                poll.modify(fd, select.EPOLLIN | select.EPOLLOUT)
            elif events & select.EPOLLOUT:
                poll.modify(fd, select.EPOLLIN)
    answer_bytes = next(iter(channels.values())).answer_bytes
    return Load(wanted, wanted * answer_bytes, time.perf_counter() - begun, time.process_time() - cpu, [])


class _Channel:
    """A connection that sends one frame again and again; made with one exchange, which counts for nothing."""

    __slots__ = ("answer_bytes", "bursts", "rest", "socket", "unsent")

    def __init__(self, address: tuple[str, int], frame: bytes, in_flight: int, topic: str) -> None:
        self.socket = connected(address)
        self.answer_bytes = len(_accepted(self.socket, frame, topic)) + wire.SIZE.size
        self.bursts = [memoryview(frame * count) for count in range(in_flight + 1)]
        self.rest = 0
        self.unsent: list[memoryview] = []
        self.socket.setblocking(False)

    def send(self, count: int) -> None:
        if self.unsent:
            self.unsent.append(self.bursts[count])
            return
        burst = self.bursts[count]
        try:
            sent = self.socket.send(burst)
        except BlockingIOError:
            sent = 0
        if sent < len(burst):
            self.unsent.append(burst[sent:])

    def resume(self) -> None:
        """Send what the socket would not take before."""
        while self.unsent:
            try:
                sent = self.socket.send(self.unsent[0])
            except BlockingIOError:
                return
            if sent < len(self.unsent[0]):
                self.unsent[0] = self.unsent[0][sent:]
            else:
                del self.unsent[0]


def _fetch(address: tuple[str, int], plan: dict[str, Any]) -> Load:
    """Read each partition once from its start on a connection of its own, `max_bytes` at a time, all at once.

    Batches have `batch_bytes` and `records` records, so that the next offset is known without looking into the answer.
    """
    records, batch_bytes, max_bytes = plan["records"], plan["batch_bytes"], plan["max_bytes"]
    step, end = max_bytes // batch_bytes * records, plan["end_offset"]
    offsets, expected, sockets = {}, {}, {}
    for partition in range(plan["connections"]):
        connection = connected(address)
        sockets[connection.fileno()] = (connection, partition)
        offsets[connection.fileno()] = 0
    poll = select.epoll()
    begun, cpu = time.perf_counter(), time.process_time()
    for fd, (connection, partition) in sockets.items():
        connection.sendall(wire.fetch_frame(plan["topic"], partition, 0, max_bytes))
        poll.register(fd, select.EPOLLIN)
        expected[fd] = -1
    buffer = memoryview(bytearray(_RECEIVE_BYTES))
    requests = total = 0
    while sockets:
        for fd, _ in poll.poll(_TIMEOUT_S):
            connection, partition = sockets[fd]
            received = connection.recv_into(buffer)
            if not received:
                raise RuntimeError("the broker closed the connection")
            total += received
            if expected[fd] < 0:  # a frame begins; its size comes whole, being the first thing of a segment
                expected[fd] = wire.SIZE.unpack_from(buffer)[0] + wire.SIZE.size
                left = (end - offsets[fd]) // records * batch_bytes
                if expected[fd] < min(left, step // records * batch_bytes):
                    raise RuntimeError(f"a fetch at {offsets[fd]} brought only {expected[fd]} bytes")
            expected[fd] -= received
            if expected[fd] == 0:
                requests += 1
                offsets[fd] += step
                expected[fd] = -1
                if offsets[fd] >= end:
                    poll.unregister(fd)
                    del sockets[fd]
                else:
                    connection.send(wire.fetch_frame(plan["topic"], partition, offsets[fd], max_bytes))
    return Load(requests, total, time.perf_counter() - begun, time.process_time() - cpu, [])


def _sync(address: tuple[str, int], plan: dict[str, Any]) -> Load:
    """Send one request after another on one connection; latencies count."""
    batch = wire.batch_of(plan["value_bytes"], 1, int(time.time() * 1000))
    frame = wire.produce_frame(plan["topic"], [0], batch)
    connection = connected(address)
    _accepted(connection, frame, plan["topic"])
    latencies = []
    clock, begun, cpu = time.perf_counter_ns, time.perf_counter(), time.process_time()
    for _ in range(plan["requests"]):
        sent = clock()
        connection.send(frame)
        connection.recv(4096)
        latencies.append((clock() - sent) / 1000)
    return Load(len(latencies), 0, time.perf_counter() - begun, time.process_time() - cpu, latencies)


def _accepted(connection: socket.socket, frame: bytes, topic: str) -> bytes:
    """Send a produce until it is accepted, as any client does when a topic is new; returns the answer."""
    deadline = time.monotonic() + _TIMEOUT_S
    while True:
        connection.sendall(frame)
        answer = read_frame(connection)
        error = wire.produce_error(topic, answer)
        if not error:
            return answer
        if error not in _NOT_YET or time.monotonic() > deadline:
            raise RuntimeError(f"produce answered with error {error}")
        time.sleep(_RETRY_S)


def connected(address: tuple[str, int]) -> socket.socket:
    """Return a connection that sends at once."""
    connection = socket.create_connection(address, _TIMEOUT_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def read_frame(connection: socket.socket) -> bytes:
    """Return the next frame, without its size."""
    (size,) = wire.SIZE.unpack(_exactly(connection, wire.SIZE.size))
    return _exactly(connection, size)


def _exactly(connection: socket.socket, count: int) -> bytes:
    received = bytearray()
    while len(received) < count:
        part = connection.recv(count - len(received))
        if not part:
            raise ConnectionError("the broker closed the connection")
        received += part
    return bytes(received)


if __name__ == "__main__":
    main()
