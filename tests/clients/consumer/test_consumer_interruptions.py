"""A consumer whose user is cancelled, interrupted, or in the wrong place: no record and no position is lost."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from ottla.clients.consumer import fetcher
from ottla.clients.consumer.consumer import Consumer
from ottla.clients.consumer.fetch_answers import FetchAnswers
from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
from ottla.clients.consumer.record_errors import RecordDeserializationError
from ottla.clients.errors import ClientClosedError, IllegalStateError
from ottla.clients.sync.consumer import Consumer as SyncConsumer
from ottla.common.topic_partition import TopicPartition
from ottla.runtime.loop_thread import LoopTask, LoopThread
from tests.clients.consumer.writing import BOUND_S, make_topic, numbered, read, reading, until, write, written
from tests.node import Node

LONG_MS = BOUND_S * 1000


def offsets(records: list[Any]) -> list[int]:
    return [record.offset for record in records]


def consumed(consumer: Consumer[Any, Any]) -> float:
    return consumer.metrics()["records-consumed-total"]


async def committed_offset(consumer: Consumer[Any, Any], partition: TopicPartition) -> int:
    found = (await consumer.committed(partition))[partition]
    assert found is not None
    return found.offset


def test_a_consume_that_is_cancelled_loses_and_commits_nothing(kafka: Node, topic: str) -> None:
    partition = written(kafka.bootstrap, topic, 10)

    async def run() -> None:
        async with reading(kafka.bootstrap, partition, group_id=topic, auto_commit_interval_ms=10) as consumer:
            assert offsets(await read(consumer, 10)) == list(range(10))
            consumer.seek(partition, 4)
            gathering = asyncio.ensure_future(consumer.consume(100, LONG_MS))
            commits = consumer.metrics()["commit-total"]
            await until(lambda: consumer.metrics()["commit-total"] > commits + 1 and consumed(consumer) == 16)
            assert await committed_offset(consumer, partition) == 4, "what nobody got is not committed"
            gathering.cancel()
            with pytest.raises(asyncio.CancelledError):
                await gathering
            assert consumed(consumer) == 10
            assert await consumer.position(partition) == 4
            assert offsets(await consumer.consume(6, LONG_MS)) == list(range(4, 10))
            await consumer.commit()
            assert await committed_offset(consumer, partition) == 10

    asyncio.run(run())


def test_consume_gives_what_precedes_an_error_and_then_the_error(kafka: Node, topic: str) -> None:
    make_topic(kafka.bootstrap, topic)
    write(kafka.bootstrap, topic, [b"1", b"2", b"x"], linger_ms=0)
    partition = TopicPartition(topic, 0)

    async def run() -> None:
        async with reading(kafka.bootstrap, partition, value_deserializer=int) as consumer:
            assert [record.value for record in await consumer.consume(2, LONG_MS)] == [1, 2]
            consumer.seek(partition, 0)
            assert [record.value for record in await consumer.consume(3, LONG_MS)] == [1, 2]
            for _ in range(2):
                with pytest.raises(RecordDeserializationError) as raised:
                    await consumer.consume(3, LONG_MS)
                assert (raised.value.partition, raised.value.offset, raised.value.part) == (partition, 2, "value")
                assert raised.value.record.value == b"x"
            consumer.seek(partition, raised.value.offset + 1)
            write(kafka.bootstrap, topic, [b"4"])
            assert [record.value for record in await consumer.consume(1, LONG_MS)] == [4]

    asyncio.run(run())


def test_a_seek_in_the_middle_of_a_consume(kafka: Node, topic: str) -> None:
    make_topic(kafka.bootstrap, topic, 2)
    write(kafka.bootstrap, topic, numbered(10))
    write(kafka.bootstrap, topic, numbered(3), partition=1)
    sought, other = TopicPartition(topic, 0), TopicPartition(topic, 1)

    async def run() -> None:
        async with reading(kafka.bootstrap, sought, other) as consumer:
            gathering = asyncio.ensure_future(consumer.consume(14, LONG_MS))
            await until(lambda: consumed(consumer) == 13)
            consumer.seek(sought, 7)
            write(kafka.bootstrap, topic, numbered(8, 10))
            records = await gathering
            mine = [record.offset for record in records if record.topic_partition == sought]
            assert mine == list(range(7, 18)), "what was gathered before the seek is not mixed with what comes after it"
            assert [record.offset for record in records if record.topic_partition == other] == [0, 1, 2]

    asyncio.run(run())


def test_plain_code_that_is_interrupted_gets_the_same_records_again(
    kafka: Node, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signal comes when the records are there and have not been handed over."""
    partition = written(kafka.bootstrap, topic, 10)
    result = LoopTask.result

    def interrupt(self: LoopTask[Any], timeout_s: float | None = None) -> Any:
        got = result(self, timeout_s)
        if got:
            monkeypatch.undo()
            raise KeyboardInterrupt
        return got

    with SyncConsumer(bootstrap_servers=kafka.bootstrap, group_id=topic, max_poll_records=4) as consumer:
        consumer.assign([partition])
        consumer.seek(partition, 0)
        ways: list[Callable[[], object]] = [
            lambda: consumer.poll(LONG_MS),
            lambda: consumer.consume(4, LONG_MS),
            lambda: next(consumer.arrow(max_rows=4)),
        ]
        for way in ways:
            monkeypatch.setattr(LoopTask, "result", interrupt)
            with pytest.raises(KeyboardInterrupt):
                way()
            assert consumer.position(partition) == 0
        consumer.commit()
        assert consumer.committed(partition) == {partition: OffsetAndMetadata(0)}
        assert offsets(consumer.poll(LONG_MS)) == [0, 1, 2, 3]
    with SyncConsumer(bootstrap_servers=kafka.bootstrap, group_id=topic) as consumer:
        found = consumer.committed(partition)[partition]
        assert found is not None
        assert found.offset == 4, "what was got is committed"


def test_iterators_that_are_cancelled_lose_nothing(kafka: Node, topic: str) -> None:
    """Waiting for a record, in the middle of several, and with Arrow."""
    partition = written(kafka.bootstrap, topic, 20)

    async def run() -> None:
        async with reading(kafka.bootstrap, partition) as consumer:
            seen: list[int] = []

            async def take_all() -> None:
                async for record in consumer:
                    seen.append(record.offset)
                    if len(seen) % 7 == 0:
                        await asyncio.sleep(BOUND_S)

            for count in (7, 14, 20):
                taking = asyncio.ensure_future(take_all())
                await until(lambda count=count: len(seen) == count)  # type: ignore[misc]
                taking.cancel()
                await asyncio.wait([taking])
                assert await consumer.position(partition) == count
            assert seen == list(range(20))
            waiting = asyncio.ensure_future(anext(consumer.arrow()))
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait([waiting])
            write(kafka.bootstrap, topic, numbered(1, 20))
            batch = await anext(consumer.arrow())
            assert batch.column("offset").to_pylist() == [20]

    asyncio.run(run())


def test_a_callback_in_plain_code_may_call_the_consumer(kafka: Node, topic: str) -> None:
    partition = written(kafka.bootstrap, topic, 3)
    told: list[object] = []
    with SyncConsumer(bootstrap_servers=kafka.bootstrap, group_id=topic, auto_offset_reset="earliest") as consumer:
        consumer.assign([partition])
        assert len(consumer.consume(3, LONG_MS)) == 3
        consumer.commit_async(callback=lambda offsets, error: told.append((consumer.committed(partition), error)))
        consumer.commit({partition: 1})
    assert told == [({partition: OffsetAndMetadata(1)}, None)], "before the commit that came later has returned"


@pytest.mark.parametrize("broken", ["apply", "plan_fetches"])
def test_a_bug_of_the_fetcher_is_raised(kafka: Node, topic: str, broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    partition = written(kafka.bootstrap, topic, 3)

    def fail(*_: object, **__: object) -> None:
        raise LookupError("a bug")

    async def run() -> None:
        async with reading(kafka.bootstrap, partition) as consumer:
            await read(consumer, 3)
            place = FetchAnswers if broken == "apply" else fetcher
            monkeypatch.setattr(place, broken, fail)
            for _ in range(2):
                with pytest.raises(LookupError, match="a bug"):
                    await consumer.poll(LONG_MS)

    asyncio.run(run())


def test_one_loop_and_one_task_at_a_time(kafka: Node, topic: str) -> None:
    make_topic(kafka.bootstrap, topic)
    elsewhere = LoopThread("elsewhere")
    consumer: Consumer[Any, Any] = Consumer(bootstrap_servers=kafka.bootstrap)

    async def two() -> None:
        consumer.assign([TopicPartition(topic, 0)])
        waiting = asyncio.ensure_future(anext(aiter(consumer)))
        await asyncio.sleep(0)
        for asks in (consumer.poll(0), consumer.consume(1, 0), anext(aiter(consumer)), anext(consumer.arrow())):
            with pytest.raises(IllegalStateError, match="Another task"):
                await asks
        waiting.cancel()
        await asyncio.wait([waiting])
        assert await consumer.poll(0) == []

    try:
        with pytest.raises(IllegalStateError, match="not started"):
            elsewhere.run(consumer.poll(0))
        elsewhere.run(consumer.start())
        with pytest.raises(IllegalStateError, match="not subscribed to any topics"):
            elsewhere.run(consumer.poll(0))
        elsewhere.run(two())
        with pytest.raises(IllegalStateError, match="event loop"):
            asyncio.run(consumer.poll(0))
        with pytest.raises(IllegalStateError, match="event loop"):
            asyncio.run(consumer.position(TopicPartition(topic, 0)))
        elsewhere.run(consumer.close())
    finally:
        elsewhere.close()


def test_closing_twice_and_while_somebody_polls(kafka: Node, topic: str) -> None:
    partition = written(kafka.bootstrap, topic, 10)

    async def run() -> None:
        async with reading(kafka.bootstrap, partition, group_id=topic) as consumer:
            await read(consumer, 10)
            polling = asyncio.ensure_future(consumer.poll(LONG_MS))
            await asyncio.sleep(0)
            await asyncio.gather(consumer.close(), consumer.close())
            with pytest.raises(ClientClosedError):
                await polling
        async with reading(kafka.bootstrap, partition, group_id=topic) as consumer:
            assert await committed_offset(consumer, partition) == 10, "the second call does not end the first"

    asyncio.run(run())
