"""Fetch sessions: epochs, what an answer names, who is evicted, whose turn it is."""

from collections.abc import Iterable
from random import Random

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.metrics.registry import Registry
from ottla.protocol.codec import encode
from ottla.protocol.file_slice import FileSlice
from ottla.protocol.messages import fetch as messages
from ottla.replication.fetch_context import FetchAnswer, FetchContext, new_context
from ottla.replication.fetch_session import FetchSessionCache, PartitionKey, next_epoch
from ottla.replication.read_result import UNCHANGED, EpochEndOffset, FetchPartition, ReadResult
from tests.replication.replica_machine import Broker

EVICTION_MS = 1000
IDS = [Uuid.from_halves(7, index) for index in range(10)]


def by_name(index: int, offset: int = 0, topic: str = "topic") -> FetchPartition:
    return FetchPartition(TopicPartition(topic, index), offset, 1000)


def by_id(topic: int, name: str | None, index: int = 0) -> FetchPartition:
    known = None if name is None else TopicPartition(name, index)
    return FetchPartition(known, 0, 1000, topic_id=IDS[topic], index=index)


def records(size: int = 10) -> ReadResult:
    result = ReadResult(0, 5, 5, 0, 5)
    result.records = FileSlice(None, 0, size)  # type: ignore[arg-type]
    return result


def nothing(high_watermark: int = 5, log_start_offset: int = 0) -> ReadResult:
    return ReadResult(0, high_watermark, high_watermark, log_start_offset, high_watermark)


class Sessions:
    """A cache, and requests to it."""

    def __init__(self, slots: int = 10) -> None:
        self.registry = Registry()
        self.cache = FetchSessionCache(slots, EVICTION_MS, rng=Random(0), registry=self.registry)
        self.now_ms = 0

    def context(
        self,
        session_id: int,
        epoch: int,
        *fetches: FetchPartition,
        forgotten: Iterable[PartitionKey] = (),
        version: int = 12,
        is_follower: bool = False,
        names: dict[Uuid, str] | None = None,
    ) -> FetchContext:
        return new_context(
            self.cache,
            fetches,
            forgotten,
            version=version,
            session_id=session_id,
            session_epoch=epoch,
            is_follower=is_follower,
            topic_names=names or {},
            now_ms=self.now_ms,
        )

    def create(self, partitions: int = 1, *, is_follower: bool = False, version: int = 12) -> int:
        """A session in which every partition has been answered with the high watermark 5."""
        context = self.context(
            0, 0, *(by_name(index) for index in range(partitions)), is_follower=is_follower, version=version
        )
        return context.response([nothing() for _ in range(partitions)]).session_id


def indexes(answer: FetchAnswer) -> list[int]:
    return [fetch.index for fetch, _ in answer.partitions]


def test_a_full_fetch_makes_a_session_and_incremental_ones_name_what_is_new() -> None:
    sessions = Sessions()
    answer = sessions.context(0, 0, by_name(0), by_name(1), by_name(2)).response([nothing(), nothing(), records()])
    assert indexes(answer) == [0, 1, 2], "a full answer has everything"
    assert answer.session_id != 0
    context = sessions.context(answer.session_id, 1)
    assert [fetch.index for fetch in context.fetches] == [0, 1, 2]
    again = context.response([nothing(), nothing(6), nothing()])
    assert (again.error_code, again.session_id, indexes(again)) == (0, answer.session_id, [1])
    quiet = sessions.context(answer.session_id, 2).response([UNCHANGED, UNCHANGED, UNCHANGED])
    assert indexes(quiet) == []


def test_what_an_incremental_request_names_replaces_what_the_session_has() -> None:
    sessions = Sessions()
    session_id = sessions.create(2)
    context = sessions.context(session_id, 1, by_name(1, offset=42), by_name(9))
    assert [(fetch.index, fetch.fetch_offset) for fetch in context.fetches] == [(0, 0), (1, 42), (9, 0)]
    context = sessions.context(session_id, 2, forgotten=[TopicPartition("topic", 0)])
    assert [fetch.index for fetch in context.fetches] == [1, 9]
    assert sessions.cache.total_partitions == 2


def test_every_reason_to_be_named() -> None:
    diverging, preferred = nothing(), nothing()
    diverging.diverging_epoch = EpochEndOffset(0, 1, 2)
    preferred.preferred_read_replica = 3
    for result in (
        records(),
        nothing(6),
        nothing(5, 1),
        ReadResult(ErrorCode.FENCED_LEADER_EPOCH),
        diverging,
        preferred,
    ):
        sessions = Sessions()
        answer = sessions.context(sessions.create(), 1).response([result])
        assert indexes(answer) == [0], result


def test_a_partition_is_named_again_when_its_error_goes_away() -> None:
    sessions = Sessions()
    session_id = sessions.create()
    error = ReadResult(ErrorCode.TOPIC_AUTHORIZATION_FAILED, 5, 5, 0, 5)
    assert indexes(sessions.context(session_id, 1).response([error])) == [0]
    assert indexes(sessions.context(session_id, 2).response([nothing()])) == [0]
    assert indexes(sessions.context(session_id, 3).response([nothing()])) == []


def test_a_partition_with_records_lets_the_others_go_first() -> None:
    sessions = Sessions()
    session_id = sessions.create(3)
    sessions.context(session_id, 1).response([records(), nothing(), nothing()])
    context = sessions.context(session_id, 2)
    assert [fetch.index for fetch in context.fetches] == [1, 2, 0]
    context.response([records(), nothing(6), nothing()])
    assert [fetch.index for fetch in sessions.context(session_id, 3).fetches] == [2, 0, 1], "a new offset is no turn"


def test_none_starves_when_a_response_has_room_for_one() -> None:
    broker = Broker()
    broker.create(partitions=3)
    for _ in range(5):
        for index in range(3):
            broker.append(TopicPartition("topic", index), count=1)
    sessions = Sessions()
    session_id, epoch = 0, 0
    given: list[int] = []
    for _ in range(9):
        named = [by_name(index) for index in range(3)] if not session_id else []
        context = sessions.context(session_id, epoch, *named)
        results = broker.fetch(*context.fetches, max_bytes=1).results
        assert results is not None
        answer = context.response(results)
        for fetch, result in answer.partitions:
            if result.records is not None:
                given.append(fetch.index)
                fetch.fetch_offset += 1
        session_id, epoch = answer.session_id, next_epoch(epoch)
    assert given == [0, 0, 1, 2, 0, 1, 2, 0, 1], "the first answer makes the session, the others take turns"


@pytest.mark.parametrize("epoch", [2, 3, 100])
def test_a_wrong_epoch_is_an_error_and_the_session_stays(epoch: int) -> None:
    sessions = Sessions()
    session_id = sessions.create()
    answer = sessions.context(session_id, epoch).response([])
    assert answer.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert sessions.context(session_id, 1).response([UNCHANGED]).error_code == 0


def test_an_unknown_session_is_an_error() -> None:
    answer = Sessions().context(77, 1).response([])
    assert answer == FetchAnswer(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0)


def test_epochs_wrap_to_one() -> None:
    assert [next_epoch(0), next_epoch((1 << 31) - 1), next_epoch(-1)] == [1, 1, -1]


def test_an_answer_that_comes_too_late_for_its_epoch_is_an_error() -> None:
    sessions = Sessions()
    session_id = sessions.create()
    slow = sessions.context(session_id, 1)
    sessions.context(session_id, 2)
    assert slow.response([records()]).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert slow.throttled_response().error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH


def test_the_final_epoch_closes_the_session_and_makes_none() -> None:
    sessions = Sessions()
    session_id = sessions.create()
    answer = sessions.context(session_id, -1, by_name(0)).response([nothing()])
    assert (answer.session_id, indexes(answer), len(sessions.cache)) == (0, [0], 0)


def test_a_full_fetch_with_a_session_id_replaces_that_session() -> None:
    sessions = Sessions()
    session_id = sessions.create()
    answer = sessions.context(session_id, 0, by_name(3)).response([nothing()])
    assert answer.session_id not in (0, session_id)
    assert len(sessions.cache) == 1


def test_a_session_without_partitions_is_closed() -> None:
    sessions = Sessions()
    session_id = sessions.create()
    context = sessions.context(session_id, 1, forgotten=[TopicPartition("topic", 0)])
    assert context.response([]) == FetchAnswer(0, 0, [])
    assert (len(sessions.cache), sessions.cache.total_partitions) == (0, 0)


# -- topic ids --------------------------------------------------------------------------------------------------------


def test_a_session_keeps_to_names_or_to_ids() -> None:
    sessions = Sessions()
    named = sessions.create()
    assert sessions.context(named, 1, version=13).response([]).error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    identified = sessions.context(0, 0, by_id(0, "topic"), version=13).response([nothing()]).session_id
    assert sessions.context(identified, 1).response([]).error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_an_id_without_a_name_is_an_error_until_the_name_is_known() -> None:
    broker = Broker()
    sessions = Sessions()
    context = sessions.context(0, 0, by_id(0, None), version=13)
    results = broker.fetch(*context.fetches).results
    assert results is not None
    answer = context.response(results)
    assert answer.partitions[0][1].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    broker.create("named", topic_id=IDS[0])
    context = sessions.context(answer.session_id, 1, version=13, names={IDS[0]: "named"})
    assert context.fetches[0].topic_partition == ("named", 0)
    assert broker.fetch(*context.fetches).one.error_code == 0


def test_a_topic_made_again_is_another_topic_to_a_session() -> None:
    broker = Broker()
    first = broker.create("topic", topic_id=IDS[0])
    sessions = Sessions()
    context = sessions.context(0, 0, by_id(0, "topic"), version=13)
    session_id = context.response(broker.fetch(*context.fetches).results or []).session_id
    context = sessions.context(session_id, 1, version=13)
    assert broker.fetch(*context.fetches).results == [UNCHANGED]
    broker.delete(first)
    gone = broker.fetch(*sessions.context(session_id, 2, version=13).fetches).one
    assert gone.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    broker.create("topic", topic_id=IDS[1])
    other = broker.fetch(*sessions.context(session_id, 3, version=13).fetches).one
    assert other.error_code == ErrorCode.INCONSISTENT_TOPIC_ID


# -- eviction ---------------------------------------------------------------------------------------------------------


def test_a_full_cache_refuses_equals_while_they_are_young() -> None:
    sessions = Sessions(slots=2)
    kept = [sessions.create(5), sessions.create(5)]
    assert sessions.create(50) == 0, "nobody is stale, and all are young"
    assert all(sessions.cache.get(session_id) for session_id in kept)


def test_a_stale_session_gives_way_first() -> None:
    sessions = Sessions(slots=2)
    stale, fresh = sessions.create(9), sessions.create(1)
    sessions.now_ms = EVICTION_MS + 1
    sessions.context(fresh, 1)
    assert sessions.create(1) != 0
    assert sessions.cache.get(stale) is None
    assert sessions.cache.get(fresh) is not None
    counter = sessions.registry.get("kafka_server_fetchsessioncache_incrementalfetchsessionevictions_total")
    assert counter is not None
    assert counter.value == 1  # type: ignore[union-attr]


def test_a_larger_session_takes_the_place_of_a_smaller_old_one_and_not_of_a_larger() -> None:
    sessions = Sessions(slots=2)
    small, large = sessions.create(2), sessions.create(8)
    for epoch, now_ms in enumerate((EVICTION_MS, EVICTION_MS + 1), start=1):
        sessions.now_ms = now_ms
        sessions.context(small, epoch)
        sessions.context(large, epoch)
    assert sessions.create(1) == 0, "smaller than all"
    assert sessions.create(5) != 0
    assert sessions.cache.get(small) is None
    assert sessions.cache.get(large) is not None


def test_a_follower_takes_the_place_of_a_consumer_however_young_and_large() -> None:
    sessions = Sessions(slots=1)
    consumer = sessions.create(100)
    follower = sessions.create(1, is_follower=True)
    assert follower != 0
    assert sessions.cache.get(consumer) is None
    assert sessions.create(100) == 0, "and gives it to no consumer"
    assert sessions.create(100, is_follower=True) == 0, "nor to another follower while it is young"


def test_the_gauges_say_how_many_sessions_and_partitions_there_are() -> None:
    sessions = Sessions()
    first = sessions.create(3)
    sessions.create(4)
    assert gauge(sessions, "numincrementalfetchsessions") == 2
    assert gauge(sessions, "numincrementalfetchpartitionscached") == 7
    sessions.cache.remove(first)
    assert gauge(sessions, "numincrementalfetchpartitionscached") == 4


def gauge(sessions: Sessions, name: str) -> float:
    metric = sessions.registry.get(f"kafka_server_fetchsessioncache_{name}")
    assert metric is not None
    value: float = metric.read()  # type: ignore[union-attr]
    return value


# -- what it saves ----------------------------------------------------------------------------------------------------


def request(partitions: int, session_id: int, epoch: int) -> messages.FetchRequest:
    return messages.FetchRequest(
        max_wait_ms=500,
        min_bytes=1,
        session_id=session_id,
        session_epoch=epoch,
        topics=[
            messages.FetchTopic(
                topic_id=IDS[0],
                partitions=[
                    messages.FetchPartition(partition=index, fetch_offset=1000, partition_max_bytes=1 << 20)
                    for index in range(partitions)
                ],
            )
        ]
        if partitions
        else [],
    )


@pytest.mark.parametrize("version", [12, 17])
def test_a_thousand_idle_partitions_cost_less_than_half_the_request_bytes_over_a_session(version: int) -> None:
    without = 10 * len(encode(request(1000, 0, -1), version))
    with_session = len(encode(request(1000, 0, 0), version)) + 9 * len(encode(request(0, 1, 1), version))
    assert with_session <= without / 2, (with_session, without)


@pytest.mark.uncompiled
def test_sessions_remember_a_bounded_number_of_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ottla.replication.fetch_session.CACHED_PARTITIONS_MAX", 10)
    sessions = Sessions()
    first = sessions.create(6)
    assert sessions.create(5) == 0, "answered without a session"
    second = sessions.create(4)
    assert sessions.cache.total_partitions == 10
    # One that outgrows the cache is answered once more, and gone.
    context = sessions.context(second, 1, by_name(4))
    assert len(context.response([nothing()] * 5).partitions) == 1
    assert sessions.cache.get(second) is None
    assert sessions.context(second, 2).response([]).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert (sessions.cache.total_partitions, sessions.cache.get(first) is not None) == (6, True)
