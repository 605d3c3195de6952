"""What happens to groups in the story of the metrics, and what can only be changed inside."""

from collections.abc import Callable
from typing import Any

from ottla.group.classic.state import ClassicGroupState
from ottla.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tests.server.group_wire import ClassicMember, commit, join_consumer_group, ready
from tests.server.metrics_story import TOPIC, Story

CLASSIC, CONSUMER, OFFSETS = "classic-group", "consumer-group", "group-with-offsets"
_MONTH_MS = 30 * 24 * 3600 * 1000

_leader: list[ClassicMember] = []
"""Who leads the classic group, between two steps."""


def offsets_are_committed(story: Story) -> None:
    with story.connect() as wire:
        ready(wire, OFFSETS)
        assert commit(wire, OFFSETS, {(TOPIC, 0): 1}) == {(TOPIC, 0): 0}


def offsets_are_deleted(story: Story) -> None:
    topic = OffsetDeleteRequestTopic(name=TOPIC, partitions=[OffsetDeleteRequestPartition(partition_index=0)])
    with story.connect() as wire:
        assert wire.ask(OffsetDeleteRequest(group_id=OFFSETS, topics=[topic]), 0).error_code == 0
        assert commit(wire, OFFSETS, {(TOPIC, 0): 1}) == {(TOPIC, 0): 0}  # for the story to go on with


def a_classic_group_begins_to_rebalance(story: Story) -> None:
    wire = story.connect()
    story.connections.append(wire)
    _leader[:] = [ClassicMember(wire, CLASSIC)]
    assert _leader[0].join(session_timeout_ms=1_800_000, rebalance_timeout_ms=1_800_000).error_code == 0


def a_classic_group_is_stable(_story: Story) -> None:
    (leader,) = _leader
    assert leader.sync(assignments={leader.member_id: b""}).error_code == 0


def a_classic_group_waits_for_a_member(story: Story) -> None:
    wire = story.connect()
    story.connections.append(wire)
    member = ClassicMember(wire, CLASSIC, 3)
    wire.send(member.join_request(), 3)
    while _leader[0].heartbeat() == 0:
        pass


def a_consumer_group_rebalances(story: Story) -> None:
    with story.connect() as wire:
        assert join_consumer_group(wire, CONSUMER, "m", [TOPIC]).error_code == 0


# -- inside -----------------------------------------------------------------------------------------------------------


def _runtime(story: Story) -> Any:
    return story.node._broker.services.group_coordinator._runtime  # type: ignore[union-attr]


def offsets_expire(story: Story) -> Callable[[], None]:
    _runtime(story).write_all(lambda shard, now_ms: shard._expiration.cleanup_group_metadata(now_ms + _MONTH_MS))
    return lambda: None


def a_group_dies(story: Story) -> Callable[[], None]:
    (shard,) = _runtime(story).active_shards
    group = shard._groups.groups[CLASSIC]
    before = group.state
    group.state = ClassicGroupState.DEAD

    def undo() -> None:
        group.state = before

    return undo


def an_answer_waits_for_its_commit(story: Story) -> Callable[[], None]:
    _runtime(story)._metrics.event_purgatory.record(1_000)
    return lambda: None
