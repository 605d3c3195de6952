"""``ottla transactions find-hanging``: transactions on partitions that their coordinator does not know of any more."""

import argparse
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from ottla.cli.output import Output
from ottla.cli.progress import progress
from ottla.cli.transactions import failing, show_rows
from ottla.clients.errors import TransactionalIdNotFoundError
from ottla.common.topic_partition import TopicPartition

if TYPE_CHECKING:
    from ottla.clients.admin import Admin, ProducerState, TransactionDescription

T = TypeVar("T")

_BATCH: Final = 500
"""How many topics or partitions are asked about at once."""
_COLUMNS: Final = (
    "Topic",
    "Partition",
    "ProducerId",
    "ProducerEpoch",
    "CoordinatorEpoch",
    "StartOffset",
    "LastTimestamp",
    "Duration(min)",
)
_KEYS: Final = (
    "topic",
    "partition",
    "producer_id",
    "producer_epoch",
    "coordinator_epoch",
    "start_offset",
    "last_timestamp",
    "duration_min",
)


class OpenTransaction(NamedTuple):
    """A transaction that has no end on this partition."""

    partition: TopicPartition
    producer: "ProducerState"


async def find_hanging(admin: "Admin", options: argparse.Namespace, output: Output) -> None:
    """Search, and print what hangs."""
    from time import time

    partitions = await _partitions(admin, options)
    older_than_ms = int(time() * 1000) - options.max_transaction_timeout * 60_000
    candidates = await _candidates(admin, partitions, options.broker_id, older_than_ms)
    found: list[OpenTransaction] = []
    if candidates:
        ids = await _transactional_ids(admin, {each.producer.producer_id for each in candidates})
        found = hanging(candidates, ids, await _descriptions(admin, set(ids.values())))
    now_ms = int(time() * 1000)
    rows = [
        (
            *partition,
            producer.producer_id,
            producer.producer_epoch,
            -1 if producer.coordinator_epoch is None else producer.coordinator_epoch,
            producer.current_transaction_start_offset,
            producer.last_timestamp_ms,
            (now_ms - producer.last_timestamp_ms) // 60_000,
        )
        for partition, producer in sorted(found, key=lambda each: each.partition)
    ]
    show_rows(output, _COLUMNS, _KEYS, rows)


def hanging(
    candidates: Iterable[OpenTransaction],
    transactional_ids: Mapping[int, str],
    descriptions: "Mapping[str, TransactionDescription]",
) -> list[OpenTransaction]:
    """Those that nobody will end: their producer has no transactional id, or that has no transaction here.

    A coordinator names all partitions that it has still to write a marker to, so one that it does not name gets none.
    """
    known: defaultdict[int, Collection[TopicPartition]] = defaultdict(tuple)
    for producer_id, transactional_id in transactional_ids.items():
        if transactional_id in descriptions:
            known[producer_id] = descriptions[transactional_id].partitions
    return [each for each in candidates if each.partition not in known[each.producer.producer_id]]


async def _partitions(admin: "Admin", options: argparse.Namespace) -> list[TopicPartition]:
    if options.partition is not None:
        return [TopicPartition(options.topic, options.partition)]
    topics = [options.topic]
    if options.topic is None:
        with failing("Failed to list topics"):
            topics = sorted(await admin.list_topics(include_internal=True))
    found = []
    for batch in _batches(topics):
        with failing(f"Failed to describe {len(batch)} topics"):
            described = await admin.describe_topics(batch)
        found += [
            TopicPartition(name, partition.partition)
            for name, topic in described.items()
            for partition in topic.partitions
            if options.broker_id is None or options.broker_id in partition.replicas
        ]
    return found


async def _candidates(
    admin: "Admin", partitions: Sequence[TopicPartition], broker_id: int | None, older_than_ms: int
) -> list[OpenTransaction]:
    found = []
    with progress("Asking for producers", len(partitions)) as bar:
        for batch in _batches(partitions):
            with failing(f"Failed to describe producers for {len(batch)} partitions"):
                described = await admin.describe_producers(batch, broker_id=broker_id)
            bar.advance(len(batch))
            found += [
                OpenTransaction(partition, producer)
                for partition, producers in described.items()
                for producer in producers
                if producer.current_transaction_start_offset is not None and producer.last_timestamp_ms < older_than_ms
            ]
    return found


async def _transactional_ids(admin: "Admin", producer_ids: Collection[int]) -> dict[int, str]:
    with failing(f"Failed to list transactions for {len(producer_ids)} producers"):
        listed = await admin.list_transactions(producer_ids=sorted(producer_ids))
    return {each.producer_id: each.transactional_id for each in listed.values() if each.producer_id in producer_ids}


async def _descriptions(admin: "Admin", ids: Collection[str]) -> "dict[str, TransactionDescription]":
    found = {}
    with failing(f"Failed to describe {len(ids)} transactions"):
        for transactional_id, result in (await admin.describe_transactions(sorted(ids), raise_errors=False)).items():
            if isinstance(result, TransactionalIdNotFoundError):
                continue
            if isinstance(result, Exception):
                raise result
            found[transactional_id] = result
    return found


def _batches(things: Sequence[T]) -> Iterator[Sequence[T]]:
    return (things[start : start + _BATCH] for start in range(0, len(things), _BATCH))
