"""``send_batch`` in transactions, and without acknowledgements."""

import asyncio
from itertools import count

import pytest

from ottla.clients.errors import (
    IllegalStateError,
    RecordTooLargeError,
)
from ottla.clients.producer.transaction_caller import TransactionCaller
from tests.clients.producer.produced import make_topic, run, values
from tests.clients.producer.row_batches import numbered, producer, read_numbers
from tests.node import Node

pytestmark = pytest.mark.usefixtures("way")
_numbers = count()


@pytest.mark.parametrize("version", [1, 2])
def test_transactions(kafka: Node, topic: str, version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    make_topic(kafka, topic, 2)
    if version == 1:  # a producer that never hears of version 2
        monkeypatch.setattr(TransactionCaller, "_note_version", lambda _self, _coordinator: None)

    async def send() -> None:
        async with producer(kafka, transactional_id=f"batches-{next(_numbers)}", max_request_size=100_000) as client:
            with pytest.raises(IllegalStateError):
                await client.send_batch(topic, [b"too soon"])
            await client.init_transactions()
            async with client.transaction():
                await client.send_batch(topic, numbered(0, 3_000))
                await client.send(topic, b"3000")
            with pytest.raises(ZeroDivisionError):
                async with client.transaction():
                    await (await client.send_batch(topic, numbered(10_000, 13_000)))
                    raise ZeroDivisionError
            # A row that was not taken spoils the transaction, even if nobody looks at the delivery.
            with pytest.raises(RecordTooLargeError):
                async with client.transaction():
                    await client.send_batch(topic, [b"20000", b"x" * 200_000])
            async with client.transaction():
                await client.send_batch(topic, [b"%d" % n for n in range(3_001, 3_100)])

    run(send())
    assert sorted(read_numbers(kafka, topic)) == list(range(3_100))  # librdkafka reads what is committed


def test_acks_0_and_callbacks(kafka: Node, topic: str) -> None:
    make_topic(kafka, topic, 1)

    async def send() -> None:
        called: list[object] = []
        async with producer(kafka, acks=0, enable_idempotence=False) as client:
            delivery = await client.send_batch(topic, [b"a", b"b"])
            delivery.add_done_callback(called.append)
            with pytest.raises(IllegalStateError):
                delivery.result()
            metadata = await delivery
            assert metadata.offsets().tolist() == [-1, -1]
            delivery.add_done_callback(called.append)
            while len(called) < 2:
                await asyncio.sleep(0)
            assert called == [delivery, delivery]

    run(send())
    assert values(kafka, topic) == [b"a", b"b"]
