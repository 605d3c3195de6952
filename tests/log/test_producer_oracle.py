"""Apache Kafka's ProducerStateManager and ours hear the same random histories and must say the same of every step."""

from pathlib import Path

import pytest

from ottla.common.topic_partition import TopicPartition
from ottla.log.producer_config import ProducerStateManagerConfig
from ottla.log.producer_state import ProducerStateManager
from ottla.runtime.posix import PosixFiles
from tests.log.producer_history import EXPIRATION_MS, History, Step, play
from tests.oracle import Oracle

FACTS = Path(__file__).parent.parent / "java" / "ProducerStateFacts.java"
HISTORIES = 60
STEPS = 120


def our_manager(directory: Path) -> ProducerStateManager:
    directory.mkdir(parents=True)
    # The Java program brings no verification guards to its appends.
    config = ProducerStateManagerConfig(EXPIRATION_MS, transaction_verification_enabled=False)
    return ProducerStateManager(TopicPartition("t", 0), str(directory), PosixFiles(), config)


def test_random_histories_end_as_in_apache_kafka(oracle: Oracle, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    script: list[Step] = []
    said: list[str | None] = []
    for seed in range(HISTORIES):
        manager = our_manager(ours / str(seed))
        script.append(("begin", str(seed)))
        said.append(None)
        for step in History(seed).steps(STEPS):
            script.append(step)
            said.append(play(manager, step))
    lines = "\n".join(" ".join(step) for step in script)
    done = oracle.run_source(FACTS, theirs, str(EXPIRATION_MS), stdin=lines)
    assert done.returncode == 0, done.stderr
    answers = done.stdout.splitlines()
    assert len(answers) == len(said)
    history = ""
    for number, (step, ours_said, theirs_said) in enumerate(zip(script, said, answers, strict=True)):
        history = step[1] if step[0] == "begin" else history
        if ours_said is not None and ours_said != theirs_said:
            pytest.fail(f"history {history}, line {number}: {step}\nours:   {ours_said}\ntheirs: {theirs_said}")
    outcomes = {answer.split(" |")[0].split(" ")[0] for answer in answers}
    assert outcomes >= {"ok", "duplicate", "error"}
    errors = {answer.split(" |")[0] for answer in answers if answer.startswith("error")}
    assert errors == {"error 45", "error 47", "error 48", "error 52"}

    snapshots = sorted(path.relative_to(theirs) for path in theirs.rglob("*.snapshot"))
    assert snapshots == sorted(path.relative_to(ours) for path in ours.rglob("*.snapshot"))
    assert len(snapshots) > HISTORIES // 2
    for snapshot in snapshots:
        assert (ours / snapshot).read_bytes() == (theirs / snapshot).read_bytes(), snapshot


def test_dump_log_segments_reads_our_snapshots(oracle: Oracle, tmp_path: Path) -> None:
    manager = our_manager(tmp_path / "t-0")
    for step in History(3).steps(60):
        play(manager, step)
    manager.update_map_end_offset(manager.map_end_offset + 1)
    path = manager.take_snapshot()
    assert path is not None
    dump = oracle.dump_log([path])
    assert dump.complaints == []
    [file] = dump.files.values()
    assert [
        (p.producer_id, p.producer_epoch, p.coordinator_epoch, p.current_txn_first_offset, p.last_timestamp)
        for p in file.producers
    ] == [
        (e.producer_id, e.producer_epoch, e.coordinator_epoch, e.current_txn_first_offset, e.last_timestamp)
        for _, e in sorted(manager.active_producers.items())
    ]
    assert file.producers
