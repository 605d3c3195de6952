"""The same random histories here and in Apache's group coordinator: every answer and every record must be the same."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import TypeVar

import pytest

from ottla.group.assignor.spec import SubscriptionType
from ottla.group.classic.group import ClassicGroup
from ottla.group.consumer import regex_subscriptions
from ottla.group.consumer.group import ConsumerGroup
from ottla.group.consumer.rebalance import MemberChange
from ottla.group.consumer.regex_subscriptions import has_target_assignment
from ottla.group.consumer.subscriptions import subscription_type
from ottla.group.records import ConsumerGroupMetadataKey
from ottla.protocol.codec import decode
from ottla.protocol.message import Message
from ottla.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from ottla.protocol.messages.heartbeat import HeartbeatResponse
from ottla.protocol.messages.join_group import JoinGroupResponse
from ottla.protocol.messages.leave_group import LeaveGroupResponse
from ottla.protocol.messages.sync_group import SyncGroupResponse
from tests.group.consumer_script import Members, Script, normal_records, normal_response
from tests.group.consumer_world import GROUP
from tests.oracle import Oracle

PROGRAM = Path(__file__).parents[1] / "java" / "ConsumerGroupFacts.java"
T = TypeVar("T")

HISTORIES = 150
STEPS = 120
RESPONSES: dict[str, tuple[type[Message], int]] = {
    "beat": (ConsumerGroupHeartbeatResponse, 1),
    "join": (JoinGroupResponse, 9),
    "sync": (SyncGroupResponse, 5),
    "heartbeat": (HeartbeatResponse, 4),
    "leave": (LeaveGroupResponse, 5),
}


class DivergedError(Exception):
    """We do better than Apache on purpose here, so that the histories part."""


@pytest.fixture
def histories(monkeypatch: pytest.MonkeyPatch) -> list[Script]:
    """Random histories, up to where Apache would forget that somebody waits for partitions."""
    decide = MemberChange.subscription_type
    types: dict[ConsumerGroup, SubscriptionType] = {}

    def noting_the_type(change: Callable[[ConsumerGroup, T], None]) -> Callable[[ConsumerGroup, T], None]:
        """Apache works the type out when members change, and not when expressions do."""

        def changed(group: ConsumerGroup, argument: T) -> None:
            change(group, argument)
            subscriptions = group.subscriptions
            types[group] = subscription_type(subscriptions.regexes, subscriptions.topics, group.num_members)

        return changed

    def watched(change: MemberChange) -> SubscriptionType:
        after = decide(change)
        is_bumped = any(isinstance(record.key, ConsumerGroupMetadataKey) for record in change.records)
        if not is_bumped and types.get(change.group, SubscriptionType.HOMOGENEOUS) is not after:
            raise DivergedError
        return after

    def loses_partitions(group: ConsumerGroup, regex: str) -> bool:
        if has_target_assignment(group, regex):
            raise DivergedError
        return False

    monkeypatch.setattr(ConsumerGroup, "update_member", noting_the_type(ConsumerGroup.update_member))
    monkeypatch.setattr(ConsumerGroup, "remove_member", noting_the_type(ConsumerGroup.remove_member))
    monkeypatch.setattr(MemberChange, "subscription_type", watched)
    monkeypatch.setattr(regex_subscriptions, "has_target_assignment", loses_partitions)
    scripts = []
    for seed in range(HISTORIES):
        script = Script(Random(seed))
        for name in ("t0", "u0"):
            script.change_topic(name, 3)
        members = Members(script)
        if seed % 3 == 0:
            script.replay_classic_group()
            members.join()
            script.pass_time(20)
        try:
            while len(script.lines) < STEPS and not isinstance(script.groups.get(GROUP), ClassicGroup):
                members.step()
        except DivergedError:
            pass
        scripts.append(script)
    return scripts


def test_apache_answers_and_writes_the_same(oracle: Oracle, histories: list[Script], tmp_path: Path) -> None:
    file = tmp_path / "script"
    file.write_text("".join(line + "\n" for script in histories for line in script.lines))
    done = oracle.run_source(PROGRAM, file)
    assert done.returncode == 0, done.stderr
    answers = iter(done.stdout.splitlines())
    for seed, script in enumerate(histories):
        for number, (line, ours) in enumerate(zip(script.lines, script.outcomes, strict=True)):
            theirs = _outcome(script, line, next(answers))
            where = f"history {seed}, step {number}: {line[:40]}"
            assert ours[0] == theirs[0], where
            for mine, apaches in zip(ours[1], theirs[1], strict=False):
                assert mine == apaches, where
            assert len(ours[1]) == len(theirs[1]), where


def _outcome(script: Script, line: str, answer: str) -> tuple[object, list[tuple[str, str, int]]]:
    kind, _, _ = line.partition("|")
    is_error = answer.startswith("ERR")
    response, *records = (answer.replace("ERR ", "ERR_", 1) if is_error else answer).split(" ")
    written = [
        script.serde.decode(bytes.fromhex(key), None if value == "-" else bytes.fromhex(value))
        for key, _, value in (record.partition(":") for record in records)
    ]
    if is_error or response == "-":
        return response.replace("_", " "), normal_records(written)
    response_class, version = RESPONSES[kind]
    return normal_response(decode(response_class, bytes.fromhex(response), version)), normal_records(written)
