"""A scan of what is not in the page cache leaves the broker to others while it waits for the disk."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.network import page_cache, socket_server
from ottla.protocol.file_slice import ReadableFile
from ottla.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from ottla.testing import Broker
from tests.server.inside import inside, metric, partition_of
from tests.server.records_on_wire import append_on, read_values
from tests.server.wire import BOUND_S, Wire, create_topic

VALUE = bytes(range(256)) * 2_000
BATCHES = 24
SMALL_REQUESTS = 200


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    """A broker on a disk, with a topic of some megabytes."""
    with Broker(directory=tmp_path) as found:
        create_topic(found.bootstrap_servers, "cold")
        create_topic(found.bootstrap_servers, "warm")
        with Wire(found.bootstrap_servers) as wire:
            for _ in range(BATCHES):
                append_on(wire, "cold", VALUE)
        yield found


def evict(broker: Broker) -> None:
    """Put the topic's records out of the page cache; skip where the file system has none, or keeps it."""
    descriptor = inside(
        broker, lambda server: partition_of(server, "cold").local_log(-1, True).segments.active.log_file
    )
    os.fsync(descriptor.fileno())
    os.posix_fadvise(descriptor.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if page_cache.is_cached(descriptor, 0, len(VALUE)):
        pytest.skip("this file system keeps its pages")


def scan_request() -> FetchRequest:
    everything = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 26)
    return FetchRequest(max_bytes=1 << 26, min_bytes=1, topics=[FetchTopic(topic="cold", partitions=[everything])])


@pytest.mark.skipif(not hasattr(os, "RWF_NOWAIT"), reason="this system cannot tell what is cached")
def test_others_are_answered_while_a_scan_waits_for_the_disk(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting, go_on, loads = threading.Event(), threading.Event(), []

    def load(file: ReadableFile, position: int, size: int) -> None:
        loads.append(position)
        waiting.set()
        assert go_on.wait(BOUND_S)
        page_cache.load(file, position, size)

    monkeypatch.setattr(socket_server, "load", load)
    evict(broker)
    slow = metric(broker, "ottla_network_reactor_slowturns")
    with Wire(broker.bootstrap_servers) as scanner, Wire(broker.bootstrap_servers) as other:
        scanner.send(scan_request(), 11)
        assert waiting.wait(BOUND_S), "nothing was cold"
        for number in range(SMALL_REQUESTS):
            assert append_on(other, "warm", b"small") == number, "answered, with the scan still at the disk"
        assert not go_on.is_set()
        assert metric(broker, "ottla_network_reactor_slowturns") - slow <= SMALL_REQUESTS // 20
        go_on.set()
        ((answer,),) = [each.partitions for each in scanner.receive(scan_request(), 11).responses]
        assert len(bytes(answer.records)) > BATCHES * len(VALUE)
    assert len(loads) >= 1
    assert read_values(broker.bootstrap_servers, "cold") == [VALUE] * BATCHES


def test_without_a_way_to_ask_everything_is_taken_for_cached(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cache, "_NOWAIT", None)
    loads: list[int] = []
    monkeypatch.setattr(socket_server, "load", lambda _file, position, _size: loads.append(position))
    descriptor = inside(
        broker, lambda server: partition_of(server, "cold").local_log(-1, True).segments.active.log_file
    )
    os.fsync(descriptor.fileno())
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    assert read_values(broker.bootstrap_servers, "cold") == [VALUE] * BATCHES
    assert loads == []
