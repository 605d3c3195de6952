"""Does what the commit protocol says: the state topic, coordinators, and partitions whose records are read again."""

import asyncio
import logging
import re
import uuid
from collections.abc import Callable, Generator, Sequence
from typing import Any, Final, TypeVar

from ottla.clients.admin.transactions import TransactionState
from ottla.clients.cluster.cluster_client import ClusterClient
from ottla.clients.errors import UnsupportedVersionError
from ottla.clients.producer.batch_record import BatchRecord
from ottla.clients.producer.prepared_transaction import PreparedTransaction
from ottla.clients.producer.producer import Producer
from ottla.clients.sync import Admin
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.config.client_configs import AdminConfig
from ottla.spark.sink.aborted_records import find_end, read_records
from ottla.spark.sink.client_properties import admin_properties
from ottla.spark.sink.commit_actions import (
    Action,
    Describe,
    End,
    Examine,
    Finish,
    ReadHistory,
    Record,
    Rewrite,
    Status,
    Statuses,
    Sweep,
)
from ottla.spark.sink.sink_history import SinkHistory
from ottla.spark.sink.sink_options import SinkOptions
from ottla.spark.sink.state_topic import StateTopic
from ottla.spark.sink.task_transaction import TaskTransaction, Written
from ottla.spark.sink.transaction_status import status_of
from ottla.spark.sink.transactional_ids import pattern_of

logger = logging.getLogger(__name__)

T = TypeVar("T")

OnStep = Callable[[Action, bool], None]
"""Told of each action, before (False) and after it (True); what it raises ends the run there, as a crash would."""


def ignore_step(_action: Action, _is_done: bool) -> None:
    """Nobody watches."""


class CommitDriver:
    """Open → ``close``. ``run`` any number of the protocol's functions, one after the other."""

    def __init__(self, options: SinkOptions, *, on_step: OnStep = ignore_step) -> None:
        self._options = options
        self._on_step = on_step
        self._admin = Admin(admin_properties(options.producer))
        try:
            self._admin.start()
            self._state = StateTopic(options.producer, options.state_topic, options.sink_id, self._admin)
        except BaseException:
            self._admin.close()
            raise

    def close(self) -> None:
        """Disconnect."""
        self._state.close()
        self._admin.close()

    def run(self, steps: Generator[Action, Any, T]) -> T:
        """Do all steps; the result of the last. A KafkaError of a step ends it: what was decided stays decided."""
        answer: Any = None
        while True:
            try:
                action = steps.send(answer)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            self._on_step(action, False)
            answer = _DO[type(action)](self, action)
            self._on_step(action, True)

    def _read_history(self, _: ReadHistory) -> SinkHistory:
        return self._state.read()

    def _record(self, action: Record) -> None:
        self._state.append([(action.decision.key, action.decision.value)])

    def _finish(self, action: Finish) -> None:
        decision = action.decision
        tombstones = [(key, None) for key in self._state.history.superseded(decision)]
        done = [] if action.forget else [(decision.key, decision.value)]
        if done or tombstones:
            self._state.append([*done, *tombstones])

    def _describe(self, action: Describe) -> Statuses:
        return self._statuses(action.transactions)

    def _statuses(self, transactions: Sequence[TaskTransaction]) -> Statuses:
        if not transactions:
            return {}
        found = self._admin.describe_transactions([each.transactional_id for each in transactions], raise_errors=False)
        return {each.transactional_id: status_of(each, found[each.transactional_id]) for each in transactions}

    def _end(self, action: End) -> Statuses:
        prepared = [PreparedTransaction(*each[:4]) for each in action.transactions]
        errors = self._admin.end_transactions(prepared, committed=action.is_commit)
        ended = Status.COMMITTED if action.is_commit else Status.ABORTED
        refused = [each for each in action.transactions if errors[each.transactional_id] is not None]
        statuses = self._statuses(refused)
        for each in refused:
            error = errors[each.transactional_id]
            if statuses[each.transactional_id] is Status.OPEN and error is not None:
                raise error
        return dict.fromkeys(errors, ended) | statuses

    def _examine(self, action: Examine) -> Statuses:
        async def examine() -> Statuses:
            async with _Cluster(self._options) as cluster:
                return {each.transactional_id: await find_end(cluster, each) for each in action.transactions}

        return asyncio.run(examine())

    def _rewrite(self, action: Rewrite) -> TaskTransaction:
        return asyncio.run(rewrite(self._options, action.transactions))

    def _sweep(self, action: Sweep) -> None:
        """As well as it can: what is not found or aborted now will be next time, or when its time is over."""
        try:
            left = [name for name in self._ongoing() if name not in action.keep]
            if left:
                self._admin.fence_producers(left)
        except KafkaError as error:
            logger.warning("Transactions of %s may be left open for a while: %s", self._options.sink_id, error)

    def _ongoing(self) -> list[str]:
        pattern = pattern_of(self._options.sink_id)
        states = [TransactionState.ONGOING]
        try:
            return list(self._admin.list_transactions(states=states, transactional_id_pattern=pattern))
        except UnsupportedVersionError:  # brokers before 4.1
            return [name for name in self._admin.list_transactions(states=states) if re.match(pattern, name)]


_DO: Final[dict[type, Callable[[CommitDriver, Any], Any]]] = {
    ReadHistory: CommitDriver._read_history,
    Record: CommitDriver._record,
    Finish: CommitDriver._finish,
    Describe: CommitDriver._describe,
    End: CommitDriver._end,
    Examine: CommitDriver._examine,
    Rewrite: CommitDriver._rewrite,
    Sweep: CommitDriver._sweep,
}


class _Cluster:
    """A connection for reading partitions, which is seldom needed."""

    def __init__(self, options: SinkOptions) -> None:
        self._client = ClusterClient(AdminConfig.parse(admin_properties(options.producer)).common)

    async def __aenter__(self) -> ClusterClient:
        await self._client.start()
        return self._client

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()


async def rewrite(options: SinkOptions, transactions: Sequence[TaskTransaction]) -> TaskTransaction:
    """Write the records of transactions again, in one of their own that stays open; RecordsLostError."""
    transactional_id = f"{options.sink_id}-{uuid.uuid4().hex[:12]}-0"
    found: dict[TopicPartition, Written] = {}
    producer = Producer({**options.producer, "transactional.id": transactional_id})
    async with _Cluster(options) as cluster, producer:
        await producer.init_transactions()
        producer.begin_transaction()
        for transaction in transactions:
            for written in transaction.written:
                async for records in read_records(cluster, transaction, written):
                    rows = [
                        BatchRecord(each.value, each.key, each.headers, written.partition, each.timestamp)
                        for each in records
                    ]
                    delivered = await (await producer.send_batch(written.topic, rows))
                    for partition, (first, last, count) in delivered.partitions.items():
                        before = found.get(partition, Written(*partition, first, last, 0))
                        found[partition] = before._replace(last_offset=last, records_count=before.records_count + count)
        prepared = await producer.prepare_transaction()
    assert prepared is not None, "aborted transactions have records"
    return TaskTransaction(*prepared, tuple(found.values()))
