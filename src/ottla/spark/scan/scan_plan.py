"""Which node is asked for what of a task's ranges, next. Pure."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from ottla.clients.cluster.metadata import ClusterMetadata
from ottla.clients.consumer.offset_lookup import LookupResult
from ottla.clients.errors import error_for
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import ZERO_UUID
from ottla.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from ottla.spark.scan.fetch_settings import FetchSettings
from ottla.spark.scan.range_cursor import RangeCursor

FETCH_BYTES_MIN: Final = 256 * 1024
"""Less is not asked for while something else is under way: small requests are dear."""
_SLACK_BYTES: Final = 64 * 1024
_BYTES_PER_OFFSET_ASKED: Final = 1024
"""What is asked for an offset of a range of which nothing was seen: a topic may go on for long behind a small range."""
_NO_SESSION_EPOCH: Final = -1
"""Fetches of a task are few, and large: a session with the broker would be in their way."""
_NAMES_ONLY_VERSION: Final = 12


class ScanFetch(NamedTuple):
    """One request: these ranges, each of another partition, in this order of preference, so many bytes at most."""

    node_id: int
    cursors: list[RangeCursor]
    max_bytes: int


class ScanLookup(NamedTuple):
    """Ask a node where the logs of these ranges' partitions begin and end."""

    node_id: int
    cursors: list[RangeCursor]


class LogBounds(NamedTuple):
    """Where a log begins and ends; what is before ``local_start_offset`` the broker has in remote storage only."""

    start_offset: int
    local_start_offset: int
    end_offset: int


class ScanPlan(NamedTuple):
    """What to send; ``leaderless`` are ranges of partitions that nobody is known to lead."""

    fetches: list[ScanFetch]
    lookups: list[ScanLookup]
    leaderless: list[RangeCursor]


def make_plan(
    cursors: Iterable[RangeCursor],
    metadata: ClusterMetadata,
    settings: FetchSettings,
    *,
    now_ms: int,
    busy_nodes: set[int],
    room_bytes: int,
    is_idle: bool,
) -> ScanPlan:
    """One request a node that has none, for as many ranges as one answer can hold; of a partition the first only.

    Large ranges are fetched one after the other, small ones together: a micro-batch costs one round trip a leader.
    The nodes share ``room_bytes``; if nothing is on its way (``is_idle``), the first is asked for something in any
    case.
    """
    by_node: dict[int, list[RangeCursor]] = {}
    lookups: dict[int, list[RangeCursor]] = {}
    leaderless: list[RangeCursor] = []
    seen: set[TopicPartition] = set()
    for cursor in cursors:
        if cursor.is_done or cursor.partition in seen:
            continue
        seen.add(cursor.partition)
        if cursor.in_flight or cursor.retry_at_ms > now_ms:
            continue
        node_id = _node(cursor, metadata, now_ms)
        if node_id < 0:
            leaderless.append(cursor)
        elif node_id not in busy_nodes:
            (lookups if cursor.needs_lookup else by_node).setdefault(node_id, []).append(cursor)
    fetches: list[ScanFetch] = []
    for number, (node_id, led) in enumerate(by_node.items()):
        size = min(settings.fetch_bytes, room_bytes // (len(by_node) - number))
        if size < min(FETCH_BYTES_MIN, settings.fetch_bytes):
            if not is_idle or fetches:
                break
            size = min(FETCH_BYTES_MIN, settings.fetch_bytes)
        fetches.append(ScanFetch(node_id, _fitting(led, size), size))
        room_bytes -= size
    return ScanPlan(fetches, [ScanLookup(node_id, led) for node_id, led in lookups.items()], leaderless)


def expected_bytes(cursor: RangeCursor, size: int) -> int:
    """What is asked for of a range, in a request of this size: no more than it needs, as far as one can tell."""
    if not cursor.is_measured:
        return min(size, cursor.offsets_left * _BYTES_PER_OFFSET_ASKED + _SLACK_BYTES)
    return min(size, cursor.bytes_left * 5 // 4 + _SLACK_BYTES)


def _fitting(led: list[RangeCursor], size: int) -> list[RangeCursor]:
    chosen: list[RangeCursor] = []
    for cursor in led:
        chosen.append(cursor)
        size -= cursor.bytes_left
        if size <= 0:
            break
    return chosen


def _node(cursor: RangeCursor, metadata: ClusterMetadata, now_ms: int) -> int:
    if cursor.replica_id >= 0:
        if now_ms < cursor.replica_until_ms and cursor.replica_id in metadata.nodes and not cursor.needs_lookup:
            return cursor.replica_id
        cursor.replica_id = -1
    leader = metadata.leader(*cursor.partition)
    return -1 if leader is None else leader.id


def fetch_request(
    fetch: ScanFetch, metadata: ClusterMetadata, settings: FetchSettings
) -> tuple[FetchRequest, int | None]:
    """The request, and the highest version that it may have: without a topic's id, the last that knows names."""
    topics: dict[str, list[FetchPartition]] = {}
    for cursor in fetch.cursors:
        topic, index = cursor.partition
        topics.setdefault(topic, []).append(
            FetchPartition(
                partition=index,
                current_leader_epoch=metadata.leader_epoch(topic, index),
                fetch_offset=cursor.position,
                partition_max_bytes=expected_bytes(cursor, fetch.max_bytes),
            )
        )
    ids = {topic: metadata.topic_id(topic) for topic in topics}
    request = FetchRequest(
        max_wait_ms=settings.max_wait_ms,
        min_bytes=1,
        max_bytes=fetch.max_bytes,
        isolation_level=settings.isolation,
        session_epoch=_NO_SESSION_EPOCH,
        topics=[FetchTopic(topic=name, topic_id=ids[name], partitions=each) for name, each in topics.items()],
        rack_id=settings.rack_id,
    )
    return request, _NAMES_ONLY_VERSION if ZERO_UUID in ids.values() else None


def log_bounds(starts: LookupResult, local_starts: LookupResult, ends: LookupResult) -> dict[TopicPartition, LogBounds]:
    """Of the partitions that all is known of. A broker without remote storage may know of no local start."""
    found = {}
    for partition, start in starts.found.items():
        end, code = ends.found.get(partition), local_starts.retry.get(partition)
        if start is None or end is None or (code is not None and error_for(code).retriable):
            continue
        local_start = local_starts.found.get(partition) or start
        found[partition] = LogBounds(start.offset, local_start.offset, end.offset)
    return found
