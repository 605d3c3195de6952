"""A JVM that ends in the middle of any command: one sentence, whichever call of Spark noticed it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError

from ottla.spark.pipeline import engine
from ottla.spark.pipeline.backfill import Backfill, backfill_on
from ottla.spark.pipeline.engine import spark_of
from ottla.spark.pipeline.failure import PipelineFailedError
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.mirror import Mirror, mirror_on
from ottla.spark.pipeline.record_mapping import RecordMapping
from ottla.spark.pipeline.sliced_run import Unit, run_units
from ottla.spark.pipeline.stop_request import StopRequest
from ottla.spark.pipeline.table_reading import TableSource

JOB = Job("job", {}, progress_topic=None)
GONE = "Spark's JVM has ended; was it killed, or did it run out of memory"


def refuse(*_: object, **__: object) -> Any:
    raise ConnectionRefusedError(111, "Connection refused")


def cut_off(*_: object, **__: object) -> Any:
    raise Py4JNetworkError("Answer from Java side is empty")


class DeadQuery:
    """What is left of a query when its JVM is gone: a name, since that was asked for before."""

    name = "dead"
    isActive = property(cut_off)  # noqa: N815 - Spark's name
    stop = refuse


def silent(_message: str) -> None: ...


def run_mirror() -> None:
    mirror_on(None, JOB, Mirror({"a": "b"}), StopRequest(), say=silent)  # type: ignore[arg-type]


def run_backfill() -> None:
    work = Backfill(TableSource("/t"), "a", RecordMapping())
    backfill_on(None, JOB, work, StopRequest(), say=silent)  # type: ignore[arg-type]


@pytest.mark.parametrize(("run", "name"), [(run_mirror, "mirror"), (run_backfill, "backfill")])
@pytest.mark.parametrize("start", [lambda *_, **__: DeadQuery(), refuse, cut_off])
def test_queries_whose_jvm_is_gone_say_so_and_not_that_they_cannot_be_stopped(
    monkeypatch: pytest.MonkeyPatch, run: Callable[[], None], name: str, start: Callable[..., Any]
) -> None:
    monkeypatch.setattr(f"ottla.spark.pipeline.{name}.start_{name}", start)
    with pytest.raises(PipelineFailedError, match=GONE):
        run()


class EmptyStore:
    """Nothing is done yet."""

    def result(self, _unit: str) -> None: ...


@pytest.mark.parametrize("work", [refuse, cut_off])
def test_work_in_units_says_so(work: Callable[[], Any]) -> None:
    with pytest.raises(PipelineFailedError, match=f"^job failed: {GONE}"):
        run_units(JOB, EmptyStore(), [Unit("one", 1, work, len)], StopRequest())  # type: ignore[arg-type]


@pytest.mark.parametrize("call", [refuse, cut_off])
def test_whatever_else_a_command_asks_of_spark_says_so_and_names_the_log(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, call: Callable[[], Any]
) -> None:
    class DeadSession:
        stop = refuse

    monkeypatch.setattr(engine, "spark_session", lambda *_, **__: DeadSession())
    job = Job("job", {}, log=str(tmp_path / "spark.log"))
    with (
        pytest.raises(PipelineFailedError, match=rf"^job failed: {GONE}.*; Spark's log is .*spark\.log$"),
        spark_of(job, say=silent),
    ):
        call()


def test_py4j_does_not_log_how_it_noticed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from py4j.java_gateway import GatewayClient

    class Connection:
        send_command = cut_off

        def close(self, _reset: bool) -> None: ...

    class Client(GatewayClient):  # type: ignore[misc]
        def _get_connection(self) -> Connection:
            return Connection()

    monkeypatch.setattr(engine, "spark_session", lambda *_, **__: Client())
    monkeypatch.setattr(engine, "_stop", lambda _: None)
    with spark_of(Job("job", {}, log=str(tmp_path / "spark.log")), say=silent) as client:
        client.send_command("x", retry=False)  # type: ignore[attr-defined]
    assert not caplog.records
