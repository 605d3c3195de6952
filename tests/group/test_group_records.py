"""The records of ``__consumer_offsets`` beside Apache's schemas and classes, and the versions that they are made in."""

from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.coordinator.record import CoordinatorRecord
from ottla.coordinator.record_serde import RecordSerde, UnknownRecordTypeError
from ottla.group import record_helpers as helpers
from ottla.group.offset_commit_record import OffsetCommitRecord
from ottla.group.offsets.offset_and_metadata import OffsetAndMetadata
from ottla.group.record_encoding import encode_group_record
from ottla.group.records import (
    RECORD_TYPES,
    ClassicMemberMetadata,
    ConsumerGroupMemberMetadataValue,
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from tests.apache.schemas import Comparison, read_schemas
from tests.group.offsets_world import OffsetsWorld
from tests.oracle import Oracle
from tests.random_messages import random_message

FACTS = Path(__file__).parents[1] / "java" / "GroupRecordFacts.java"
SERDE = RecordSerde(RECORD_TYPES)
TOPIC_ID = Uuid(bytes(range(16)))


def test_every_record_is_declared_as_in_apaches_schemas(oracle: Oracle) -> None:
    schemas = {schema["name"]: schema for schema in read_schemas(oracle, "kafka-group-coordinator", "common/message")}
    for key, value in RECORD_TYPES.values():
        Comparison(schemas[key.__name__]).check(key)
        Comparison(schemas[value.__name__]).check(value)
    left_out = {
        schema["apiKey"]
        for name, schema in schemas.items()
        if schema["type"] == "coordinator-key" and not name.startswith(("Share", "Streams"))
    } - set(RECORD_TYPES)
    assert not left_out


def test_apache_reads_our_records_and_writes_the_same_bytes(oracle: Oracle, tmp_path: Path) -> None:
    rng = Random(5)
    records = []
    for key, value in RECORD_TYPES.values():
        records.append(CoordinatorRecord.tombstone(random_message(key, 0, rng)))
        for version in range(value.schema.versions.lowest, value.schema.versions.highest + 1):
            records += [
                CoordinatorRecord(random_message(key, 0, rng), random_message(value, version, rng), version)
                for _ in range(12)
            ]
    records += _one_of_each()
    lines = []
    for record in records:
        written_key, written_value = SERDE.encode(record)
        assert SERDE.decode(written_key, written_value) == record
        assert encode_group_record(record) == (written_key, written_value)
        lines.append(f"{written_key.hex()}|{'-' if written_value is None else written_value.hex()}")
    file = tmp_path / "records"
    file.write_text("\n".join(lines) + "\n")
    done = oracle.run_source(FACTS, file)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == lines


def test_a_member_that_speaks_the_consumer_protocol_says_so() -> None:
    """Apache takes a record that leaves the tag out for that of a classic member, with everything at its default."""
    record = helpers.new_consumer_group_member_subscription_record("g", _Member())
    _, value = SERDE.encode(record)
    assert value is not None
    assert value.endswith(bytes((1, 0, 1, 0)))
    key, _ = SERDE.encode(record)
    read = SERDE.decode(key, value[:-4] + bytes(1)).value
    assert isinstance(read, ConsumerGroupMemberMetadataValue)
    assert read.classic_member_metadata == ClassicMemberMetadata()


def test_offsets_are_written_in_the_version_that_holds_them() -> None:
    plain = OffsetCommitRecord(
        "g", "t", 1, offset=7, leader_epoch=3, metadata="m", commit_timestamp_ms=5, topic_id=TOPIC_ID
    )
    assert plain == CoordinatorRecord(
        OffsetCommitKey(group="g", topic="t", partition=1),
        OffsetCommitValue(offset=7, leader_epoch=3, metadata="m", commit_timestamp=5, topic_id=TOPIC_ID),
        4,
    )
    expiring = OffsetCommitRecord(
        "g",
        "t",
        1,
        offset=7,
        leader_epoch=3,
        metadata="m",
        commit_timestamp_ms=5,
        expire_timestamp_ms=900,
        topic_id=TOPIC_ID,
    )
    assert expiring.version == 1
    assert SERDE.decode(*SERDE.encode(expiring)).value == OffsetCommitValue(
        offset=7, metadata="m", commit_timestamp=5, expire_timestamp=900
    )


TEXT = st.text(max_size=200) | st.integers(125, 129).map(lambda length: "x" * length)
INT32, INT64 = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
OFFSETS = st.builds(
    OffsetCommitRecord,
    TEXT,
    TEXT,
    INT32,
    INT64,
    INT32,
    TEXT,
    INT64,
    st.just(-1) | INT64,
    st.just(ZERO_UUID) | st.binary(min_size=16, max_size=16).map(Uuid),
)


@given(record=OFFSETS)
def test_an_offset_is_encoded_as_its_messages_are(record: OffsetCommitRecord) -> None:
    messages = CoordinatorRecord(record.key, record.value, record.version)
    assert record == messages
    assert (
        encode_group_record(record) == SERDE.encode(record) == SERDE.encode(messages) == encode_group_record(messages)
    )


@given(record=OFFSETS, producer_id=st.sampled_from([-1, 5]))
def test_an_offset_is_replayed_as_its_messages_are(record: OffsetCommitRecord, producer_id: int) -> None:
    one, other = OffsetsWorld(), OffsetsWorld()
    one.manager.replay_committed_offset(9, producer_id, record)
    other.manager.replay_offset_commit(9, producer_id, record.key, record.value)
    for world in (one, other):
        assert list(world.groups.groups) == [record.group_id]
        world.manager.replay_end_transaction_marker(producer_id, committed=True)
    (kept,) = one.manager.offsets
    assert [kept] == list(other.manager.offsets)
    assert OffsetAndMetadata.unpack(kept[3]) == OffsetAndMetadata(
        committed_offset=record.offset,
        leader_epoch=record.leader_epoch,
        metadata=record.metadata,
        commit_timestamp_ms=record.commit_timestamp_ms,
        expire_timestamp_ms=record.expire_timestamp_ms,
        topic_id=record.topic_id,
        record_offset=9,
    )


def test_the_versions_are_apaches() -> None:
    assert {type(record.key).__name__: record.version for record in _one_of_each() if record.value is not None} == {
        "OffsetCommitKey": 4,
        "GroupMetadataKey": 3,
        "ConsumerGroupMetadataKey": 0,
        "ConsumerGroupMemberMetadataKey": 0,
        "ConsumerGroupTargetAssignmentMetadataKey": 0,
        "ConsumerGroupTargetAssignmentMemberKey": 0,
        "ConsumerGroupCurrentMemberAssignmentKey": 0,
        "ConsumerGroupRegularExpressionKey": 0,
    }


def test_a_legacy_offset_is_read() -> None:
    record = CoordinatorRecord(
        LegacyOffsetCommitKey(group="g", topic="t", partition=2),
        LegacyOffsetCommitValue(offset=9, metadata="m", commit_timestamp=4),
    )
    key, value = SERDE.encode(record)
    assert key.hex() == "0000" + "000167" + "000174" + "00000002"
    assert SERDE.decode(key, value) == record


def test_records_of_share_and_streams_groups_are_unknown() -> None:
    for record_type in (*range(9, 16), *range(17, 24)):
        with pytest.raises(UnknownRecordTypeError):
            SERDE.decode(record_type.to_bytes(2, "big") + b"\0\1g", None)


@dataclass(frozen=True)
class _Member:
    member_id: str = "m"
    instance_id: str | None = None
    rack_id: str | None = "r"
    client_id: str = "c"
    client_host: str = "/h"
    subscribed_topic_names: frozenset[str] = frozenset({"b", "a"})
    subscribed_topic_regex: str | None = None
    rebalance_timeout_ms: int = 300
    server_assignor_name: str | None = None
    classic_member_metadata: ClassicMemberMetadata | None = None
    member_epoch: int = 3
    previous_member_epoch: int = 2
    state: int = 1
    assigned_partitions: dict[Uuid, dict[int, int]] = field(default_factory=lambda: {TOPIC_ID: {1: 3, 0: 2}})
    partitions_pending_revocation: dict[Uuid, dict[int, int]] = field(default_factory=dict)


def _one_of_each() -> list[CoordinatorRecord]:
    return [
        OffsetCommitRecord("g", "t", 1, offset=7, topic_id=TOPIC_ID),
        helpers.new_offset_commit_tombstone_record("g", "t", 1),
        helpers.new_empty_group_metadata_record("g", 12),
        helpers.new_group_metadata_tombstone_record("g"),
        helpers.new_consumer_group_member_subscription_record("g", _Member()),
        helpers.new_consumer_group_member_subscription_record(
            "g", _Member(classic_member_metadata=ClassicMemberMetadata(session_timeout_ms=10))
        ),
        helpers.new_consumer_group_member_subscription_tombstone_record("g", "m"),
        helpers.new_consumer_group_subscription_metadata_tombstone_record("g"),
        helpers.new_consumer_group_epoch_record("g", 4, 99),
        helpers.new_consumer_group_epoch_tombstone_record("g"),
        helpers.new_consumer_group_target_assignment_record("g", "m", {TOPIC_ID: {2, 0}}),
        helpers.new_consumer_group_target_assignment_tombstone_record("g", "m"),
        helpers.new_consumer_group_target_assignment_metadata_record("g", 4, 1_000),
        helpers.new_consumer_group_target_assignment_metadata_tombstone_record("g"),
        helpers.new_consumer_group_current_assignment_record("g", _Member()),
        helpers.new_consumer_group_current_assignment_tombstone_record("g", "m"),
        helpers.new_consumer_group_regular_expression_record("g", "a.*", topics={"ab", "a"}, version=3, timestamp_ms=5),
        helpers.new_consumer_group_regular_expression_tombstone_record("g", "a.*"),
    ]
