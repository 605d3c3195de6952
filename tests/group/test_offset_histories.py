"""Random histories of offsets against a model; at random points everything is rebuilt from the log."""

from typing import Any, NamedTuple

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ottla.common.error_code import ErrorCode
from ottla.coordinator.result import CoordinatorResult
from ottla.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tests.group.offsets_world import (
    METADATA_MAX,
    RETENTION_MS,
    TOPIC_IDS,
    OffsetsWorld,
    commit_request,
    fetch_request,
    txn_commit_request,
)

LATEST = 10
GROUPS = ("g", "h")
Key = tuple[str, str, int]

keys = st.just(("g", "t", 0)) | st.tuples(  # often the same, so that commits meet
    st.sampled_from(GROUPS), st.sampled_from(list(TOPIC_IDS)), st.integers(0, 1)
)
producers = st.integers(1, 2)
offsets = st.integers(0, 1 << 40)


class Offset(NamedTuple):
    """What the model knows of an offset."""

    offset: int
    serial: int
    """Which record of the history it is: of two, the later one wins."""
    commit_ms: int
    expire_ms: int
    has_topic_id: bool


class OffsetHistories(RuleBasedStateMachine):
    """Flat tables, no nesting, no packing, no index of open transactions."""

    @initialize()
    def begin(self) -> None:
        self.world = OffsetsWorld()
        self.now_ms = 1_000_000
        self.serial = 0
        self.committed: dict[Key, Offset] = {}
        self.pending: dict[tuple[int, Key], Offset] = {}
        self.groups: set[str] = set()

    def _offset(self, offset: int, expire_ms: int, *, has_topic_id: bool) -> Offset:
        self.serial += 1
        return Offset(offset, self.serial, self.now_ms, expire_ms, has_topic_id)

    def _forget(self, key: Key) -> None:
        self.committed.pop(key, None)
        self.pending = {named: offset for named, offset in self.pending.items() if named[1] != key}

    @rule(key=keys, offset=offsets, metadata=st.text(max_size=3), retention_ms=st.sampled_from((-1, -1, 5_000)))
    def commit(self, key: Key, offset: int, metadata: str, retention_ms: int) -> None:
        request = commit_request(*key, offset, metadata, retention_ms=retention_ms)
        response = self.world.write(self.world.manager.commit_offset(request, LATEST, self.now_ms))
        assert response.topics[0].partitions[0].error_code == ErrorCode.NONE
        expires = retention_ms != -1
        expire_ms = self.now_ms + retention_ms if expires else -1
        # Only the version of the record that has no expiry has the topic's id.
        self.committed[key] = self._offset(offset, expire_ms, has_topic_id=not expires)
        self.groups.add(key[0])

    @rule(key=keys)
    def commit_too_much(self, key: Key) -> None:
        request = commit_request(*key, 1, "m" * (METADATA_MAX + 1))
        response = self.world.write(self.world.manager.commit_offset(request, LATEST, self.now_ms))
        assert response.topics[0].partitions[0].error_code == ErrorCode.OFFSET_METADATA_TOO_LARGE

    @rule(producer_id=producers, key=keys, offset=offsets)
    def commit_in_a_transaction(self, producer_id: int, key: Key, offset: int) -> None:
        request = txn_commit_request(producer_id, *key, offset)
        self.world.write(self.world.manager.commit_transactional_offset(request, 5, self.now_ms), producer_id)
        self.pending[producer_id, key] = self._offset(offset, -1, has_topic_id=False)
        self.groups.add(key[0])

    @rule(producer_id=producers, committed=st.booleans())
    def end_transaction(self, producer_id: int, committed: bool) -> None:
        self.world.end_transaction(producer_id, committed=committed)
        ended = {key: offset for (producer, key), offset in self.pending.items() if producer == producer_id}
        self.pending = {named: offset for named, offset in self.pending.items() if named[0] != producer_id}
        for key, offset in ended.items() if committed else ():
            before = self.committed.get(key)
            if before is None or before.serial < offset.serial:
                self.committed[key] = offset

    @precondition(lambda self: self.groups)
    @rule(data=st.data(), topic=st.sampled_from(list(TOPIC_IDS)), partitions=st.lists(st.integers(0, 1), max_size=3))
    def delete_offsets(self, data: st.DataObject, topic: str, partitions: list[int]) -> None:
        group_id = data.draw(st.sampled_from(sorted(self.groups)))
        asked = [OffsetDeleteRequestPartition(partition_index=index) for index in partitions]
        request = OffsetDeleteRequest(
            group_id=group_id, topics=[OffsetDeleteRequestTopic(name=topic, partitions=asked)]
        )
        self.world.write(self.world.removal.delete_offsets(request))
        for index in partitions:
            self._forget((group_id, topic, index))

    @precondition(lambda self: self.groups)
    @rule(data=st.data())
    def delete_group(self, data: st.DataObject) -> None:
        group_id = data.draw(st.sampled_from(sorted(self.groups)))
        self.world.delete_group(group_id)
        self.groups.remove(group_id)
        for key in [key for key in (*self.committed, *(key for _, key in self.pending)) if key[0] == group_id]:
            self._forget(key)

    @rule(topic=st.sampled_from(list(TOPIC_IDS)), is_the_same=st.booleans())
    def delete_topic(self, topic: str, is_the_same: bool) -> None:
        topic_id = TOPIC_IDS["v" if topic == "t" else "t"] if not is_the_same else TOPIC_IDS[topic]
        records = self.world.removal.on_topics_deleted({topic_id: topic})
        self.world.write(CoordinatorResult(records, None))
        gone = {
            key
            for key, offset in (*self.committed.items(), *((key, offset) for (_, key), offset in self.pending.items()))
            if key[1] == topic and (is_the_same or not offset.has_topic_id)
        }
        for key in sorted(gone):
            self._forget(key)

    @rule(passed_ms=st.sampled_from((1, 5_000, RETENTION_MS // 2, RETENTION_MS)))
    def expire(self, passed_ms: int) -> None:
        self.now_ms += passed_ms
        self.world.cleanup(self.now_ms)
        unstable = {key for _, key in self.pending}
        for key, offset in list(self.committed.items()):
            end_ms = offset.commit_ms + RETENTION_MS if offset.expire_ms == -1 else offset.expire_ms
            if key not in unstable and self.now_ms >= end_ms:
                del self.committed[key]
        used = {key[0] for key in self.committed} | {key[0] for key in unstable}
        self.groups &= used

    @rule()
    def rebuild(self) -> None:
        before = self._state()
        self.world = OffsetsWorld(self.world.log)
        assert self._state() == before

    def _state(self) -> tuple[Any, ...]:
        manager = self.world.manager
        opened = {
            (group_id, topic, index, tuple(sorted(producer_ids)))
            for group_id in GROUPS
            for topic, partitions in manager.pending.of_group(group_id).items()
            for index, producer_ids in partitions.items()
        }
        return self.world.committed(), self.world.pending(), opened, set(self.world.groups.groups)

    @invariant()
    def it_is_as_the_model_says(self) -> None:
        world = self.world
        assert {key: offset.committed_offset for key, offset in world.committed().items()} == {
            key: offset.offset for key, offset in self.committed.items()
        }
        assert {(named[0], named[1:]): offset.committed_offset for named, offset in world.pending().items()} == {
            named: offset.offset for named, offset in self.pending.items()
        }
        assert world.manager.offsets.num_offsets == len(self.committed)
        assert set(world.groups.groups) == self.groups
        for group_id in GROUPS:
            for topic in TOPIC_IDS:
                answers = world.reader.fetch_offsets(fetch_request(group_id, topic, 0, 1), require_stable=True)
                for answer in answers.topics[0].partitions:
                    key = (group_id, topic, answer.partition_index)
                    is_unstable = any(named == key for _, named in self.pending)
                    expected = ErrorCode.UNSTABLE_OFFSET_COMMIT if is_unstable else ErrorCode.NONE
                    assert answer.error_code == expected
                    if not is_unstable:
                        known = self.committed.get(key)
                        assert answer.committed_offset == (-1 if known is None else known.offset)


TestOffsetHistories = OffsetHistories.TestCase
