"""Apache's broker and our log manager each take the other's files for their own; broker_story.py has what happens."""

import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.common.topic_partition import TopicPartition
from ottla.log.checkpoints import (
    CLEANER_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    OffsetCheckpoint,
)
from ottla.log.names import parse_topic_partition_dir
from ottla.runtime.posix import PosixFiles
from tests.apache.driver import ConsumedRecord
from tests.interop.broker_story import CODECS, INTERNAL, TOPICS, Story, everything_ours, started, tell
from tests.interop.log_script import compared_files, perform_by_apache
from tests.interop.our_reading import comparable, read_partition
from tests.oracle import Oracle

CHECKPOINTS = (
    RECOVERY_POINT_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    CLEANER_OFFSET_CHECKPOINT,
)
ABOUT_LOGS = r"kafka\.log|kafka\.cluster|kafka\.server\.ReplicaManager|org\.apache\.kafka\.storage"
COMPLAINT = re.compile(rf" (WARN|ERROR|FATAL) (?!.*__cluster_metadata).*\(({ABOUT_LOGS})")


@pytest.fixture(scope="module")
def story(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """What happened, in memory where the machine has such."""
    shared = Path("/dev/shm")
    path = tmp_path_factory.mktemp("story")
    if shared.is_dir():
        path = Path(tempfile.mkdtemp(prefix="ottla-interop-", dir=shared))
    yield tell(oracle, path)
    shutil.rmtree(path)


# -- what Apache wrote, read by us ------------------------------------------------------------------------------------


def test_our_reader_sees_what_apache_dumps(oracle: Oracle, story: Story, scratch: Path) -> None:
    for partition in partitions(story.after_stop):
        dumped = oracle.dump_directory(partition)
        # A batch that was emptied by the cleaner has no timestamp for DumpLogSegments.
        assert [line for line in dumped.complaints if "imestamp" not in line] == []
        ours = comparable(read_partition(partition, scratch))
        expected = comparable(dumped.files)
        assert ours.keys() == expected.keys()
        for name, file in expected.items():
            assert ours[name] == file, f"{partition.name}/{name}"


def test_the_broker_wrote_everything_that_can_be_read(oracle: Oracle, story: Story) -> None:
    batches = {
        topic: oracle.dump_directory(story.after_stop / f"{topic}-0").batches for topic in TOPICS if "ours" not in topic
    }
    for codec in CODECS:
        assert {batch.compression for batch in batches[f"codec-{codec}"]} == {codec}
    assert {batch.is_control for batch in batches["transactions"]} == {True, False}
    assert any(batch.delete_horizon_ms is not None for batch in batches["compacted"])
    assert any(batch.record_count == 0 for batch in batches["compacted"])
    assert batches["shortened"][0].base_offset > 0
    assert {batch.timestamp_type for batch in batches["append-time"]} == {"LogAppendTime"}


def test_our_consumer_gets_what_apaches_gets(story: Story, scratch: Path) -> None:
    with started(Path(shutil.copytree(story.after_stop, scratch / "data"))) as manager:
        assert everything_ours(manager) == story.seen_before_stop


def test_a_start_and_a_stop_change_no_more_than_apaches(oracle: Oracle, story: Story, scratch: Path) -> None:
    copy, apache = (Path(shutil.copytree(story.after_stop, scratch / name)) for name in ("data", "apache"))
    with started(copy):
        pass
    assert_same_after_load(oracle, apache, copy, scratch, clean=True)
    for partition in partitions(story.after_stop):
        # Not epochs without a record and snapshots without a segment, which both forget.
        for path in (*partition.glob("*.log"), *partition.glob("*.*index"), partition / "partition.metadata"):
            assert (copy / partition.name / path.name).read_bytes() == path.read_bytes(), path
    assert (copy / "meta.properties").read_bytes() == (story.after_stop / "meta.properties").read_bytes()
    for name in CHECKPOINTS:
        assert checkpoint(copy, name) == checkpoint(story.after_stop, name), name


def test_indexes_are_rebuilt_as_apache_rebuilds_them(oracle: Oracle, story: Story, scratch: Path) -> None:
    apache = Path(shutil.copytree(story.after_stop, scratch / "apache"))
    for path in apache.glob("*/*.*index"):
        path.unlink()
    ours = Path(shutil.copytree(apache, scratch / "data"))
    with started(ours):
        pass
    assert_same_after_load(oracle, apache, ours, scratch, clean=True)


def test_a_killed_broker_is_recovered_as_apache_recovers_it(oracle: Oracle, story: Story, scratch: Path) -> None:
    apache = Path(shutil.copytree(story.after_kill, scratch / "apache"))
    ours = Path(shutil.copytree(story.after_kill, scratch / "data"))
    with started(ours) as manager:
        ends = {str(partition): log.log_end_offset for partition, log in manager.logs.items()}
    assert assert_same_after_load(oracle, apache, ours, scratch, clean=False) == ends


def assert_same_after_load(oracle: Oracle, apache: Path, ours: Path, scratch: Path, *, clean: bool) -> dict[str, int]:
    """Let Apache's loader open and close every partition of a copy, and compare with ours; returns the end offsets."""
    recovery_points, starts = (
        checkpoint(apache, name) for name in (RECOVERY_POINT_CHECKPOINT, LOG_START_OFFSET_CHECKPOINT)
    )
    ends = {}
    for partition in partitions(apache):
        topic_partition = parse_topic_partition_dir(str(partition))
        configs = INTERNAL if topic_partition.topic.startswith("__") else TOPICS[topic_partition.topic]
        start, recovery_point = starts.get(topic_partition, 0), recovery_points.get(topic_partition, 0)
        script = [
            ("now", int(time.time() * 1000)),
            ("open", configs, clean, start, recovery_point),
            ("close",),
        ]
        answers = perform_by_apache(oracle, script, partition, scratch)
        ends[str(topic_partition)] = int(answers[1].split()[2])
        assert compared_files(ours / partition.name) == compared_files(partition), partition.name
    return ends


# -- what we wrote, read by Apache ------------------------------------------------------------------------------------


def test_apache_goes_on_where_we_stopped_cleanly(story: Story) -> None:
    assert story.our_cleanings > 1
    assert_same_records(story.seen_after_our_stop, story.ours_after_stop)
    assert complaints(story.lines_after_our_stop) == []
    assert any(re.search(rf"Skipping recovery of .*\(({ABOUT_LOGS})", line) for line in story.lines_after_our_stop)
    recovered = [line for line in story.lines_after_our_stop if "Recovering unflushed segment" in line]
    assert [line for line in recovered if "__cluster_metadata" not in line] == []  # raft's log never stops cleanly


def test_apache_recovers_what_we_left_uncleanly(story: Story) -> None:
    assert_same_records(story.seen_after_our_crash, story.ours_after_crash)
    assert complaints(story.lines_after_our_crash) == []
    assert any("since no clean shutdown file was found" in line for line in story.lines_after_our_crash)


def test_apache_dumps_what_we_wrote_into_its_files(oracle: Oracle, story: Story, scratch: Path) -> None:
    for partition in partitions(story.after_our_stop):
        dumped = oracle.dump_directory(partition)
        assert [line for line in dumped.complaints if "imestamp" not in line] == []
        assert comparable(read_partition(partition, scratch)) == comparable(dumped.files)


def assert_same_records(
    seen: dict[tuple[str, str], list[ConsumedRecord]], ours: dict[tuple[str, str], list[ConsumedRecord]]
) -> None:
    """Apache's consumer got what ours did; of compacted topics what a cleaning leaves, since its cleaner works on."""
    for (topic, isolation), records in ours.items():
        found = seen[topic, isolation]
        if "cleanup.policy" not in TOPICS[topic]:
            assert found == records, (topic, isolation)
        elif isolation == "read_committed":
            assert latest(found) == latest(records), topic


def latest(records: list[ConsumedRecord]) -> dict[bytes | None, ConsumedRecord]:
    """The last record of each key that has a value."""
    last = {record.key: record for record in records}
    return {key: record for key, record in last.items() if record.value is not None}


def complaints(lines: list[str]) -> list[str]:
    """What the broker's log has to say about logs and their files that is more than information."""
    return [line for line in lines if COMPLAINT.search(line)]


def partitions(log_dir: Path) -> list[Path]:
    """The partition directories, without raft's own."""
    return sorted(
        path for path in log_dir.iterdir() if path.is_dir() and not path.name.startswith("__cluster_metadata")
    )


def checkpoint(log_dir: Path, name: str) -> dict[TopicPartition, int]:
    """A checkpoint of a data directory."""
    return OffsetCheckpoint(PosixFiles(), str(log_dir / name)).read()
