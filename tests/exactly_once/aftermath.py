"""What has to be true when all is over: nothing is open, nothing hangs, all of the input is done."""

import struct
import time
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from ottla.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from ottla.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from ottla.protocol.messages.list_transactions import ListTransactionsRequest
from ottla.records.batch import batches
from ottla.records.record import decode_records
from tests.exactly_once.workers import GROUP, INPUT
from tests.node import Node
from tests.oracle import Oracle
from tests.server.wire import Wire

BOUND_S = 60
FINAL_STATES = {"Empty", "CompleteCommit", "CompleteAbort"}
DECIDED_STATES = FINAL_STATES | {"PrepareCommit", "PrepareAbort"}
_ABORT, _COMMIT = 0, 1
_READ_UNCOMMITTED, _READ_COMMITTED = 0, 1
_LATEST = -1


def check_nothing_is_open(node: Node) -> int:
    """No transaction is undecided, here or in any partition; returns how many transactional ids there are."""
    partitions = _all_partitions(node.bootstrap)
    with Wire(node.bootstrap) as wire:
        states = _final_states(wire)
        for partition in partitions:
            topic = TopicRequest(name=partition.topic, partition_indexes=[partition.partition])
            (described,) = wire.ask(DescribeProducersRequest(topics=[topic]), 0).topics[0].partitions
            assert described.error_code == 0, partition
            open_here = [each for each in described.active_producers if each.current_txn_start_offset >= 0]
            assert not open_here, f"{partition}: {open_here}"
        stable = _ends(wire, partitions, _READ_COMMITTED)
        assert stable == _ends(wire, partitions, _READ_UNCOMMITTED)
    return len(states)


def _final_states(wire: Wire) -> dict[str, str]:
    """The transactions' states when what is decided is carried out, too, which nobody has waited for yet."""
    deadline = time.monotonic() + BOUND_S
    while True:
        listed = wire.ask(ListTransactionsRequest(), 1)
        assert listed.error_code == 0
        states = {each.transactional_id: each.transaction_state for each in listed.transaction_states}
        assert set(states.values()) <= DECIDED_STATES, states
        if set(states.values()) <= FINAL_STATES:
            return states
        assert time.monotonic() < deadline, states
        time.sleep(0.02)


def check_apache_agrees(oracle: Oracle, node: Node) -> None:
    """Apache's transactions tool lists nothing open and finds nothing that hangs, be it however young."""
    tool = ("org.apache.kafka.tools.TransactionsCommand", "--bootstrap-server", node.bootstrap)
    listed = oracle.run(*tool, "list")
    assert listed.returncode == 0, listed.stderr
    header, *rows = [line.split() for line in listed.stdout.splitlines() if line.strip()]
    state = header.index("TransactionState")
    assert rows
    assert {row[state] for row in rows} <= FINAL_STATES, listed.stdout
    hanging = oracle.run(*tool, "find-hanging", "--broker-id", "1", "--max-transaction-timeout", "0")
    assert hanging.returncode == 0, hanging.stderr
    assert len(hanging.stdout.strip().splitlines()) == 1, hanging.stdout


def check_committed_offsets(node: Node, written: list[int]) -> None:
    """The group has committed the end of every partition of the input."""
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": GROUP, "isolation.level": "read_committed"})
    wanted = [TopicPartition(INPUT, partition) for partition in range(len(written))]
    offsets = [each.offset for each in consumer.committed(wanted, BOUND_S)]
    consumer.close()
    assert offsets == written


def committed_offsets(directory: Path) -> tuple[list[int], int]:
    """The offsets of committed records in a partition's files, judged by its markers, and how many were aborted."""
    committed: list[int] = []
    aborted = 0
    open_offsets: dict[int, list[int]] = {}
    for path in sorted(directory.glob("*.log")):
        for batch in batches(path.read_bytes()):
            if not batch.is_control:
                assert batch.is_transactional
                open_offsets.setdefault(batch.producer_id, []).extend(range(batch.base_offset, batch.next_offset))
                continue
            (record,) = decode_records(batch)
            (_version, kind) = struct.unpack(">hh", record.key or b"")
            assert kind in (_ABORT, _COMMIT)
            offsets = open_offsets.pop(batch.producer_id, [])
            if kind == _COMMIT:
                committed += offsets
            else:
                aborted += len(offsets)
    assert not open_offsets, f"open in {directory.name}: {list(open_offsets)}"
    return sorted(committed), aborted


def _all_partitions(bootstrap: str) -> list[TopicPartition]:
    topics = AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=BOUND_S).topics
    return [TopicPartition(name, index) for name, topic in sorted(topics.items()) for index in sorted(topic.partitions)]


def _ends(wire: Wire, partitions: list[TopicPartition], isolation_level: int) -> dict[tuple[str, int], int]:
    ends = {}
    for partition in partitions:
        asked = ListOffsetsPartition(partition_index=partition.partition, timestamp=_LATEST)
        topic = ListOffsetsTopic(name=partition.topic, partitions=[asked])
        answer = wire.ask(ListOffsetsRequest(replica_id=-1, isolation_level=isolation_level, topics=[topic]), 8)
        (found,) = answer.topics[0].partitions
        assert found.error_code == 0, partition
        ends[partition.topic, partition.partition] = found.offset
    return ends
