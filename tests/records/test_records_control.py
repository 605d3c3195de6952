"""Control records against the bytes that Apache Kafka 4.3.1 writes (tests/java/RecordFacts.java, control|<name>)."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.common.errors import InvalidRecordError
from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.records.batch import RecordBatch
from ottla.records.control import (
    ControlRecordType,
    Endpoint,
    EndTransactionMarker,
    KRaftControlMessage,
    KRaftVersionRecord,
    LeaderChangeMessage,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    Voter,
    VotersRecord,
    control_batch,
    control_type,
    decode_control_record,
    end_transaction_batch,
)
from ottla.records.record import Record, decode_records

NOW = 1_700_000_000_000

CHANGE = LeaderChangeMessage(leader_id=3, voters=(1, 3), granting_voters=(3,))
HEADER = SnapshotHeaderRecord(last_contained_log_timestamp=1_234_567_890_123)
FOOTER = SnapshotFooterRecord()
VERSION = KRaftVersionRecord(kraft_version=1)
VOTERS = VotersRecord(
    voters=(
        Voter(
            voter_id=1,
            voter_directory_id=Uuid.from_halves(1, -2),
            endpoints=(
                Endpoint(name="CONTROLLER", host="höst.example", port=65535),
                Endpoint(name="OTHER", host="::1", port=9093),
            ),
            max_supported_version=1,
        ),
        Voter(voter_id=2, voter_directory_id=ZERO_UUID),
    )
)

APACHE = {
    "commit": (
        "00000000000000070000004200000005021dd250ea0030000000000000018bcfe568000000018bcfe568000000000000000fa000"
        "03ffffffff000000012000000008000000010c00000000000b00"
    ),
    "abort": (
        "000000000000000000000042ffffffff0293814fe70030000000000000018bcfe568000000018bcfe568000000000000000fa000"
        "03ffffffff000000012000000008000000000c00000000000c00"
    ),
    "leader_change": (
        "000000000000006400000054000000050268e5aeae0020000000000000018bcfe568000000018bcfe56800ffffffffffffffffff"
        "ffffffffff000000014400000008000000023000000000000303000000010000000003000200000003000000"
    ),
    "snapshot_header": (
        "0000000000000000000000470000000502ee0c4cb60020000000000000018bcfe568000000018bcfe56800ffffffffffffffffff"
        "ffffffffff000000012a00000008000000031600000000011f71fb04cb0000"
    ),
    "snapshot_footer": (
        "00000000000000090000003f00000005028f6608e60020000000000000018bcfe568000000018bcfe56800ffffffffffffffffff"
        "ffffffffff000000011a00000008000000040600000000"
    ),
    "kraft_version": (
        "0000000000000000000000410000000502a89c55860020000000000000018bcfe568000000018bcfe56800ffffffffffffffffff"
        "ffffffffff000000011e00000008000000050a000000010000"
    ),
    "kraft_voters": (
        "0000000000000000000000a10000000502ecdf89690020000000000000018bcfe568000000018bcfe56800ffffffffffffffffff"
        "ffffffffff00000001dc010000000800000006c601000003000000010000000000000001fffffffffffffffe030b434f4e54524f"
        "4c4c45520e68c3b673742e6578616d706c65ffff00064f54484552043a3a31238500000000010000000000020000000000000000"
        "0000000000000000010000000000000000"
    ),
    "bootstrap": (
        "0000000000000000000000c7000000000250dfafca0020000000020000018bcfe568000000018bcfe56800ffffffffffffffffff"
        "ffffffffff000000032a00000008000000031600000000011f71fb04cb00001e00000208000000050a000000010000dc01000004"
        "0800000006c601000003000000010000000000000001fffffffffffffffe030b434f4e54524f4c4c45520e68c3b673742e657861"
        "6d706c65ffff00064f54484552043a3a312385000000000100000000000200000000000000000000000000000000010000000000"
        "000000"
    ),
}

BATCHES: dict[str, tuple[int, int, tuple[KRaftControlMessage, ...]]] = {
    "leader_change": (100, 5, (CHANGE,)),
    "snapshot_header": (0, 5, (HEADER,)),
    "snapshot_footer": (9, 5, (FOOTER,)),
    "kraft_version": (0, 5, (VERSION,)),
    "kraft_voters": (0, 5, (VOTERS,)),
    "bootstrap": (0, 0, (HEADER, VERSION, VOTERS)),
}


@pytest.mark.parametrize("name", BATCHES)
def test_kraft_batches_as_apache_writes_them(name: str) -> None:
    base_offset, leader_epoch, messages = BATCHES[name]
    batch = control_batch(messages, base_offset=base_offset, timestamp=NOW, leader_epoch=leader_epoch)
    assert batch.hex() == APACHE[name]
    assert [decode_control_record(record) for record in decode_records(RecordBatch(batch))] == list(messages)


def test_markers_as_apache_writes_them() -> None:
    commit = EndTransactionMarker(ControlRecordType.COMMIT, 11)
    batch = end_transaction_batch(
        commit, timestamp=NOW, producer_id=4000, producer_epoch=3, base_offset=7, leader_epoch=5
    )
    assert batch.hex() == APACHE["commit"]
    abort = EndTransactionMarker(ControlRecordType.ABORT, 12)
    assert end_transaction_batch(abort, timestamp=NOW, producer_id=4000, producer_epoch=3).hex() == APACHE["abort"]

    view = RecordBatch(batch)
    assert view.is_control and view.is_transactional and view.base_sequence == -1
    (record,) = decode_records(view)
    assert control_type(record) is ControlRecordType.COMMIT
    assert EndTransactionMarker.decode(record) == decode_control_record(record) == commit


def test_types_have_apaches_numbers() -> None:
    assert [int(member) for member in ControlRecordType] == [-1, 0, 1, 2, 3, 4, 5, 6]
    assert ControlRecordType.KRAFT_VOTERS.record_key.hex() == "00000006"


@pytest.mark.parametrize(
    ("key", "expected"), [("0000 0001", 1), ("0001 0001 ff", 1), ("0000 0007", -1), ("0000 fffe", -1)]
)
def test_keys_of_later_versions_and_types(key: str, expected: int) -> None:
    record = Record(0, 0, bytes.fromhex(key), bytes(6))
    assert control_type(record) == expected
    assert (decode_control_record(record) is None) == (expected == -1)


@pytest.mark.parametrize("key", [None, b"", b"\0\0\0", b"\xff\xff\0\0"])
def test_keys_that_are_none(key: bytes | None) -> None:
    with pytest.raises(InvalidRecordError):
        control_type(Record(0, 0, key, b""))


@pytest.mark.parametrize("value", [None, b"", b"\0\0\0\0\0", b"\xff\xff\0\0\0\0"])
def test_marker_values_that_are_none(value: bytes | None) -> None:
    with pytest.raises(InvalidRecordError):
        EndTransactionMarker.decode(Record(0, 0, ControlRecordType.ABORT.record_key, value))


def test_a_marker_ends_a_transaction_and_nothing_else_does() -> None:
    later = Record(0, 0, ControlRecordType.ABORT.record_key, bytes.fromhex("0001 00000009 aabb"))
    assert EndTransactionMarker.decode(later) == EndTransactionMarker(ControlRecordType.ABORT, 9)
    with pytest.raises(InvalidRecordError, match="Invalid control record type"):
        EndTransactionMarker.decode(Record(0, 0, ControlRecordType.LEADER_CHANGE.record_key, bytes(6)))


int16s, int32s = st.integers(-(1 << 15), (1 << 15) - 1), st.integers(-(1 << 31), (1 << 31) - 1)
voter_ids = st.lists(int32s, max_size=200).map(tuple)
endpoints = st.builds(Endpoint, name=st.text(max_size=200), host=st.text(), port=st.integers(0, 65535))
voters = st.builds(
    Voter,
    voter_id=int32s,
    voter_directory_id=st.binary(min_size=16, max_size=16).map(Uuid),
    endpoints=st.lists(endpoints, max_size=3).map(tuple),
    min_supported_version=int16s,
    max_supported_version=int16s,
)
messages_of_all_kinds = st.one_of(
    st.builds(LeaderChangeMessage, version=int16s, leader_id=int32s, voters=voter_ids, granting_voters=voter_ids),
    st.builds(SnapshotHeaderRecord, last_contained_log_timestamp=st.integers(-(1 << 63), (1 << 63) - 1)),
    st.builds(SnapshotFooterRecord, version=int16s),
    st.builds(KRaftVersionRecord, kraft_version=int16s),
    st.builds(VotersRecord, voters=st.lists(voters, max_size=4).map(tuple)),
)


@given(messages_of_all_kinds)
def test_messages_round_trip_and_no_prefix_is_one(message: KRaftControlMessage) -> None:
    value = message.encode()
    assert type(message).decode(value) == message
    for size in range(0, len(value), max(1, len(value) // 40)):
        with pytest.raises(InvalidRecordError):
            type(message).decode(value[:size])


@given(st.sampled_from([CHANGE, HEADER, FOOTER, VERSION, VOTERS]), st.binary(max_size=60))
def test_random_values_are_invalid_or_messages(message: KRaftControlMessage, value: bytes) -> None:
    with suppress(InvalidRecordError):
        type(message).decode(value)


def test_unknown_tags_are_skipped() -> None:
    assert KRaftVersionRecord.decode(bytes.fromhex("0000 0001 02 0002abcd 8101 00")) == VERSION
    with pytest.raises(InvalidRecordError):
        KRaftVersionRecord.decode(bytes.fromhex("0000 0001 01 0005abcd"))


def test_arrays_and_strings_may_not_be_null() -> None:
    with pytest.raises(InvalidRecordError, match="array of -1"):
        VotersRecord.decode(bytes.fromhex("0000 00 00"))
    with pytest.raises(InvalidRecordError, match="null"):
        VotersRecord.decode(
            bytes.fromhex("0000 02 00000001") + bytes(16) + bytes.fromhex("02 00 00 0000 00 0000 0000 00 00 00")
        )
