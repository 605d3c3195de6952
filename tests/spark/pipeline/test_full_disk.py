"""A full disk is named as the cause, with its directory and how much is free, whatever Spark wraps it in."""

import errno
from pathlib import Path
from typing import Any

import pytest

from ottla.spark.pipeline import engine, full_disk
from ottla.spark.pipeline.engine import spark_of
from ottla.spark.pipeline.failure import PipelineFailedError
from ottla.spark.pipeline.job import Job

TRACE = """[STREAM_FAILED] Query [id = 1] terminated with exception: [TASK_WRITE_FAILED] Task failed while writing \
rows to file:/somewhere. SQLSTATE: 58030
\tat org.apache.spark.Foo.bar(Foo.scala:1)
Caused by: java.io.IOException: No space left on device
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
Caused by: java.lang.IllegalStateException: the writer is closed"""


class Usage:
    def __init__(self, free: int) -> None:
        self.free = free


@pytest.fixture
def disks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Two disks: one below ``roomy``, and one with 1.5 MiB left below ``full``."""
    for name in ("roomy", "full"):
        (tmp_path / name).mkdir()
    free = {"roomy": 10 << 30, "full": 3 << 19}
    usage = lambda path: Usage(next((left for name, left in free.items() if name in str(path)), 1 << 40))  # noqa: E731
    monkeypatch.setattr("shutil.disk_usage", usage)
    return tmp_path


@pytest.mark.parametrize("checkpoint", ["roomy", "full"])
def test_the_directory_with_least_room_is_named(monkeypatch: pytest.MonkeyPatch, disks: Path, checkpoint: str) -> None:
    class Session:
        def stop(self) -> None: ...

    monkeypatch.setattr(engine, "spark_session", lambda *_, **__: Session())
    table = str(disks / ("full" if checkpoint == "roomy" else "roomy") / "table")
    job = Job("job", {}, checkpoint=str(disks / checkpoint / "c"), log=str(disks / "spark.log"))
    words = rf"^job failed: no space was left on the disk with {disks}/full \(1\.5 MiB are free now\): .*log$"
    with pytest.raises(PipelineFailedError, match=words), spark_of(job, writes=[table], say=print):
        _fail(TRACE)


def _fail(text: str) -> Any:
    """As a query does: PySpark keeps what Java had as its cause in a field of its own."""
    from pyspark.errors import PySparkRuntimeError

    failure = PySparkRuntimeError("Task failed while writing rows")
    failure._cause = RuntimeError(text)  # type: ignore[attr-defined]
    raise PipelineFailedError("query failed: Task failed while writing rows") from failure


def test_spark_that_cannot_start_for_want_of_room_says_so(monkeypatch: pytest.MonkeyPatch, disks: Path) -> None:
    def start(*_: object, **__: object) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(engine, "spark_session", start)
    job = Job("job", {}, conf={"spark.local.dir": f"{disks}/full"}, log=str(disks / "spark.log"))
    with pytest.raises(PipelineFailedError, match=f"the disk with {disks}/full "), spark_of(job, say=print):
        pass
    monkeypatch.setattr(engine, "spark_session", lambda *_, **__: (disks / "nothing").read_text())
    with pytest.raises(FileNotFoundError), spark_of(job, say=print):
        pass


def test_a_path_in_the_failure_goes_before_all_others(disks: Path) -> None:
    failure = OSError(f"{disks}/full/x/y (No space left on device)")
    told = full_disk.full_disk(failure, [str(disks / "roomy")], is_local=True)
    assert told is not None
    assert f"the disk with {disks}/full (1.5 MiB" in told


def test_the_disks_of_executors_elsewhere_are_not_asked(disks: Path) -> None:
    told = full_disk.full_disk(OSError("No space left on device"), [str(disks / "full"), "s3a://b/t"], is_local=False)
    assert told is not None
    assert "Spark's executors write to" in told


def test_other_failures_are_not_blamed_on_a_disk(disks: Path) -> None:
    assert full_disk.full_disk(OSError("No such file"), [str(disks / "full")], is_local=True) is None
