"""How queries are watched: progress, clean stops, failures, a JVM that is gone; with queries that are not Spark's."""

import io
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ottla.spark.pipeline.failure import PipelineFailedError
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.progress_display import ProgressDisplay
from ottla.spark.pipeline.stop_request import StopRequest
from ottla.spark.pipeline.supervisor import Supervisor, started_queries

JOB = Job("job", {}, progress_topic=None)


class Told(dict[str, Any]):
    @property
    def batchId(self) -> int:
        return int(self["batchId"])


class Query:
    """A query whose life is a list of steps, one each time that its state is asked for."""

    def __init__(self, name: str, *steps: Callable[["Query"], None]) -> None:
        self.name = name
        self.status = {"isTriggerActive": True}
        self.recentProgress: list[Told] = []
        self.error: str | None = None
        self.is_active = True
        self.is_gone = False
        self.stopped_after: int | None = None
        self._steps = list(steps)

    @property
    def isActive(self) -> bool:
        if self._steps:
            self._steps.pop(0)(self)
        return self.is_active

    @property
    def lastProgress(self) -> Told | None:
        return self.recentProgress[-1] if self.recentProgress else None

    def exception(self) -> Exception | None:
        return None if self.error is None else RuntimeError(self.error)

    def stop(self) -> None:
        if self.is_gone:
            raise ConnectionRefusedError
        if self.is_active:
            self.is_active = False
            self.stopped_after = len(self.recentProgress)
            self.error = "[INTERRUPTED] whatever was under way"


def batch(number: int) -> Callable[[Query], None]:
    told = Told(name="", batchId=number, timestamp=f"{number:03}", numInputRows=10, batchDuration=100)
    return lambda query: query.recentProgress.append(Told(told, name=query.name))


def end(query: Query) -> None:
    query.is_active = False


def fail(query: Query) -> None:
    query.is_active = False
    query.error = "[SOME_CLASS] it broke SQLSTATE: 1"


def gone(query: Query) -> None:
    query.is_gone = True
    raise ConnectionRefusedError


def nothing(_query: Query) -> None: ...


def watch(stop: StopRequest, *queries: Query, job: Job = JOB) -> str:
    screen = io.StringIO()
    supervisor = Supervisor(job, stop, display=ProgressDisplay(screen))
    with started_queries() as started:
        started.extend(queries)  # type: ignore[arg-type]
        supervisor.watch(started)
    return screen.getvalue()


def test_queries_that_end_are_told_of_to_the_last_batch() -> None:
    one, two = Query("one", batch(0), batch(1), end), Query("two", batch(0), end)
    screen = watch(StopRequest(), one, two)
    assert "one: batch 0, 10 rows in 0.10 s, 100 rows/s\n" in screen
    assert "one: batch 1, " in screen
    assert "two: batch 0, " in screen


def test_what_waits_for_a_batch_is_called_when_one_is_done_and_not_else() -> None:
    called: list[int] = []
    query = Query("one", nothing, batch(0), nothing, batch(1), end)
    supervisor = Supervisor(
        JOB,
        StopRequest(),
        display=ProgressDisplay(io.StringIO()),
        on_batch=lambda: called.append(len(query.recentProgress)),
    )
    supervisor.watch([query])  # type: ignore[list-item]
    assert called == [1, 2]


def test_a_stop_waits_for_the_batch_in_flight() -> None:
    stop = StopRequest()
    query = Query("one", batch(0), lambda _: stop.set(), *[nothing] * 5, batch(1))
    watch(stop, query)
    assert query.stopped_after == 2


def test_a_job_without_patience_does_not_wait_for_it() -> None:
    stop = StopRequest()
    query = Query("one", batch(0), lambda _: stop.set(), *[nothing] * 5, batch(1))
    said = watch(stop, query, job=replace(JOB, patience_s=0))
    assert query.stopped_after == 1
    assert "stopping\n" in said


def test_what_is_waited_for_is_said_at_once() -> None:
    """Before the batch that it is about ends."""
    stop = StopRequest()
    query = Query("one", batch(0), lambda _: stop.set(), *[nothing] * 5, batch(1))
    said = watch(stop, query)
    assert said.index("stopping when the batches in flight are done; Ctrl-C again does not wait") < said.index(
        "batch 1"
    )


def test_queries_are_stopped_at_the_same_time() -> None:
    together = threading.Barrier(2)

    class Slow(Query):
        def stop(self) -> None:
            together.wait(60)
            super().stop()

    stop = StopRequest()
    stop.set()
    queries = [Slow(name) for name in ("one", "two")]
    for query in queries:
        query.status["isTriggerActive"] = False
    supervisor = Supervisor(JOB, stop, display=ProgressDisplay(io.StringIO()))
    supervisor.watch(queries)  # type: ignore[arg-type]
    assert not any(query.is_active for query in queries)


def test_a_stop_between_batches_is_at_once_and_its_interruption_is_no_failure() -> None:
    stop = StopRequest()
    stop.set()
    query = Query("one", batch(0))
    query.status["isTriggerActive"] = False
    watch(stop, query)
    assert query.stopped_after == 1


def test_one_that_fails_stops_the_others_and_is_told() -> None:
    other = Query("other")
    other.status["isTriggerActive"] = False
    with pytest.raises(PipelineFailedError, match=r"^bad failed: it broke$"):
        watch(StopRequest(), other, Query("bad", batch(0), fail))
    assert not other.is_active


def test_a_jvm_that_is_gone_is_told_in_a_sentence() -> None:
    with pytest.raises(PipelineFailedError, match="Spark's JVM has ended"):
        watch(StopRequest(), Query("one", nothing, gone))
