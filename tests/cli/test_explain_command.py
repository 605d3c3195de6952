"""``ottla explain``: groups, topics and transactions in sentences, from living clusters and from made-up answers."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Partition

from ottla.cli.explanations import NO_LEADER, NO_TOPIC, HeldPartition, Progress, explain_group
from ottla.cli.topic_explanation import duration, explain_topic
from ottla.cli.transaction_explanation import explain_transaction
from ottla.clients.admin import (
    ConsumerGroupDescription,
    GroupState,
    GroupType,
    MemberDescription,
    PartitionDescription,
    TopicDescription,
    TransactionDescription,
    TransactionState,
)
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import ZERO_UUID
from ottla.network.node import Node as NetworkNode
from tests.cli.terminal import run_in_terminal, run_inside, run_piped
from tests.node import Node

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def _group(state: str, *members: MemberDescription) -> ConsumerGroupDescription:
    return ConsumerGroupDescription(
        "g", GroupType.CONSUMER, GroupState[state], False, "uniform", members, NetworkNode(1, "host", 9092)
    )


def _member(name: str, owned: set[TopicPartition], target: set[TopicPartition] | None = None) -> MemberDescription:
    wanted = None if target is None else frozenset(target)
    return MemberDescription(name, None, None, "client", "/10.0.0.1", frozenset(owned), wanted)


def _classic(name: str, *, is_assigned: bool) -> MemberDescription:
    return MemberDescription(name, None, None, "client", "/10.0.0.1", frozenset(), is_assigned=is_assigned)


def _told(group: ConsumerGroupDescription, read: Mapping[TopicPartition, Progress] | None = None) -> str:
    told = explain_group(group, read or {})
    return " ".join([*told.facts, "| TODO:", *told.todo])


class TestGroups:
    def test_who_is_waited_for(self) -> None:
        text = _told(_group("RECONCILING", _member("a", {T0, T1}, {T0}), _member("b", set(), {T1})))
        assert "It waits for member a to give up t-1, which goes to member b." in text
        assert "member a does not poll: look at it, or stop it." in text
        taking = _told(_group("RECONCILING", _member("a", {T0}, {T0, T1})))
        assert "member a is about to take over t-1." in taking

    def test_who_has_not_joined_again(self) -> None:
        old, idle = _classic("a", is_assigned=True), _classic("b", is_assigned=True)
        new, newer = _classic("c", is_assigned=False), _classic("d", is_assigned=False)
        text = _told(_group("PREPARING_REBALANCE", old, new, newer))
        assert "waits for member a to join again. New, and has joined: member c, member d." in text
        assert "Look whether it is stuck" in text
        text = _told(_group("PREPARING_REBALANCE", old, idle))
        assert "waits for one or more of these members to join again: member a, member b. Kafka's protocol does" in text
        assert "New" not in text
        text = _told(_group("PREPARING_REBALANCE", new, newer))  # the assignment before was never made
        assert "one or more of these members to join again: member c, member d." in text

    def test_members_that_do_not_commit(self) -> None:
        group = _group("STABLE", _member("a", {T0}), _member("b", {T1}))
        text = _told(group, {T0: Progress(None, 0, 4), T1: Progress(2, 0, 4)})
        assert "member a has committed nothing of t-0: it has got nothing done yet, or does not commit" in text
        assert "member b has committed" not in text
        assert "has committed nothing" not in _told(group, {T0: Progress(None, 4, 4), T1: Progress(2, 0, 4)})

    def test_partitions_that_cannot_be_read(self) -> None:
        told = explain_group(_group("STABLE"), {}, {T0: NO_LEADER, T1: NO_LEADER, TopicPartition("old", 0): NO_TOPIC})
        assert "t-0, t-1 cannot be read: no broker leads it." in told.facts
        assert "old-0 cannot be read: the topic does not exist any more." in told.facts
        assert any("--delete-offsets --group g" in each for each in told.todo)

    def test_rebalances(self) -> None:
        assert "wait for the assignment" in _told(_group("COMPLETING_REBALANCE", _member("a", set())))
        assert "making a new assignment" in _told(_group("ASSIGNING"))
        assert "does not exist" in _told(_group("DEAD"))

    def test_lag(self) -> None:
        stable = _group("STABLE", _member("a", {T0, T1}))
        text = _told(stable, {T0: Progress(5, 0, 15), T1: Progress(None, 3, 5)})
        assert "It is 12 records behind in all, the most on t-0: 10 (committed 5, end 15)." in text
        assert "It has read everything." in _told(stable, {T0: Progress(15, 0, 15)})
        assert "It has committed no offsets" in _told(stable)

    def test_lost_and_impossible_offsets(self) -> None:
        text = _told(_group("EMPTY"), {T0: Progress(5, 8, 10), T1: Progress(9, 0, 4)})
        assert "Records 5 to 7 of t-0 were deleted before it read them." in text
        assert "Its committed offset 9 of t-1 is beyond the end 4" in text
        assert "--reset-offsets --group g --topic t" in text

    def test_idle_members_and_forgotten_topics(self) -> None:
        text = _told(
            _group("STABLE", _member("a", {T0}), _member("b", set())), {TopicPartition("old", 0): Progress(1, 0, 1)}
        )
        assert "1 member has nothing to read" in text
        assert "Nobody reads old-0 any more" in text


class TestTopics:
    @staticmethod
    def _told(partition: PartitionDescription, configs: dict[str, str | None] | None = None) -> str:
        topic = TopicDescription("t", ZERO_UUID, False, (partition,))
        told = explain_topic(topic, configs or {}, {T0: (5, 10)}, {"g": {T0: Progress(2, 5, 10)}})
        return " ".join([*told.facts, "| TODO:", *told.todo])

    def test_no_leader(self) -> None:
        text = self._told(PartitionDescription(0, None, 3, (1, 2), (2,)))
        assert "Partition 0 has no leader and can neither be written nor read" in text
        assert "Start broker 2;" in text

    def test_too_few_in_sync(self) -> None:
        text = self._told(PartitionDescription(0, 1, 3, (1, 2, 3), (1,)), {"min.insync.replicas": "2"})
        assert "writes with acks=all are refused (NOT_ENOUGH_REPLICAS)" in text
        assert "Bring broker 2 or 3 back." in text
        assert "is under-replicated: broker 2 is behind" in self._told(PartitionDescription(0, 1, 3, (1, 2), (1,)))

    def test_more_in_sync_wanted_than_there_are_replicas(self) -> None:
        """It counts as the number of replicas, as ``Partition.effective_min_isr`` and Apache's effectiveMinIsr say."""
        text = self._told(PartitionDescription(0, 1, 3, (1,), (1,)), {"min.insync.replicas": "2"})
        assert "min.insync.replicas is 2, but counts as 1 with one replica" in text
        assert "There is one replica only" in text
        assert "Every partition has a leader and all its replicas in sync." in text
        assert "refused" not in text
        healthy = self._told(PartitionDescription(0, 1, 3, (1, 2), (1, 2)), {"min.insync.replicas": "3"})
        assert "so it counts as 2: writes with acks=all are refused whenever one of them is out of sync." in healthy
        assert "Set min.insync.replicas to 1, or add replicas." in healthy
        assert "Every partition has a leader and all its replicas in sync." in healthy
        lame = self._told(PartitionDescription(0, 1, 3, (1, 2), (1,)), {"min.insync.replicas": "3"})
        assert "has 1 of 2 replicas in sync and needs 2 (min.insync.replicas): writes with acks=all are refused" in lame

    def test_retention_and_readers(self) -> None:
        healthy = PartitionDescription(0, 1, 3, (1, 2), (1, 2))
        text = self._told(healthy, {"retention.ms": "604800000", "retention.bytes": "-1", "cleanup.policy": "delete"})
        assert "Every partition has a leader and all its replicas in sync." in text
        assert "Records are deleted after 7 days." in text
        assert "Records of t-0 were deleted before group g read them." in text
        assert "It is compacted" in self._told(healthy, {"cleanup.policy": "compact"})
        assert "kept for ever, and it is compacted" in self._told(healthy, {"cleanup.policy": "compact,delete"})


class TestTransactions:
    @staticmethod
    def _told(state: str, start_ms: int | None = 1000, now_ms: int = 31_000) -> str:
        described = TransactionDescription("id", 1, TransactionState[state], 7, 2, 60_000, start_ms, frozenset({T0}))
        told = explain_transaction(described, {T0: HeldPartition(5, 5, 9)}, now_ms)
        return " ".join([*told.facts, "| TODO:", *told.todo])

    def test_open(self) -> None:
        text = self._told("ONGOING")
        assert "producer 7 with epoch 2, coordinated by broker 1." in text
        assert "It is open for 30 seconds, in t-0." in text
        assert "aborts it in 30 s if its producer does not end it" in text
        assert "get to offset 5 of 9, so 4 offsets are held back." in text
        assert "forceTerminateTransaction --transactionalId id" in text
        assert "Its time is over" in self._told("ONGOING", now_ms=99_000)
        assert "since when is not known" in self._told("ONGOING", None)

    def test_ended(self) -> None:
        assert "waits until its marker is written to t-0" in self._told("PREPARE_COMMIT")
        assert "was committed" in self._told("COMPLETE_COMMIT")
        assert "was aborted" in self._told("COMPLETE_ABORT")
        assert "Nothing was sent" in self._told("EMPTY")
        assert "being shut out" in self._told("PREPARE_EPOCH_FENCE")


def test_durations() -> None:
    assert [duration(ms) for ms in (86_400_000, 7_200_000, 60_000, 2000, 1, 0)] == [
        "1 day", "2 hours", "1 minute", "2 seconds", "1 ms", "0 ms",
    ]  # fmt: skip


@contextmanager
def _member_of(kafka: Node, group: str, topic: str) -> Iterator[Consumer]:
    """A consumer with its partitions, that polls no more."""
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group, "auto.offset.reset": "earliest",
                         "session.timeout.ms": 30000, "enable.auto.commit": False})  # fmt: skip
    assigned = threading.Event()
    consumer.subscribe([topic], on_assign=lambda *_: assigned.set())
    for _ in range(600):
        consumer.poll(0.1)
        if assigned.is_set():
            break
    assert assigned.is_set()
    try:
        yield consumer
    finally:
        consumer.close()


def _fill(kafka: Node, topic: str) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for number in range(4):
        producer.produce(topic, str(number), partition=0)
    assert producer.flush(60) == 0


def test_a_living_group(kafka: Node, topic: str) -> None:
    _fill(kafka, topic)
    line = ("explain", "group", f"{topic}-g", "--bootstrap-server", kafka.bootstrap)
    with _member_of(kafka, f"{topic}-g", topic) as consumer:
        consumer.commit(offsets=[Partition(topic, 0, 1)], asynchronous=False)
        screen = run_in_terminal(*line)
        assert screen.code == 0
        assert "is a classic group in state Stable, with 1 member, coordinated by broker 1" in screen.text
        assert f"reads {topic}-0, {topic}-1." in screen.text
    document = json.loads(run_piped(*line, "--json").stdout)
    assert "Nobody reads for it" in document["facts"][1]
    assert document["todo"] == ["Start a consumer with this group.id to read on from there."]


def test_a_group_that_waits_for_a_member(kafka: Node, topic: str) -> None:
    _fill(kafka, topic)
    group = f"{topic}-g"
    with _member_of(kafka, group, topic) as stuck:  # which does not poll, and so does not join again
        joining = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group})
        joining.subscribe([topic])
        told = ""
        for _ in range(300):
            joining.poll(0.1)
            told = run_inside("explain", "group", group, "--bootstrap-server", kafka.bootstrap).stdout
            if "PreparingRebalance" in told:
                break
        assert f"It rebalances, and waits for member {stuck.memberid()} to join again.\n" in told
        assert "New, and has joined: member " in told
        assert "Look whether it is stuck" in told
        joining.close()


def test_a_member_that_commits_nothing_of_a_topic_that_is_deleted_then(kafka: Node, topic: str) -> None:
    _fill(kafka, topic)
    server = ("--bootstrap-server", kafka.bootstrap)
    with _member_of(kafka, f"{topic}-g", topic) as consumer:
        told = run_inside("explain", "group", f"{topic}-g", *server).stdout
        assert f"member {consumer.memberid()} has committed nothing of {topic}-0:" in told
        assert "It is 4 records behind in all" in told
        assert run_inside("topics", "--delete", "--topic", topic, *server).code == 0
        told = run_inside("explain", "group", f"{topic}-g", *server).stdout
        assert f"{topic}-0, {topic}-1 cannot be read: the topic does not exist any more." in told
        assert run_inside("explain", "topic", topic, *server).code == 1


def test_a_compacted_topic(kafka: Node, topic: str) -> None:
    server = ("--bootstrap-server", kafka.bootstrap)
    made = run_inside("topics", "--create", "--topic", topic, "--config", "cleanup.policy=compact", *server)
    assert made.code == 0
    assert (
        "It is compacted: the last record of each key stays." in run_inside("explain", "topic", topic, *server).stdout
    )


def test_a_topic_that_is_read(kafka: Node, topic: str) -> None:
    _fill(kafka, topic)
    with _member_of(kafka, f"{topic}-g", topic) as consumer:
        consumer.commit(offsets=[Partition(topic, 0, 1)], asynchronous=False)
    done = run_piped("explain", "topic", topic, "--bootstrap-server", kafka.bootstrap)
    assert done.code == 0, done
    assert done.stdout.startswith(f"Topic {topic} has 2 partition(s) with 1 replica(s) each, and about 4 records")
    assert "There is one replica only" in done.stdout
    assert "Records are kept for ever." in done.stdout
    assert f"Group {topic}-g is 3 records behind." in done.stdout


def test_an_open_transaction(kafka: Node, topic: str) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": f"{topic}-id"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"held", partition=0)
    producer.flush(30)
    line = ("explain", "transaction", f"{topic}-id", "--bootstrap-server", kafka.bootstrap)
    done = run_piped(*line)
    assert done.code == 0, done
    assert f"Transactional id {topic}-id is in state Ongoing: producer " in done.stdout
    assert (
        f"On {topic}-0 it has records from offset 0 on; readers of committed records get to offset 0 of 1"
        in done.stdout
    )
    assert "forceTerminateTransaction" in done.stdout
    of_topic = run_piped("explain", "topic", topic, "--bootstrap-server", kafka.bootstrap).stdout
    assert f"Readers of committed records get to offset 0 of 1 on {topic}-0, and wait for a transaction of " in of_topic
    assert f"find-hanging --topic {topic}" in of_topic
    producer.abort_transaction(30)
    assert "Complete" in run_piped(*line).stdout or "PrepareAbort" in run_piped(*line).stdout


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("group", "There is no group nothing"),
        ("topic", "There is no topic nothing"),
        ("transaction", "There is no transactional id nothing"),
    ],
)
def test_what_there_is_not(kafka: Node, kind: str, text: str) -> None:
    done = run_piped("explain", kind, "nothing", "--bootstrap-server", kafka.bootstrap)
    assert done.code == 1
    assert done.stdout == ""
    assert text in done.stderr
    assert done.stderr.count("\n") == 1
