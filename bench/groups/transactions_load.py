"""Producers of one small transaction after another: ``python -m bench.groups.transactions_load '{…}'`` prints JSON.

Each has a connection, a transactional id and a partition of its own. With transactions of version 2 a produce adds its
partition by itself and each end brings a new epoch; before, partitions were added by a request.
"""

import heapq
import json
import os
import select
import subprocess
import sys
import time
from typing import Any, NamedTuple

from ottla.common.error_code import ErrorCode
from ottla.protocol.message import Message
from ottla.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from ottla.protocol.messages.end_txn import EndTxnRequest
from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.records.builder import build_batch
from ottla.records.record import SimpleRecord
from tests.server.wire import Wire, eventually

_AGAIN = (
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
)
_BACKOFF_S = 0.001
_TIMEOUT_S = 60


class TransactionsLoad(NamedTuple):
    """What the generator measured."""

    transactions: int
    wall_s: float
    cpu_s: float
    retries: int


def generate(address: str, topic: str, producers: int, transactions: int, version: int) -> TransactionsLoad:
    """Run the generator's process to its end."""
    plan = {
        "address": address,
        "topic": topic,
        "producers": producers,
        "transactions": transactions,
        "version": version,
    }
    command = [sys.executable, "-m", "bench.groups.transactions_load", json.dumps(plan)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the load generator failed:\n{done.stderr[-2000:]}")
    return TransactionsLoad(**json.loads(done.stdout))


class _Producer:
    """init → (add) → produce → end → (add) → …; `request` is what it says next."""

    def __init__(self, address: str, topic: str, number: int, version: int) -> None:
        self.wire = Wire(address)
        self._topic = topic
        self._partition = number
        self._transactional_id = f"{topic}-{number}"
        self._steps = ("produce", "end") if version >= 2 else ("add", "produce", "end")
        self._versions = {"add": 3, "produce": 12, "end": 5} if version >= 2 else {"add": 3, "produce": 11, "end": 4}
        self._step = 0
        self._sequence = 0
        init = InitProducerIdRequest(transactional_id=self._transactional_id, transaction_timeout_ms=60_000)
        for _ in eventually():
            answer = self.wire.ask(init, 5)
            if answer.error_code == 0:
                break
        self._producer_id, self._epoch = answer.producer_id, answer.producer_epoch

    def send(self) -> None:
        """Say what comes next."""
        step = self._steps[self._step]
        self.wire.send(self._request(step), self._versions[step])

    def hear(self) -> tuple[bool, bool]:
        """Whether that was done, and not to be said again; and whether a transaction ended with it."""
        step = self._steps[self._step]
        answer = self.wire.receive(self._request(step), self._versions[step])
        error = _error(step, answer)
        if error in _AGAIN:
            return False, False
        if error:
            raise RuntimeError(f"{step} answered with {ErrorCode(error).name}")
        if step == "produce":
            self._sequence += 1
        self._step = (self._step + 1) % len(self._steps)
        if step != "end":
            return True, False
        if answer.producer_id >= 0 and (answer.producer_id, answer.producer_epoch) != (self._producer_id, self._epoch):
            self._producer_id, self._epoch, self._sequence = answer.producer_id, answer.producer_epoch, 0
        return True, True

    def _request(self, step: str) -> Message:
        if step == "end":
            return EndTxnRequest(
                transactional_id=self._transactional_id,
                producer_id=self._producer_id,
                producer_epoch=self._epoch,
                committed=True,
            )
        if step == "add":
            return AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=self._transactional_id,
                v3_and_below_producer_id=self._producer_id,
                v3_and_below_producer_epoch=self._epoch,
                v3_and_below_topics=[AddPartitionsToTxnTopic(name=self._topic, partitions=[self._partition])],
            )
        batch = build_batch(
            [SimpleRecord(int(time.time() * 1000), None, bytes(100))],
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            base_sequence=self._sequence,
            transactional=True,
        )
        data = PartitionProduceData(index=self._partition, records=bytes(batch))
        return ProduceRequest(
            transactional_id=self._transactional_id,
            acks=-1,
            timeout_ms=30_000,
            topic_data=[TopicProduceData(name=self._topic, partition_data=[data])],
        )


def _error(step: str, answer: Any) -> int:
    if step == "produce":
        error: int = answer.responses[0].partition_responses[0].error_code
    elif step == "add":
        error = answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
    else:
        error = answer.error_code
    return error


def main() -> None:
    plan = json.loads(sys.argv[1])
    processors = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, processors[-1:])
    producers = {}
    poll = select.epoll()
    for number in range(plan["producers"]):
        producer = _Producer(plan["address"], plan["topic"], number, plan["version"])
        producers[producer.wire.fileno()] = producer
        poll.register(producer.wire.fileno(), select.EPOLLIN)
    begun, cpu = time.perf_counter(), time.process_time()
    retries = _run(producers, poll, plan["transactions"])
    load = TransactionsLoad(plan["transactions"], time.perf_counter() - begun, time.process_time() - cpu, retries)
    json.dump(load._asdict(), sys.stdout)


def _run(producers: dict[int, _Producer], poll: select.epoll, transactions: int) -> int:
    left, retries = transactions, 0
    later: list[tuple[float, int]] = []
    for producer in producers.values():
        producer.send()
    while left > 0:
        for fd, _ in poll.poll(max(later[0][0] - time.perf_counter(), 0) if later else _TIMEOUT_S):
            done, ended = producers[fd].hear()
            left -= ended
            if done:
                producers[fd].send()
            else:
                retries += 1
                heapq.heappush(later, (time.perf_counter() + _BACKOFF_S, fd))
        while later and later[0][0] <= time.perf_counter():
            producers[heapq.heappop(later)[1]].send()
    return retries


if __name__ == "__main__":
    main()
