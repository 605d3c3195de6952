"""The client-side assignors: Apache's results for the same groups, and what each of them promises."""

import json
import os
from pathlib import Path

import pytest

from ottla.clients.consumer.assignors.assignor import RebalanceProtocol
from ottla.clients.consumer.assignors.range import RangeAssignor
from ottla.clients.consumer.assignors.registry import common_protocol, make_assignors
from ottla.common.errors import InvalidConfigError
from tests.clients.consumer_groups.assignor_history import HistoryMaker, apaches
from tests.oracle import Oracle

STEPS = 14
HISTORIES = 3000 if os.environ.get("OTTLA_LONG") == "1" else 300


def test_the_same_assignments_as_apache_in_histories_drawn_by_chance(oracle: Oracle, tmp_path: Path) -> None:
    histories = [HistoryMaker(seed).make(STEPS) for seed in range(HISTORIES)]
    theirs = apaches(oracle, [(name, steps) for name, steps, _ in histories], tmp_path)
    for seed, ((name, steps, mine), written) in enumerate(zip(histories, theirs, strict=True)):
        for number, (ours, apache) in enumerate(zip(mine, written, strict=True)):
            assert not isinstance(apache, str), f"seed {seed}, {name}, step {number}: Apache raised {apache}"
            assert {member: sorted(given) for member, given in ours.items()} == {
                member: sorted(given) for member, given in apache.items()
            }, f"seed {seed}, {name}, step {number}: {json.dumps(steps[number])}"


def test_the_histories_drawn_hold_what_is_to_be_compared() -> None:
    """Mixed and uniform groups, racks, static members, stale claims, and partitions that must move first."""
    histories = [HistoryMaker(seed).make(STEPS) for seed in range(80)]
    steps = [step for _, made, _ in histories for step in made]
    members = [member for step in steps for _, member in step["members"]]
    assert any(len({tuple(member["topics"]) for _, member in step["members"]}) > 1 for step in steps)
    assert any(member["rack"] for member in members)
    assert any(member["instance"] for member in members)
    assert any(len({member["generation"] for _, member in step["members"]}) > 2 for step in steps)
    withheld = 0
    for name, made, answers in histories:
        for step, answer in zip(made, answers, strict=True):
            wanted = {topic for _, member in step["members"] for topic in member["topics"]}
            existing = sum(len(partitions) for topic, partitions in step["topics"].items() if topic in wanted)
            given = [tuple(partition) for partitions in answer.values() for partition in partitions]
            assert len(set(given)) == len(given), "nobody shares a partition"
            if name == "cooperative-sticky":
                withheld += existing - len(given)
            else:
                assert len(given) == existing, "everything is assigned"
    assert withheld > 0


def test_a_history_on_which_apaches_assignor_does_not_return() -> None:
    """A stale member draws back what others push away; ours ends, and assigns everything."""
    name, steps, answers = HistoryMaker(3814).make(STEPS)
    assert name == "sticky"
    for step, answer in zip(steps, answers, strict=True):
        wanted = {topic for _, member in step["members"] for topic in member["topics"]}
        given = sum(len(partitions) for partitions in answer.values())
        assert given == sum(len(partitions) for topic, partitions in step["topics"].items() if topic in wanted)


def test_names_of_assignors() -> None:
    names = [assignor.name for assignor in make_assignors(["range", "roundrobin", "sticky", "cooperative-sticky"])[:4]]
    assert names == ["range", "roundrobin", "sticky", "cooperative-sticky"]
    assert make_assignors(["org.apache.kafka.clients.consumer.RangeAssignor"])[0].name == "range"
    assert make_assignors([RangeAssignor])[0].name == make_assignors([RangeAssignor()])[0].name == "range"
    for wrong in (["rang"], [], ["range", RangeAssignor], [object()]):
        with pytest.raises(InvalidConfigError):
            make_assignors(wrong)


def test_the_protocol_that_all_assignors_share() -> None:
    assert common_protocol(make_assignors(["cooperative-sticky"])) is RebalanceProtocol.COOPERATIVE
    assert common_protocol(make_assignors(["range", "cooperative-sticky"])) is RebalanceProtocol.EAGER
