"""The records of __transaction_state: their schemas, what each version holds, and Apache's tool reading them."""

import json
from pathlib import Path
from typing import Any

import pytest

from ottla.common.topic_partition import TopicPartition
from ottla.coordinator.record_serde import RecordParseError
from ottla.transaction.metadata import NO_PARTITIONS, PRODUCER_EPOCH_MAX, TransactionMetadata
from ottla.transaction.records import RECORD_TYPES, TransactionLogValue
from ottla.transaction.state import TransactionState
from ottla.transaction.transaction_log import metadata_of, new_transaction_record, new_transaction_tombstone_record
from ottla.transaction.transaction_version import TransactionVersion
from tests.apache.schemas import Comparison, read_schemas
from tests.oracle import Oracle
from tests.transaction.test_init_producer_id_rules import LAST, world_at
from tests.transaction.transaction_world import ID, PARTITION, SERDE, A, B, C, TransactionWorld

S = TransactionState
FULL = TransactionMetadata(
    ID, 9, 7, 11, 3, 2, 60_000, S.PREPARE_COMMIT, {A: None, C: None, B: None}, 100, 200, TransactionVersion.TV_2
)


def test_records_are_declared_as_in_apaches_schemas(oracle: Oracle) -> None:
    schemas = {
        schema["name"]: schema for schema in read_schemas(oracle, "kafka-transaction-coordinator", "common/message")
    }
    for key, value in RECORD_TYPES.values():
        Comparison(schemas[key.__name__]).check(key)
        Comparison(schemas[value.__name__]).check(value)


def read_back(metadata: TransactionMetadata, version: TransactionVersion) -> TransactionMetadata:
    decoded = SERDE.decode(*SERDE.encode(new_transaction_record(metadata, version)))
    assert decoded.version == (1 if version else 0)
    assert isinstance(decoded.value, TransactionLogValue)
    return metadata_of(ID, decoded.value)


def test_what_a_record_holds() -> None:
    for version in (TransactionVersion.TV_1, TransactionVersion.TV_2):
        assert read_back(FULL, version) == FULL._replace(last_producer_epoch=-1)
    assert read_back(FULL, TransactionVersion.TV_0) == FULL._replace(
        last_producer_epoch=-1,
        prev_producer_id=-1,
        next_producer_id=-1,
        client_transaction_version=TransactionVersion.TV_0,
    )


def test_bytes() -> None:
    empty = TransactionMetadata.new("é", 4660, 60_000, 1)._replace(producer_epoch=5)
    key, value = SERDE.encode(new_transaction_record(empty, TransactionVersion.TV_0))
    assert key.hex() == "00000002c3a9"
    assert value is not None
    assert value.hex() == ("0000000000000000123400050000ea6000ffffffff0000000000000001ffffffffffffffff")
    complete = FULL._replace(state=S.COMPLETE_COMMIT, topic_partitions=NO_PARTITIONS)
    _, value = SERDE.encode(new_transaction_record(complete, TransactionVersion.TV_2))
    assert value is not None
    assert value.hex() == (
        "0001" "0000000000000009" "0003" "0000ea60" "04" "01" "00000000000000c8" "0000000000000064"
        "03" "0008" "0000000000000007" "0108" "000000000000000b" "02020002"
    )  # fmt: skip


def test_partitions_are_null_only_when_nothing_has_begun() -> None:
    for state in S:
        if state in (S.DEAD, S.PREPARE_EPOCH_FENCE):
            with pytest.raises(AssertionError):
                new_transaction_record(FULL._replace(state=state), TransactionVersion.TV_2)
            continue
        metadata = FULL._replace(state=state, topic_partitions=NO_PARTITIONS)
        value = new_transaction_record(metadata, TransactionVersion.TV_2).value
        assert isinstance(value, TransactionLogValue)
        assert value.transaction_partitions == (None if state is S.EMPTY else [])


def test_a_tombstone_is_of_a_dead_transactional_id() -> None:
    with pytest.raises(AssertionError):
        new_transaction_tombstone_record(FULL)
    dead = FULL._replace(state=S.COMPLETE_ABORT).prepare_dead()
    assert new_transaction_tombstone_record(dead).value is None


@pytest.mark.parametrize("fields", [{"transaction_status": 8}, {"client_transaction_version": 3}])
def test_records_that_no_coordinator_writes(fields: dict[str, int]) -> None:
    with pytest.raises(RecordParseError):
        metadata_of(ID, TransactionLogValue(**fields))  # type: ignore[arg-type]


# -- Apache's tool ----------------------------------------------------------------------------------------------------


def full_log(version: int) -> TransactionWorld:
    """Every state that is written, a producer id that rotates, and a tombstone."""
    world = world_at(LAST - 1, version=version)
    world.markers.is_immediate = True
    producer = world.producer()
    world.add(producer, A, C, B, TopicPartition("u", 7), version=0).result()
    world.end(producer, committed=True, api_version=4).result()
    world.add(producer, B, version=0).result()
    world.advance(60_000)
    world.advance(10_000)
    producer = world.producer()
    assert producer.producer_id == 1000
    world.producer(transactional_id="gone")
    world.advance(8 * 86_400_000)
    assert world.records()[-1][1] is None
    return world


@pytest.mark.parametrize("version", [0, 1, 2])
def test_apaches_tool_reads_our_log(oracle: Oracle, tmp_path: Path, version: int) -> None:
    world = full_log(version)
    states = {one.state for _, one in world.records() if one is not None}
    assert states == set(S) - {S.DEAD, S.PREPARE_EPOCH_FENCE}
    log = tmp_path / f"{PARTITION}" / "00000000000000000000.log"
    log.parent.mkdir()
    log.write_bytes(b"".join(world.log.batches))
    dump = oracle.dump_log([log], extra=["--transaction-log-decoder"])
    assert dump.complaints == []
    assert [as_dumped(str(one.key), str(one.value)) for one in dump.records] == [
        as_written(name, one, version) for name, one in world.records()
    ]
    if version == 2:
        assert any(one is not None and one.producer_epoch == PRODUCER_EPOCH_MAX for _, one in world.records())


def as_dumped(key: str, value: str) -> tuple[Any, Any]:
    return json.loads(key), None if value == "<DELETE>" else json.loads(value)


def as_written(name: str, metadata: TransactionMetadata | None, version: int) -> tuple[Any, Any]:
    key = {"type": "0", "data": {"transactionalId": name}}
    if metadata is None:
        return key, None
    topics: dict[str, list[int]] = {}
    for topic, partition in metadata.topic_partitions:
        topics.setdefault(topic, []).append(partition)
    partitions = [{"topic": topic, "partitionIds": ids} for topic, ids in topics.items()]
    data: dict[str, Any] = {
        "producerId": metadata.producer_id,
        "producerEpoch": metadata.producer_epoch,
        "transactionTimeoutMs": metadata.txn_timeout_ms,
        "transactionStatus": int(metadata.state),
        "transactionPartitions": None if metadata.state is S.EMPTY else partitions,
        "transactionLastUpdateTimestampMs": metadata.txn_last_update_timestamp_ms,
        "transactionStartTimestampMs": metadata.txn_start_timestamp_ms,
    }
    tagged = {
        "previousProducerId": (metadata.prev_producer_id, -1),
        "nextProducerId": (metadata.next_producer_id, -1),
        "clientTransactionVersion": (int(metadata.client_transaction_version), 0),
    }
    if version >= 1:
        data |= {field: value for field, (value, default) in tagged.items() if value != default}
    return key, {"version": str(min(version, 1)), "data": data}
