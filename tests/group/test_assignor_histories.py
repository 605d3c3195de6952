"""Our assignors beside Apache's: the same records, in the same order, all along the histories of groups."""

import json
import os
from pathlib import Path

import pytest

from ottla.group.assignor import hash_order
from ottla.spark.java import java_version
from tests.group.assignor_history import HistoryMaker, apaches, ours
from tests.oracle import Oracle

GOLDEN = Path(__file__).parent / "apache_assignments.jsonl"
"""A line of JSON a history: the history, and what Apache Kafka 4.3.1 on Java 17 wrote."""

STEPS = 24
HISTORIES = 4000 if os.environ.get("OTTLA_LONG") == "1" else 250


def test_the_same_records_as_apache_in_histories_drawn_by_chance(
    oracle: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (java_version(oracle.java) or 0) >= 19:
        monkeypatch.setattr(hash_order, "COPY_SLACK", 2)
    histories = [HistoryMaker(seed).make(STEPS) for seed in range(HISTORIES)]
    for seed, (history, theirs) in enumerate(zip(histories, apaches(oracle, histories, tmp_path), strict=True)):
        for number, (mine, written) in enumerate(zip(ours(history), theirs, strict=True)):
            assert mine == written, f"seed {seed}, step {number}: {history['steps'][number]}"


def test_the_same_records_as_apache_wrote_once() -> None:
    for number, line in enumerate(GOLDEN.read_text().splitlines()):
        history, theirs = json.loads(line)
        assert ours(history) == theirs, f"history {number}"


def test_the_histories_drawn_hold_what_is_to_be_compared() -> None:
    """Both assignors, both kinds of groups, members replaced, tables of several sizes and colliding partitions."""
    steps = [step for seed in range(100) for step in HistoryMaker(seed).make(STEPS)["steps"]]
    assert {(step["assignor"], step["type"]) for step in steps} == {
        (assignor, kind) for assignor in ("uniform", "range") for kind in ("HOMOGENEOUS", "HETEROGENEOUS")
    }
    assert {step["op"] for step in steps} == {"join", "subscribe", "leave", "topics"}
    answers = [answer for seed in range(100) for answer in ours(HistoryMaker(seed).make(STEPS))]
    assignments = [topics for answer in answers for _, topics in answer]
    assert any(partitions != sorted(partitions) for topics in assignments for _, partitions in topics)
    assert any(len(topics) > 12 for topics in assignments)
