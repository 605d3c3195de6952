"""A million committed offsets in one partition of ``__consumer_offsets``, loaded while others ask something else."""

import re
import time

from bench.broker.arena import Arena
from bench.broker.board import APACHE, Line, below, milliseconds, seconds
from bench.broker.clients import percentiles
from bench.broker.controller import connected_to, ping_us
from bench.groups.members import await_coordinators
from ottla.common.error_code import ErrorCode
from ottla.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from ottla.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from tests.node import Node
from tests.server.wire import Wire

TOPIC, PARTITIONS = "loading", 200
OFFSETS = 1_000_000
PROPERTIES = {"offsets.topic.num.partitions": "1"}
_IN_FLIGHT = 4
_COMMIT_VERSION, _FETCH_VERSION = 8, 9
_PAUSE_S = 0.001
_BOUND_S = 120
_NOT_YET = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)
_APACHE_LOADED = re.compile(r"Finished loading .*__consumer_offsets-0 .* in (\d+)ms where .* Loaded (\d+) records")
_LOADED = re.compile(r"Finished loading __consumer_offsets-0 .* in (\d+) ms: (\d+) records, .* longest slice (\d+) us")

LOAD = Line(f"loading {OFFSETS:,} committed offsets", seconds, below(15, "15 s"))
SLICE = Line("  longest slice, CPU", milliseconds)
PINGS = [Line(f"  other requests meanwhile, {which}", milliseconds) for which in ("p50", "p99", "longest")]
WRITTEN = Line("committing them, 200 a request", seconds)


def loading(arena: Arena) -> None:
    """Both brokers are started anew for this."""
    with arena.board("Loading offsets") as board:
        for name in arena.names:
            node = arena.contenders.node(name, arena.directory / f"{name}-loading", PROPERTIES)
            with node:
                board.add(WRITTEN, name, _commit(node, OFFSETS))
                node.stop()
                for _ in range(3 if arena.long else 1):
                    node.start()
                    pings = _ping_until_loaded(node)
                    elapsed_ms, records, slice_us = _loaded(name, node)
                    assert records >= OFFSETS
                    _check(node, OFFSETS)
                    node.stop()
                    board.add(LOAD, name, elapsed_ms / 1e3)
                    if slice_us is not None:
                        board.add(SLICE, name, slice_us / 1e3)
                    if len(pings) > 1:
                        for line, figure in zip(PINGS, (*percentiles(pings), max(pings)), strict=True):
                            board.add(line, name, figure / 1e3)


def _commit(node: Node, offsets: int) -> float:
    """Commit distinct offsets, all partitions of the topic for each of many groups; returns how long that took."""
    with Wire(node.bootstrap) as wire:
        wire.ask(
            CreateTopicsRequest(
                topics=[CreatableTopic(name=TOPIC, num_partitions=PARTITIONS, replication_factor=1)], timeout_ms=30_000
            ),
            7,
        )
        await_coordinators(node, ["group-0"])
        groups = offsets // PARTITIONS
        while _answered(wire, _request(0)) in _NOT_YET:
            time.sleep(_PAUSE_S)
        begun = time.perf_counter()
        for number in range(groups + _IN_FLIGHT):
            if number < groups:
                wire.send(_request(number), _COMMIT_VERSION)
            if number >= _IN_FLIGHT:
                wire.receive_frame()
        wall_s = time.perf_counter() - begun
        assert _answered(wire, _request(groups - 1)) == 0
        return wall_s


def _answered(wire: Wire, request: OffsetCommitRequest) -> int:
    answer = wire.ask(request, _COMMIT_VERSION)
    error: int = max(each.error_code for topic in answer.topics for each in topic.partitions)
    return error


def _request(group: int) -> OffsetCommitRequest:
    partitions = [
        OffsetCommitRequestPartition(
            partition_index=index, committed_offset=_offset(group, index), committed_metadata=""
        )
        for index in range(PARTITIONS)
    ]
    return OffsetCommitRequest(
        group_id=f"group-{group}", topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=partitions)]
    )


def _offset(group: int, partition: int) -> int:
    return group * 1000 + partition


def _ping_until_loaded(node: Node) -> list[float]:
    """Ask something else all the time; how long each answer took, while the offsets were loading."""
    pings = []
    deadline = time.monotonic() + _BOUND_S
    with connected_to(node.bootstrap) as other, Wire(node.bootstrap) as wire:
        while True:
            pings.append(ping_us(other))
            answer = wire.ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="group-0")]), _FETCH_VERSION)
            if answer.groups[0].error_code not in _NOT_YET:
                return pings
            if time.monotonic() > deadline:
                raise RuntimeError("the offsets are not loaded")
            time.sleep(_PAUSE_S)


def _loaded(name: str, node: Node) -> tuple[int, int, int | None]:
    """What the broker's log says: milliseconds, records, and microseconds of the longest slice."""
    pattern = _APACHE_LOADED if name == APACHE else _LOADED
    found = [match for line in node.log_lines() if (match := pattern.search(line))]
    elapsed_ms, records, *slices_us = map(int, found[-1].groups())
    return elapsed_ms, records, slices_us[0] if slices_us else None


def _check(node: Node, offsets: int) -> None:
    """The offsets of some groups are what was committed."""
    groups = offsets // PARTITIONS
    with Wire(node.bootstrap) as wire:
        for group in range(0, groups, groups // 10):
            topics = [OffsetFetchRequestTopics(name=TOPIC, partition_indexes=range(PARTITIONS))]
            wanted = OffsetFetchRequestGroup(group_id=f"group-{group}", topics=topics)
            (found,) = wire.ask(OffsetFetchRequest(groups=[wanted]), _FETCH_VERSION).groups
            offsets_found = [each.committed_offset for each in found.topics[0].partitions]
            assert offsets_found == [_offset(group, index) for index in range(PARTITIONS)]
