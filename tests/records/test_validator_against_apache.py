"""Ottla's validator, at both depths, beside what Apache Kafka 4.3.1's own log did with the same bytes."""

from pathlib import Path
from typing import NamedTuple

import pytest

from ottla.common.errors import InvalidRecordError, InvalidTimestampError, KafkaError
from ottla.config.topic import LogConfig
from ottla.records.append_origin import AppendOrigin
from ottla.records.append_policy import AppendPolicy
from ottla.records.replicated import analyze_replicated
from ottla.records.validator import validate_and_assign_offsets
from tests.records.validator_cases import CASES, LEADER_EPOCH, NEXT_OFFSET, NOW_MS, Case

HERE = Path(__file__).parent
DOCUMENT = HERE.parents[1] / "docs" / "validation.md"
ACCEPTED = 0


class Outcome(NamedTuple):
    """What became of an append: the error's code and records, or offsets, times and bytes."""

    code: int
    record_errors: tuple[tuple[int, str], ...] = ()
    first_offset: int = -1
    last_offset: int = -1
    max_timestamp: int = -1
    append_time: int = -1
    records: bytes = b""


def apache() -> dict[str, Outcome]:
    outcomes = {}
    for line in (HERE / "data" / "validator_facts.txt").read_text().splitlines():
        name, verdict, *facts = line.split("|")
        if verdict == "OK":
            first, last, max_timestamp, append_time = map(int, facts[:4])
            held = bytes.fromhex(facts[4])
            outcomes[name] = Outcome(ACCEPTED, (), first, last, max_timestamp, append_time, held)
        else:
            errors = (error.partition(":")[::2] for error in facts[3].split(";") if error)
            known = tuple((int(index), _without_partition(message)) for index, message in errors)
            outcomes[name] = Outcome(int(facts[0]), known)
    return outcomes


def _without_partition(message: str) -> str:
    return message.replace(" in topic partition t-0", "").replace("PartialDefaultRecord", "DefaultRecord")


def ottla(case: Case, *, strict: bool) -> Outcome:
    config = LogConfig.from_props(case.config)
    origin = AppendOrigin[case.origin]
    try:
        if origin in {AppendOrigin.REPLICATION, AppendOrigin.RAFT_LEADER}:
            info = analyze_replicated(
                case.records,
                next_offset=NEXT_OFFSET,
                leader_epoch=LEADER_EPOCH,
                origin=origin,
                max_message_bytes=config.max_message_bytes if origin is AppendOrigin.RAFT_LEADER else None,
            )
        else:
            info = validate_and_assign_offsets(
                bytes(case.records),
                AppendPolicy.from_config(config, strict),
                next_offset=NEXT_OFFSET,
                leader_epoch=LEADER_EPOCH,
                now_ms=NOW_MS,
                origin=origin,
            )
    except (InvalidRecordError, InvalidTimestampError) as error:
        return Outcome(error.code, error.record_errors)
    except KafkaError as error:
        return Outcome(error.code)
    assert b"".join(batch.bytes for batch in info.batches) == info.records
    return Outcome(
        ACCEPTED, (), info.first_offset, info.last_offset, info.max_timestamp, info.append_time, bytes(info.records)
    )


DEFAULT_DIFFERS = {
    # The header is believed: the records that give it the lie are not read.
    "count is one too many": ACCEPTED,
    "count is one too few": ACCEPTED,
    "count is one too many, gzip": ACCEPTED,
    "count is one too few, gzip": ACCEPTED,
    "record longer than the batch": ACCEPTED,
    "record with spare bytes": ACCEPTED,
    "negative record size": ACCEPTED,
    "unterminated varint": ACCEPTED,
    "negative header count": ACCEPTED,
    "header count beyond the batch": ACCEPTED,
    "negative header key size": ACCEPTED,
    "gzip that is none": 2,
    "gzip cut short": ACCEPTED,
    "offset gaps, gzip": ACCEPTED,
    "too old in the middle": ACCEPTED,
    "max timestamp too low": ACCEPTED,
    "max timestamp too high": ACCEPTED,
    "max timestamp hides a late record": ACCEPTED,
    # Apache answers UNKNOWN_SERVER_ERROR, Ottla says what is wrong.
    "unknown codec": 76,
    "length that overflows": 87,
    "gzip to none, negative timestamp": ACCEPTED,
    # The records are compressed as they stand, base timestamp and all.
    "gzip to none, other base timestamp": ACCEPTED,
    # What only Ottla itself could send is held to a client's rules.
    "coordinator, no records": 87,
    "replica, magic 1": 43,
}
STRICT_DIFFERS = {
    "unterminated varint": 87,
    "gzip that is none": 2,
    "gzip cut short": 2,
    "offset gaps": ACCEPTED,
    "offset gaps, gzip": 87,
    "unknown codec": 76,
    "length that overflows": 87,
    "gzip to none, negative timestamp": ACCEPTED,
    "gzip to none, other base timestamp": ACCEPTED,
    "coordinator, no records": 87,
    "replica, magic 1": 43,
}
APACHE = apache()


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("strict", [False, True], ids=["default", "strict"])
def test_as_apache_unless_documented(name: str, strict: bool) -> None:
    outcome = ottla(CASES[name], strict=strict)
    differs = STRICT_DIFFERS if strict else DEFAULT_DIFFERS
    if name in differs:
        assert outcome.code == differs[name]
        assert outcome != APACHE[name], "not a difference"
    else:
        assert outcome == APACHE[name]


def test_every_case_was_shown_to_apache() -> None:
    assert list(APACHE) == list(CASES)


def test_every_difference_is_documented() -> None:
    document = DOCUMENT.read_text()
    missing = [name for name in DEFAULT_DIFFERS | STRICT_DIFFERS if f"`{name}`" not in document]
    assert not missing


@pytest.mark.parametrize("name", ["max timestamp too low", "offset gaps, gzip", "too old in the middle"])
def test_what_the_default_depth_believes_is_stored_as_sent(name: str) -> None:
    sent, stored = CASES[name].records, ottla(CASES[name], strict=False).records
    assert stored[16:] == sent[16:]
