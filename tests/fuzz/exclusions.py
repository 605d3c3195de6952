"""Requests that are no bad input: the node does as it is told, and is no longer the node that the test needs.

A frame is read here as the node would read it; what cannot be read is let through.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ottla.common.errors import KafkaError
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.headers import decode_request_body, parse_request_header
from tests.fuzz.known_values import HEALTHY_GROUP, HEALTHY_TOPIC, NEEDED_TOPICS, NODE_ID

_PARTITIONS_MAX = 16
_PARTITIONS_REFUSED = 10_000
"""From here on a node must refuse; between the two it would obey, and be busy for long."""


def is_excluded(data: bytes) -> bool:
    """Whether the frame asks for something that the test cannot do without, in a way that the node must obey."""
    try:
        view = memoryview(data)[4:]
        header, position = parse_request_header(view)
        reason = _REASONS.get(header.api_key)
        if reason is None:
            return False
        request_class = header.api_key.request_class
        if header.api_version not in request_class.schema.versions:
            return False
        return reason(decode_request_body(request_class, view[position:], header.api_version))
    except KafkaError:
        return False


def _unregisters_this_broker(request: Any) -> bool:
    return bool(request.broker_id == NODE_ID)


def _shuts_this_broker_down(request: Any) -> bool:
    return request.broker_id == NODE_ID and bool(
        request.want_fence or request.want_shut_down or request.offline_log_dirs or request.cordoned_log_dirs
    )


def _deletes_what_is_needed(request: Any) -> bool:
    named = [*request.topic_names, *(topic.name for topic in request.topics)]
    by_id = any(topic.name is None and topic.topic_id.bytes.strip(b"\0") for topic in request.topics)
    return by_id or any(name in NEEDED_TOPICS for name in named)


def _takes_a_leader_away(request: Any) -> bool:
    """A replica in a directory that is not there has no leader; of the kept topic one partition must have one."""
    return request.broker_id == NODE_ID and any(
        partition.partition_index == 0
        for directory in request.directories
        for topic in directory.topics
        for partition in topic.partitions
    )


def _creates_many(request: Any) -> bool:
    counts = [max(topic.num_partitions, len(topic.assignments)) for topic in request.topics]
    return any(_PARTITIONS_MAX < count <= _PARTITIONS_REFUSED for count in counts)


def _adds_many(request: Any) -> bool:
    return any(_PARTITIONS_MAX < topic.count <= _PARTITIONS_REFUSED for topic in request.topics)


def _marks_the_healthy_topic(request: Any) -> bool:
    """A marker takes an offset, and the healthy client counts them."""
    return any(topic.name == HEALTHY_TOPIC for marker in request.markers for topic in marker.topics)


def _adds_the_healthy_topic(request: Any) -> bool:
    """So that it would be marked when the transaction ends."""
    topics = [*request.v3_and_below_topics, *(topic for each in request.transactions for topic in each.topics)]
    return any(topic.name == HEALTHY_TOPIC for topic in topics)


def _deletes_the_healthy_group(request: Any) -> bool:
    return HEALTHY_GROUP in request.groups_names


_REASONS: Mapping[ApiKey, Callable[[Any], bool]] = {
    ApiKey.UNREGISTER_BROKER: _unregisters_this_broker,
    ApiKey.BROKER_HEARTBEAT: _shuts_this_broker_down,
    ApiKey.DELETE_TOPICS: _deletes_what_is_needed,
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: _takes_a_leader_away,
    ApiKey.CREATE_TOPICS: _creates_many,
    ApiKey.CREATE_PARTITIONS: _adds_many,
    ApiKey.WRITE_TXN_MARKERS: _marks_the_healthy_topic,
    ApiKey.ADD_PARTITIONS_TO_TXN: _adds_the_healthy_topic,
    ApiKey.DELETE_GROUPS: _deletes_the_healthy_group,
}
