"""The same random histories here and in Apache's group coordinator: every answer and every record must be the same."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from ottla.common.error_code import ErrorCode
from ottla.coordinator.record_serde import RecordSerde
from ottla.group.records import RECORD_TYPES, GroupMetadataValue
from ottla.protocol.codec import decode
from ottla.protocol.message import Message
from ottla.protocol.messages.heartbeat import HeartbeatResponse
from ottla.protocol.messages.join_group import JoinGroupResponse
from ottla.protocol.messages.leave_group import LeaveGroupResponse
from ottla.protocol.messages.sync_group import SyncGroupResponse
from tests.group.classic_script import (
    HEARTBEAT_VERSION,
    JOIN_VERSION,
    LEAVE_VERSION,
    SYNC_VERSION,
    History,
    Outcome,
    ScriptedWorld,
    watch_choices,
)
from tests.oracle import Oracle

PROGRAM = Path(__file__).parents[1] / "java" / "ClassicGroupFacts.java"
HISTORIES = 600
STEPS = 150
SERDE = RecordSerde(RECORD_TYPES)
RESPONSES: dict[str, tuple[type[Message], int]] = {
    "join": (JoinGroupResponse, JOIN_VERSION),
    "sync": (SyncGroupResponse, SYNC_VERSION),
    "heartbeat": (HeartbeatResponse, HEARTBEAT_VERSION),
    "leave": (LeaveGroupResponse, LEAVE_VERSION),
}
WANTED = {
    *(f"join {code}" for code in (0, 15, 16, 23, 25, 79, 81, 82)),
    *(f"sync {code}" for code in (0, 15, 16, 22, 25, 27, 82)),
    *(f"heartbeat {code}" for code in (0, 22, 25, 27, 82)),
    "leave 0",
}
"""Requests and the codes of their answers that some history must have."""
OURS_ALONE = {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.REBALANCE_IN_PROGRESS}
"""What we tell those whom Apache leaves without an answer: they left while they waited, or asked again."""


def _normal_answer(response: Message | int) -> object:
    """An answer without the order of members, and a refusal without what clients do not look at."""
    if isinstance(response, int):
        return response
    if isinstance(response, JoinGroupResponse):
        if response.error_code:
            return response.error_code, response.member_id
        members = sorted((each.member_id, each.group_instance_id, bytes(each.metadata)) for each in response.members)
        return (
            response.error_code,
            response.generation_id,
            response.protocol_type,
            response.protocol_name,
            response.leader,
            response.skip_assignment,
            response.member_id,
            members,
        )
    if isinstance(response, SyncGroupResponse):
        return response.error_code, response.protocol_type, response.protocol_name, bytes(response.assignment)
    if isinstance(response, LeaveGroupResponse):
        left = [(each.member_id, each.group_instance_id, each.error_code) for each in response.members]
        return response.error_code, left
    assert isinstance(response, HeartbeatResponse)
    return response.error_code


def _normal_record(key: bytes, value: bytes | None) -> str:
    """A record without the order of members."""
    record = SERDE.decode(key, value)
    if isinstance(record.value, GroupMetadataValue):
        record.value.members = sorted(record.value.members, key=lambda member: member.member_id)
    return repr(record)


def _apaches(world: ScriptedWorld, line: str) -> tuple[dict[int, object], list[str]]:
    """What Apache answered, by the step of the request, and what it wrote."""
    answers: dict[int, object] = {}
    records = []
    for word in line.split():
        left, _, right = word.partition(":")
        if left.startswith("!"):
            answers[int(left[1:])] = int(right)
        elif left.startswith("@"):
            step = int(left[1:])
            response_class, version = RESPONSES[world.lines[step].partition("|")[0]]
            answers[step] = _normal_answer(decode(response_class, bytes.fromhex(right), version))
        else:
            records.append(_normal_record(bytes.fromhex(left), bytes.fromhex(right) if right else None))
    return answers, records


def _ours(outcome: Outcome) -> tuple[dict[int, object], list[str]]:
    answers = {step: _normal_answer(response) for step, response in outcome.answers}
    return answers, [_normal_record(key, value) for key, value in outcome.log]


def _code(answer: object) -> object:
    return answer[0] if isinstance(answer, tuple) else answer


@pytest.fixture
def histories(monkeypatch: pytest.MonkeyPatch) -> list[ScriptedWorld]:
    """Random histories."""
    watch_choices(monkeypatch)
    worlds = []
    for seed in range(HISTORIES):
        history = History(Random(seed))
        history.run(STEPS)
        worlds.append(history.world)
    return worlds


def test_apache_answers_and_writes_the_same(oracle: Oracle, histories: list[ScriptedWorld], tmp_path: Path) -> None:
    file = tmp_path / "script"
    file.write_text("".join(line + "\n" for world in histories for line in world.lines))
    done = oracle.run_source(PROGRAM, file, fresh=True)  # no member id may have been drawn before
    assert done.returncode == 0, done.stderr
    lines = iter(done.stdout.splitlines())
    seen: Counter[str] = Counter()
    for seed, world in enumerate(histories):
        unanswered: set[int] = set()
        for number, (line, outcome) in enumerate(zip(world.lines, world.outcomes, strict=True)):
            where = f"history {seed}, step {number}: {line[:60]}"
            (ours, our_records), (theirs, their_records) = _ours(outcome), _apaches(world, next(lines))
            for step in sorted(ours.keys() - theirs.keys()):
                assert _code(ours.pop(step)) in OURS_ALONE, f"{where}: Apache does not answer step {step}"
                unanswered.add(step)
            assert ours == theirs, where
            assert not unanswered & theirs.keys(), where
            assert our_records == their_records, where
            seen["records"] += len(our_records)
            seen.update(f"{world.lines[step].partition('|')[0]} {_code(answer)}" for step, answer in ours.items())
    # The histories are worth something only if they get around.
    assert seen["records"] > 1_000, seen
    assert not WANTED - seen.keys(), seen
