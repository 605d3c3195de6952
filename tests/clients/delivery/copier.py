"""Copies a topic with one of the guarantees of delivery, and dies where it is told to.

``python -m tests.clients.delivery.copier PLAN``, where the plan is JSON. It copies until it has seen the record
``last``, and then ends by itself; with ``die_at`` it kills itself at that point of its second batch. What it says on
standard output is one line a batch.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterable
from dataclasses import asdict, dataclass

import pyarrow as pa

from ottla.clients.consumer.consumer import Consumer
from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
from ottla.clients.producer.producer import Producer
from ottla.common.topic_partition import TopicPartition

BATCH = 20
_SECOND = 2


@dataclass(frozen=True)
class Plan:
    """What to copy, and how."""

    bootstrap: str
    source: str
    target: str
    group: str
    guarantee: str
    """``at most once``, ``at least once`` or ``exactly once``."""
    last: str
    read_by: str = "poll"
    """Or ``arrow``."""
    write_by: str = "send"
    """Or ``send_batch``."""
    die_at: str = ""
    """``committed`` (before anything of the batch is written) or ``written`` (before it is committed)."""

    def to_json(self) -> str:
        return json.dumps(asdict(self))


class Copier:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.batches = 0
        self.consumer: Consumer[bytes, bytes] = Consumer(
            plan.source,
            bootstrap_servers=plan.bootstrap,
            group_id=plan.group,
            group_instance_id="copier",  # its successor need not wait for the end of its session
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            max_poll_records=BATCH,
        )
        configs: dict[str, dict[str, object]] = {
            "at most once": {"acks": "1", "enable.idempotence": False, "retries": 0},
            "at least once": {"acks": "all", "enable.idempotence": False},
            "exactly once": {"transactional.id": f"copier-of-{plan.group}"},
        }
        self.producer = Producer(configs[plan.guarantee], bootstrap_servers=plan.bootstrap)
        self.is_transactional = plan.guarantee == "exactly once"

    async def run(self) -> None:
        async with self.consumer, self.producer:
            if self.is_transactional:
                await self.producer.init_transactions()
            async for values, offsets in self.read():
                self.batches += 1
                await self.copy(values, offsets)
                print(f"copied {len(values)}", flush=True)
                if self.plan.last.encode() in values:
                    return

    async def read(self) -> AsyncIterator[tuple[list[bytes], dict[TopicPartition, OffsetAndMetadata]]]:
        """The values of some records, and what is to be committed when they are done."""
        if self.plan.read_by == "arrow":
            async for batch in self.consumer.arrow(max_rows=BATCH):
                columns = [batch.column(name).to_pylist() for name in ("topic", "partition", "offset", "value")]
                yield columns[3], _after(zip(*columns[:3], strict=True))
            return
        while True:
            records = await self.consumer.poll(1_000)
            if records:
                places = ((record.topic, record.partition, record.offset) for record in records)
                yield [record.value for record in records if record.value is not None], _after(places)

    async def copy(self, values: list[bytes], offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
        if self.plan.guarantee == "at most once":
            await self.consumer.commit(offsets)
            self.die("committed")
            await self.write(values)
        elif self.plan.guarantee == "at least once":
            await self.write(values)
            self.die("written")
            await self.consumer.commit(offsets)
        else:
            async with self.producer.transaction():
                await self.write(values)
                await self.producer.send_offsets_to_transaction(offsets, self.consumer.group_metadata())
                await self.producer.flush()
                self.die("written")

    async def write(self, values: list[bytes]) -> None:
        if self.plan.write_by == "send_batch":
            await (await self.producer.send_batch(self.plan.target, pa.table({"value": values})))
        else:
            for delivery in [await self.producer.send(self.plan.target, value) for value in values]:
                await delivery

    def die(self, point: str) -> None:
        if point == self.plan.die_at and self.batches == _SECOND:
            print(f"dies: {point}", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)


def _after(rows: Iterable[tuple[str, int, int]]) -> dict[TopicPartition, OffsetAndMetadata]:
    return {TopicPartition(topic, partition): OffsetAndMetadata(offset + 1) for topic, partition, offset in rows}


if __name__ == "__main__":
    asyncio.run(Copier(Plan(**json.loads(sys.argv[1]))).run())
