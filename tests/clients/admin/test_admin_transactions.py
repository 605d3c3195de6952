"""Producers and transactions through the admin client, against Ottla and Apache."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import KafkaException, Producer

from ottla.clients.admin import (
    AbortTransactionSpec,
    IsolationLevel,
    NewTopic,
    OffsetSpec,
    TopicPartition,
    TransactionState,
)
from ottla.clients.errors import (
    BrokerNotAvailableError,
    InvalidProducerEpochError,
    TransactionalIdNotFoundError,
    TransactionCoordinatorFencedError,
    UnknownTopicOrPartitionError,
)
from ottla.clients.sync.admin import Admin
from ottla.common.errors import KafkaError
from tests.clients.admin.waiting import attempts, create
from tests.node import Node


@contextmanager
def transaction(kafka: Node, topic: str) -> Iterator[Producer]:
    """A producer, named like the topic, with one record of an open transaction in partition 0."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": topic, "log_level": 2})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"x", partition=0)
    assert producer.flush(10) == 0
    yield producer
    producer.purge()


@pytest.fixture
def written(admin: Admin, topic: str) -> TopicPartition:
    """A topic of two partitions; the first of them."""
    create(admin, [NewTopic(topic, 2)])
    return TopicPartition(topic, 0)


def await_state(admin: Admin, transactional_id: str, state: TransactionState) -> None:
    for _ in attempts(f"The state {state}"):
        if admin.describe_transactions([transactional_id])[transactional_id].state is state:
            break


def stable_end(admin: Admin, key: TopicPartition) -> int:
    return admin.list_offsets({key: OffsetSpec.latest()}, isolation_level=IsolationLevel.READ_COMMITTED)[key].offset


def test_an_open_transaction(admin: Admin, kafka: Node, written: TopicPartition) -> None:
    name = written.topic
    with transaction(kafka, name) as producer:
        described = admin.describe_transactions([name])[name]
        assert (described.transactional_id, described.state) == (name, TransactionState.ONGOING)
        assert described.partitions == {written}
        assert described.coordinator_id == admin.describe_cluster().nodes[0].id
        assert described.start_time_ms is not None
        assert described.timeout_ms == 60000
        (state,) = admin.describe_producers([written])[written]
        assert (state.producer_id, state.producer_epoch) == (described.producer_id, described.producer_epoch)
        assert (state.last_sequence, state.current_transaction_start_offset) == (0, 0)
        assert state.last_timestamp_ms > 0
        listed = admin.list_transactions()[name]
        assert (listed.producer_id, listed.state) == (described.producer_id, TransactionState.ONGOING)
        producer.commit_transaction(30)
    await_state(admin, name, TransactionState.COMPLETE_COMMIT)
    described = admin.describe_transactions([name])[name]
    assert (described.partitions, described.start_time_ms) == (frozenset(), described.start_time_ms)
    for _ in attempts("The marker"):
        (state,) = admin.describe_producers([written])[written]
        if state.current_transaction_start_offset is None:
            break


def test_transactions_are_listed_by_filters(admin: Admin, kafka: Node, written: TopicPartition) -> None:
    name = written.topic
    with transaction(kafka, name) as producer:
        producer_id = admin.describe_transactions([name])[name].producer_id
        assert name in admin.list_transactions(states=[TransactionState.ONGOING])
        assert name not in admin.list_transactions(states=[TransactionState.EMPTY])
        assert set(admin.list_transactions(producer_ids=[producer_id])) == {name}
        assert name in admin.list_transactions(min_duration_ms=0)
        assert name not in admin.list_transactions(min_duration_ms=3_600_000)
        assert set(admin.list_transactions(transactional_id_pattern=f"{name[:5]}.*{name[-3:]}")) == {name}
        assert admin.list_transactions(transactional_id_pattern="nobody.*") == {}
        with pytest.raises(KafkaError):
            admin.list_transactions(transactional_id_pattern="(")
        producer.abort_transaction(30)


def test_transactional_ids_that_nobody_has_used(admin: Admin, kafka: Node, written: TopicPartition) -> None:
    name = written.topic
    with transaction(kafka, name) as producer:
        results = admin.describe_transactions([name, "nobody"], raise_errors=False)
        assert isinstance(results["nobody"], TransactionalIdNotFoundError)
        assert not isinstance(results[name], KafkaError)
        producer.abort_transaction(30)
    with pytest.raises(TransactionalIdNotFoundError):
        admin.describe_transactions(["nobody"])


def test_an_open_transaction_is_aborted(admin: Admin, kafka: Node, written: TopicPartition) -> None:
    admin.fence_producers([written.topic])  # so that there is an older epoch
    with transaction(kafka, written.topic):
        (state,) = admin.describe_producers([written])[written]
        assert stable_end(admin, written) == 0
        spec = AbortTransactionSpec(
            written,
            state.producer_id,
            state.producer_epoch,
            0 if state.coordinator_epoch is None else state.coordinator_epoch,
        )
        stale = AbortTransactionSpec(written, state.producer_id, state.producer_epoch - 1, spec.coordinator_epoch)
        with pytest.raises(InvalidProducerEpochError):
            admin.abort_transaction(stale)
        assert stable_end(admin, written) == 0
        admin.abort_transaction(spec)
        for _ in attempts("The abort"):
            if stable_end(admin, written) == 2:
                break
        (state,) = admin.describe_producers([written])[written]
        assert state.current_transaction_start_offset is None
        assert state.coordinator_epoch == spec.coordinator_epoch
        old = AbortTransactionSpec(written, state.producer_id, state.producer_epoch, spec.coordinator_epoch - 1)
        with pytest.raises(TransactionCoordinatorFencedError):
            admin.abort_transaction(old)


def test_a_fenced_producer_cannot_commit(admin: Admin, kafka: Node, written: TopicPartition) -> None:
    name = written.topic
    with transaction(kafka, name) as producer:
        before = admin.describe_transactions([name])[name]
        fenced = admin.fence_producers([name])[name]
        assert fenced.producer_id == before.producer_id
        assert fenced.producer_epoch > before.producer_epoch
        with pytest.raises(KafkaException):
            producer.commit_transaction(30)
    for _ in attempts("The abort"):
        if stable_end(admin, written) == 2:
            break


def test_fencing_a_name_that_nobody_uses(admin: Admin, topic: str) -> None:
    results = admin.fence_producers([topic, topic + "-b"])
    assert {each.producer_epoch for each in results.values()} == {0}
    assert len({each.producer_id for each in results.values()}) == 2


def test_producers_of_what_does_not_exist(admin: Admin, written: TopicPartition) -> None:
    node_id = admin.describe_cluster().nodes[0].id
    missing = TopicPartition("no-such-topic", 0)
    results = admin.describe_producers([written, missing], raise_errors=False)
    assert results[written] == ()
    assert isinstance(results[missing], UnknownTopicOrPartitionError)
    assert admin.describe_producers([written], broker_id=node_id) == {written: ()}
    with pytest.raises(BrokerNotAvailableError):
        admin.describe_producers([written], broker_id=99)
    with pytest.raises(UnknownTopicOrPartitionError):
        admin.abort_transaction(AbortTransactionSpec(missing, 1, 1, 1))
