"""Random histories of a whole shard: groups of both kinds and their offsets are at any time what the log says."""

from random import Random

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ottla.common.error_code import ErrorCode
from ottla.coordinator.timers import Timers
from ottla.group.group import GroupType
from ottla.group.metrics import GroupMetrics
from ottla.group.shard import GroupCoordinatorShard
from ottla.metrics.registry import Registry
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.offset_fetch import OffsetFetchRequestGroup
from tests.group.consumer_world import GROUP, World, assigned, context, durable_state
from tests.group.offsets_world import commit_request

SIMPLE = "simple"
HOUR_MS = 60 * 60_000

members = st.sampled_from(("a", "b", "c"))
topics = st.sampled_from(("t", "u"))
partitions = st.integers(0, 3)


class ShardHistories(RuleBasedStateMachine):
    """Consumers of the new protocol who follow it, a consumer of the old one, and one that only commits."""

    @initialize()
    def begin(self) -> None:
        self.world = World(
            offsets_retention_minutes=60,
            offsets_retention_check_interval_ms=60_000,
            group_initial_rebalance_delay_ms=0,
        )
        for topic in ("t", "u"):
            self.world.create_topic(topic, 4)
        self.epochs: dict[str, int] = {}

    @rule(member_id=members, topic=topics)
    def join(self, member_id: str, topic: str) -> None:
        group = self.world.groups.get(GROUP)
        if group is not None and group.type is GroupType.CLASSIC and not group.is_empty:
            return
        self.epochs[member_id] = self.world.join(member_id, topics=[topic]).member_epoch

    @rule(member_id=members)
    def follow(self, member_id: str) -> None:
        if not self._is_member(member_id):
            return
        answer = self.world.heartbeat(member_id, self.epochs[member_id])
        self.epochs[member_id] = answer.member_epoch
        if answer.assignment is not None:
            answer = self.world.heartbeat(member_id, answer.member_epoch, owned=assigned(answer))
            self.epochs[member_id] = answer.member_epoch

    @rule(member_id=members)
    def leave(self, member_id: str) -> None:
        if self._is_member(member_id):
            self.world.heartbeat(member_id, -1)
            del self.epochs[member_id]

    def _is_member(self, member_id: str) -> bool:
        group = self.world.groups.get(GROUP)
        return member_id in self.epochs and group is not None and group.has_member(member_id)

    @rule(member_id=members, topic=topics, partition=partitions)
    def commit_as_a_member(self, member_id: str, topic: str, partition: int) -> None:
        if self._is_member(member_id):
            assert self.world.commit_offset(member_id, self.epochs[member_id], topic, partition) == ErrorCode.NONE

    @rule(member_id=members, topic=topics, partition=partitions)
    def commit_as_somebody_else(self, member_id: str, topic: str, partition: int) -> None:
        if self._is_member(member_id):
            epoch = self.epochs[member_id] + 1
            assert self.world.commit_offset(member_id, epoch, topic, partition) == ErrorCode.STALE_MEMBER_EPOCH

    @rule(topic=st.sampled_from(("t", "u", "v")), partition=partitions)
    def commit_without_a_group(self, topic: str, partition: int) -> None:
        request = commit_request(SIMPLE, topic, partition)
        self.world.run(self.world.shard.commit_offset(context(ApiKey.OFFSET_COMMIT, 9), request, self.world.now_ms))

    @rule()
    def join_the_old_way(self) -> None:
        group = self.world.groups.get(GROUP)
        if group is not None and not group.is_empty:
            return
        answers = self.world.classic_join(version=3)
        self.world.advance(1)
        (answer,) = answers
        assert answer.error_code == ErrorCode.NONE
        assert self.world.groups[GROUP].type is GroupType.CLASSIC

    @rule(topic=topics)
    def delete_topic(self, topic: str) -> None:
        deleted = self.world.image.topics.by_name[topic]
        self.world.delete_topic(topic)
        self.world.run(self.world.shard.on_topics_deleted({deleted.id: topic}))
        self.world.create_topic(topic, 4)

    @rule(group_id=st.sampled_from((GROUP, SIMPLE)))
    def delete_group(self, group_id: str) -> None:
        group = self.world.groups.get(group_id)
        (result,) = self.world.run(self.world.shard.delete_groups([group_id]))
        expected = ErrorCode.NONE
        if group is None:
            expected = ErrorCode.GROUP_ID_NOT_FOUND
        elif not group.is_empty:
            expected = ErrorCode.NON_EMPTY_GROUP
        assert result.error_code == expected
        if expected is ErrorCode.NONE:
            assert group_id not in self.world.groups
            assert not _offsets(self.world.shard, group_id)

    @rule(elapsed_ms=st.sampled_from((1_000, 30_000, HOUR_MS)))
    def wait(self, elapsed_ms: int) -> None:
        self.world.advance(elapsed_ms)

    @rule()
    def reload(self) -> None:
        before = [_offsets(self.world.shard, group_id) for group_id in (GROUP, SIMPLE)]
        self.world.reload()
        assert [_offsets(self.world.shard, group_id) for group_id in (GROUP, SIMPLE)] == before

    @invariant()
    def the_log_says_the_same(self) -> None:
        world = self.world
        live, replayed = world.shard, self._replayed()
        assert [_offsets(replayed, group_id) for group_id in (GROUP, SIMPLE)] == [
            _offsets(live, group_id) for group_id in (GROUP, SIMPLE)
        ]
        assert replayed.num_offsets == live.num_offsets
        assert live.num_offsets == sum(len(_offsets(live, group_id)) for group_id in (GROUP, SIMPLE))
        loaded = {group.group_id: group for group in replayed.all_groups}
        assert {group.group_id: group.type for group in loaded.values()} == {
            group.group_id: group.type for group in live.all_groups
        }
        for group in live.all_groups:
            if group.type is GroupType.CONSUMER:
                assert durable_state(loaded[group.group_id]) == durable_state(group)

    def _replayed(self) -> GroupCoordinatorShard:
        world = self.world
        shard = GroupCoordinatorShard(
            config=world.config,
            timers=Timers(world.clock.monotonic_ms),
            rng=Random(0),
            metrics=GroupMetrics(Registry()),
            group_configs=world.group_configs,
        )
        for offset, (key, value) in enumerate(world.log):
            shard.replay(offset, -1, -1, world.serde.decode(key, value))
        return shard


def _offsets(shard: GroupCoordinatorShard, group_id: str) -> dict[tuple[str, int], int]:
    answer = shard.fetch_offsets(OffsetFetchRequestGroup(group_id=group_id, topics=None), require_stable=True)
    return {
        (topic.name, partition.partition_index): partition.committed_offset
        for topic in answer.topics
        for partition in topic.partitions
    }


TestShardHistories = ShardHistories.TestCase
