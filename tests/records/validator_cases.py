"""Appends to try on Ottla's validator and on Apache's log; ``data/validator_facts.txt`` holds what Apache did.

``python -m tests.records.validator_cases`` prints them as ``tests/java/ValidatorFacts.java`` reads them. Its log ends
at offset 3, its epoch is 7 and its clock stands at 1,000,000.
"""

import gzip
from typing import NamedTuple

from tests.records.raw_batches import RawRecord, encode_record, encode_records, raw_batch, varint

NOW_MS = 1_000_000
NEXT_OFFSET = 3
LEADER_EPOCH = 7

GZIP = 0x01
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40

COMPACTED = {"cleanup.policy": "compact"}
APPEND_TIME = {"message.timestamp.type": "LogAppendTime"}
BEFORE = {"message.timestamp.before.max.ms": "1000"}
AFTER = {"message.timestamp.after.max.ms": "1000"}
GZIPPED = {"compression.type": "gzip"}
UNCOMPRESSED = {"compression.type": "uncompressed"}

INT64_MAX = (1 << 63) - 1
THREE = tuple(RawRecord(index * 10, index, b"key%d" % index, b"value%d" % index) for index in range(3))
GAPS = tuple(RawRecord(0, index * 2) for index in range(3))
NO_KEYS = (RawRecord(), RawRecord(0, 1, None), RawRecord(0, 2), RawRecord(0, 3, None))
HEADERS = (RawRecord(headers=((b"a", b"1"), (b"", None), (b"\xff", b""))),)
MARKER = (RawRecord(key=b"\0\0\0\1", value=b"\0\0\0\0\0\0"),)


class Case(NamedTuple):
    """One append to a topic with this configuration."""

    records: bytes | bytearray
    config: dict[str, str] = {}  # noqa: RUF012 - never changed
    origin: str = "CLIENT"


def _with_body(body: bytes) -> bytes:
    return varint(len(body)) + body


CASES = {
    # what is accepted
    "plain": Case(raw_batch(THREE)),
    "plain gzip": Case(raw_batch(THREE, attributes=GZIP)),
    "record headers": Case(raw_batch(HEADERS)),
    "null key and value": Case(raw_batch((RawRecord(key=None, value=None),))),
    "negative sizes mean null": Case(raw_batch(_with_body(b"\0\0\0" + varint(-7) + varint(-9) + b"\0"))),
    "record attributes are ignored": Case(raw_batch(encode_record(RawRecord(), attributes=0xFF))),
    "idempotent": Case(raw_batch(THREE, producer_id=5, producer_epoch=0, base_sequence=0)),
    "transactional": Case(raw_batch(THREE, producer_id=5, producer_epoch=0, base_sequence=0, attributes=TRANSACTIONAL)),
    "leader epoch of a client is overwritten": Case(raw_batch(THREE, leader_epoch=99)),
    "no timestamp": Case(raw_batch(base_timestamp=-1)),
    "no timestamp, bounds": Case(raw_batch(base_timestamp=-1), BEFORE),
    "incomplete second batch": Case(raw_batch(THREE) + raw_batch(THREE)[:-1]),
    "trailing bytes": Case(raw_batch(THREE) + b"\0" * 11),
    "unknown attributes": Case(raw_batch(THREE, attributes=0x700)),
    "delete horizon from a client": Case(raw_batch(THREE, attributes=DELETE_HORIZON)),
    # framing
    "empty": Case(b""),
    "incomplete only": Case(raw_batch(THREE)[:-1]),
    "two batches": Case(raw_batch(THREE) * 2),
    "garbage after the batch": Case(raw_batch(THREE) + b"\0" * 12),
    "length of 13": Case(raw_batch(THREE, length=13)),
    "negative length": Case(raw_batch(THREE, length=-1)),
    "batch shorter than a header": Case(raw_batch(length=40)[:52]),
    "length too short by one": Case(raw_batch(THREE, length=len(raw_batch(THREE)) - 13)),
    "magic 0": Case(raw_batch(THREE, magic=0)),
    "magic 1": Case(raw_batch(THREE, magic=1)),
    "magic 3": Case(raw_batch(THREE, magic=3)),
    "magic -1": Case(raw_batch(THREE, magic=-1)),
    "magic 1 before garbage": Case(raw_batch(THREE, magic=1) + b"\0" * 12),
    "length that overflows": Case(raw_batch(THREE, length=0x7FFFFFFF)),
    # header
    "crc": Case(raw_batch(THREE, crc=1)),
    "base offset": Case(raw_batch(THREE, base_offset=1)),
    "base offset before crc": Case(raw_batch(THREE, base_offset=1, crc=1)),
    "too large": Case(raw_batch((RawRecord(value=b"x" * 100),)), {"max.message.bytes": "100"}),
    "too large before crc": Case(raw_batch((RawRecord(value=b"x" * 100),), crc=1), {"max.message.bytes": "100"}),
    "just fits": Case(raw_batch(THREE), {"max.message.bytes": str(len(raw_batch(THREE)))}),
    "unknown codec": Case(raw_batch(THREE, attributes=5)),
    "no records": Case(raw_batch((), base_timestamp=NOW_MS, max_timestamp=NOW_MS)),
    "count of zero": Case(raw_batch(THREE, count=0)),
    "negative count": Case(raw_batch(THREE, count=-1)),
    "count and offsets differ": Case(raw_batch(THREE, last_offset_delta=5)),
    "negative last offset delta": Case(raw_batch(THREE, last_offset_delta=-1)),
    "control batch from a client": Case(raw_batch(MARKER, attributes=CONTROL)),
    "producer without sequence": Case(raw_batch(THREE, producer_id=5, producer_epoch=0)),
    # records
    "count is one too many": Case(raw_batch(THREE, count=4, last_offset_delta=3)),
    "count is one too few": Case(raw_batch(THREE, count=2, last_offset_delta=1)),
    "count is one too many, gzip": Case(raw_batch(THREE, count=4, last_offset_delta=3, attributes=GZIP)),
    "count is one too few, gzip": Case(raw_batch(THREE, count=2, last_offset_delta=1, attributes=GZIP)),
    "record longer than the batch": Case(raw_batch(varint(100) + b"\0\0\0\1\1\0")),
    "record with spare bytes": Case(raw_batch(encode_record(RawRecord(), extra=b"xx"))),
    "negative record size": Case(raw_batch(varint(-5) + b"\0\0\0\1\1\0")),
    "unterminated varint": Case(raw_batch(b"\xff" * 10)),
    "negative header count": Case(raw_batch(_with_body(b"\0\0\0\1\1" + varint(-1)))),
    "header count beyond the batch": Case(raw_batch(_with_body(b"\0\0\0\1\1" + varint(100)))),
    "negative header key size": Case(raw_batch(_with_body(b"\0\0\0\1\1" + varint(1) + varint(-1) + b"\1"))),
    "gzip that is none": Case(raw_batch(b"not gzip at all", attributes=GZIP)),
    "gzip cut short": Case(
        raw_batch(gzip.compress(encode_records(THREE), mtime=0)[:-12], attributes=GZIP, count=3, last_offset_delta=2)
    ),
    "offset gaps": Case(raw_batch(GAPS)),
    "offset gaps, gzip": Case(raw_batch(GAPS, attributes=GZIP)),
    # keys
    "compacted": Case(raw_batch(THREE), COMPACTED),
    "compacted, no keys": Case(raw_batch(NO_KEYS), COMPACTED),
    "compacted, no keys, gzip": Case(raw_batch(NO_KEYS, attributes=GZIP), COMPACTED),
    "compacted, empty key": Case(raw_batch((RawRecord(key=b""),)), COMPACTED),
    # timestamps
    "too old": Case(raw_batch((RawRecord(), RawRecord(1, 1)), base_timestamp=NOW_MS - 1001), BEFORE),
    "too old in the middle": Case(raw_batch((RawRecord(), RawRecord(-1001, 1), RawRecord(0, 2))), BEFORE),
    "too new": Case(raw_batch((RawRecord(), RawRecord(1001, 1))), AFTER),
    "too new by default": Case(raw_batch(base_timestamp=NOW_MS + 3_600_001)),
    "new enough": Case(raw_batch((RawRecord(), RawRecord(1000, 1))), AFTER),
    "old enough": Case(raw_batch(base_timestamp=NOW_MS - 1000), BEFORE),
    "too old, no key": Case(raw_batch((RawRecord(key=None), RawRecord(0, 1)), base_timestamp=0), COMPACTED | BEFORE),
    "negative timestamp": Case(raw_batch(base_timestamp=-5)),
    "timestamp overflow": Case(raw_batch((RawRecord(5),), base_timestamp=INT64_MAX, max_timestamp=INT64_MAX)),
    "max timestamp too low": Case(raw_batch(THREE, max_timestamp=NOW_MS + 5)),
    "max timestamp below base": Case(raw_batch(THREE, max_timestamp=5)),
    "max timestamp too high": Case(raw_batch(THREE, max_timestamp=NOW_MS + 500)),
    "max timestamp out of range, records are not": Case(raw_batch(THREE, max_timestamp=NOW_MS + 5000), AFTER),
    "max timestamp hides a late record": Case(
        raw_batch((RawRecord(), RawRecord(5000, 1)), max_timestamp=NOW_MS), AFTER
    ),
    "append time from a client": Case(raw_batch(THREE, attributes=LOG_APPEND_TIME)),
    "append time from a client, too new": Case(
        raw_batch(THREE, attributes=LOG_APPEND_TIME, max_timestamp=NOW_MS + 5000), AFTER
    ),
    "append time from a client, none": Case(raw_batch(THREE, attributes=LOG_APPEND_TIME, max_timestamp=-1)),
    "append time": Case(raw_batch(THREE, base_timestamp=5), APPEND_TIME),
    "append time, gzip": Case(raw_batch(THREE, base_timestamp=5, attributes=GZIP), APPEND_TIME),
    "append time, now already": Case(raw_batch((RawRecord(),), base_timestamp=NOW_MS), APPEND_TIME),
    "append time on append time": Case(raw_batch(THREE, attributes=LOG_APPEND_TIME), APPEND_TIME),
    "append time on append time, gzip": Case(raw_batch(THREE, attributes=LOG_APPEND_TIME | GZIP), APPEND_TIME),
    # compression
    "gzip to none": Case(raw_batch(THREE, attributes=GZIP), UNCOMPRESSED),
    "gzip to none, append time": Case(raw_batch(THREE, attributes=GZIP), UNCOMPRESSED | APPEND_TIME),
    "gzip to none, producer": Case(
        raw_batch(THREE, attributes=GZIP | TRANSACTIONAL, producer_id=5, producer_epoch=0, base_sequence=0),
        UNCOMPRESSED,
    ),
    "gzip to none, too large": Case(
        raw_batch((RawRecord(value=b"x" * 2000),), attributes=GZIP), UNCOMPRESSED | {"max.message.bytes": "1000"}
    ),
    "gzip to none, client's append time": Case(
        raw_batch(THREE, attributes=GZIP | LOG_APPEND_TIME, max_timestamp=NOW_MS + 7), UNCOMPRESSED
    ),
    "gzip to none, wrong max timestamp": Case(raw_batch(THREE, attributes=GZIP, max_timestamp=5), UNCOMPRESSED),
    "gzip to none, offset gaps": Case(raw_batch(GAPS, attributes=GZIP), UNCOMPRESSED),
    "gzip to none, negative timestamp": Case(raw_batch(base_timestamp=-5, attributes=GZIP), UNCOMPRESSED),
    "gzip to none, other base timestamp": Case(raw_batch((RawRecord(-5),), attributes=GZIP), UNCOMPRESSED),
    "none to gzip, no record": Case(raw_batch(THREE, count=2, last_offset_delta=1), GZIPPED),
    "none to none": Case(raw_batch(THREE), UNCOMPRESSED),
    # other origins
    "coordinator": Case(raw_batch(THREE), COMPACTED, "COORDINATOR"),
    "coordinator, two batches": Case(raw_batch(THREE) * 2, {}, "COORDINATOR"),
    "coordinator, base offset": Case(raw_batch(THREE, base_offset=9), {}, "COORDINATOR"),
    "coordinator, no records": Case(raw_batch((), base_timestamp=NOW_MS, max_timestamp=NOW_MS), {}, "COORDINATOR"),
    "marker": Case(
        raw_batch(MARKER, attributes=CONTROL | TRANSACTIONAL, producer_id=5, producer_epoch=0), {}, "COORDINATOR"
    ),
    "marker is not compressed": Case(
        raw_batch(MARKER, attributes=CONTROL | TRANSACTIONAL, producer_id=5, producer_epoch=0), GZIPPED, "COORDINATOR"
    ),
    "raft": Case(raw_batch(THREE, base_offset=3, leader_epoch=7), {}, "RAFT_LEADER"),
    "raft, two batches": Case(
        raw_batch(THREE, base_offset=3, leader_epoch=7) + raw_batch(base_offset=6, leader_epoch=7), {}, "RAFT_LEADER"
    ),
    "raft, epoch": Case(raw_batch(THREE, base_offset=3, leader_epoch=6), {}, "RAFT_LEADER"),
    "raft, too large": Case(
        raw_batch(THREE, base_offset=3, leader_epoch=7), {"max.message.bytes": "60"}, "RAFT_LEADER"
    ),
    "replica": Case(raw_batch(THREE, base_offset=3, leader_epoch=2), {}, "REPLICATION"),
    "replica, gap": Case(raw_batch(GAPS, base_offset=10, last_offset_delta=8, leader_epoch=7), {}, "REPLICATION"),
    "replica, any size": Case(
        raw_batch(THREE, base_offset=3, leader_epoch=7), {"max.message.bytes": "60"}, "REPLICATION"
    ),
    "replica, old offset": Case(raw_batch(THREE, base_offset=2, leader_epoch=7), {}, "REPLICATION"),
    "replica, offsets out of order": Case(
        raw_batch(THREE, base_offset=9, leader_epoch=7) + raw_batch(THREE, base_offset=6, leader_epoch=7),
        {},
        "REPLICATION",
    ),
    "replica, crc": Case(raw_batch(THREE, base_offset=3, crc=1), {}, "REPLICATION"),
    "replica, later epoch": Case(raw_batch(THREE, base_offset=3, leader_epoch=8), {}, "REPLICATION"),
    "replica, later epoch second": Case(
        raw_batch(THREE, base_offset=3, leader_epoch=7)
        + raw_batch(THREE, base_offset=6, leader_epoch=8)
        + raw_batch(THREE, base_offset=9, leader_epoch=7),
        {},
        "REPLICATION",
    ),
    "replica, incomplete second batch": Case(
        raw_batch(THREE, base_offset=3, leader_epoch=7) + raw_batch(THREE, base_offset=6)[:-1], {}, "REPLICATION"
    ),
    "replica, nothing complete": Case(raw_batch(THREE, base_offset=3)[:-1], {}, "REPLICATION"),
    "replica, emptied by the cleaner": Case(
        raw_batch((), base_offset=3, leader_epoch=7, last_offset_delta=4, base_timestamp=-1, max_timestamp=50),
        {},
        "REPLICATION",
    ),
    "replica, magic 1": Case(raw_batch(THREE, base_offset=3, leader_epoch=7, magic=1), {}, "REPLICATION"),
    "replica, overlap": Case(
        raw_batch(THREE, base_offset=3, leader_epoch=7) + raw_batch(THREE, base_offset=4, leader_epoch=7),
        {},
        "REPLICATION",
    ),
    "replica, control batch": Case(
        raw_batch(
            MARKER, base_offset=3, leader_epoch=7, attributes=CONTROL | TRANSACTIONAL, producer_id=5, producer_epoch=0
        ),
        {},
        "REPLICATION",
    ),
}

if __name__ == "__main__":
    for name, case in CASES.items():
        config = ",".join(f"{key}={value}" for key, value in case.config.items())
        print(f"{name}|{config}|{case.origin}|{bytes(case.records).hex()}")
