"""Watches the queries of a job until they end: progress is shown and published, a stop is clean, a failure is told.

Clean means: the batch in flight ends, and only then the query is stopped. What a query does after its last commit (the
next batch may just have been planned) is done again when it resumes, as after any crash.
"""

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from ottla.spark.pipeline.batch_progress import BatchProgress
from ottla.spark.pipeline.failure import PipelineFailedError, failure_sentence, spark_errors
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.progress_display import ProgressDisplay
from ottla.spark.pipeline.progress_publisher import ProgressPublisher
from ottla.spark.pipeline.stop_request import StopRequest

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_POLL_S: Final = 0.2
_STOP_POLL_S: Final = 0.02
_STOPPING: Final = "stopping when the batches in flight are done; Ctrl-C again does not wait for them"


class Supervisor:
    """Runs with the queries of one job: made → ``watch`` → ended. ``on_batch`` is called when one or more are done."""

    def __init__(
        self,
        job: Job,
        stop: StopRequest,
        *,
        display: ProgressDisplay | None = None,
        clock: Callable[[], float] = time.monotonic,
        on_batch: Callable[[], None] = lambda: None,
    ) -> None:
        self._stop = stop
        self._patience_s = job.patience_s
        self._display = display or ProgressDisplay()
        self._publisher = ProgressPublisher(job, uuid.uuid4().hex[:12])
        self._clock = clock
        self._on_batch = on_batch
        self._seen: dict[str, tuple[int, str]] = {}
        self._names: dict[int, str] = {}
        self._stopped: set[int] = set()

    def watch(self, queries: "Sequence[StreamingQuery]") -> None:
        """Return when all have ended, or when a stop was asked for and the batches in flight are done.

        PipelineFailedError if one failed; the others are stopped then, too.
        """
        self._names = {id(query): query.name for query in queries}
        try:
            while any(query.isActive for query in queries) and not self._stop.wait(_POLL_S):
                self._report(queries)
                if self._failed(queries):
                    break
            self._end(queries)
            self._report(queries)
            self._conclude(queries)
        except spark_errors() as error:
            sentence = failure_sentence(error)
            self._publish_all(queries, "failed", sentence)
            raise PipelineFailedError(sentence) from error
        finally:
            self._display.close()
            self._publisher.close()

    def _conclude(self, queries: "Sequence[StreamingQuery]") -> None:
        failed = self._failed(queries)
        for query in queries:
            error = failure_sentence(query.exception()) if query in failed else None  # type: ignore[arg-type]
            self._publisher.publish(self._names[id(query)], "failed" if error else "stopped", error=error)
        if failed:
            first = failed[0]
            cause = first.exception()
            raise PipelineFailedError(f"{first.name} failed: {failure_sentence(cause)}") from cause  # type: ignore[arg-type]

    def _publish_all(self, queries: "Sequence[StreamingQuery]", state: str, error: str) -> None:
        for query in queries:
            self._publisher.publish(self._names[id(query)], state, error=error)

    def _report(self, queries: "Sequence[StreamingQuery]") -> None:
        seen = dict(self._seen)
        for query in queries:
            for told in query.recentProgress[-8:]:
                progress = BatchProgress.of(told)
                mark = (progress.batch_id, progress.timestamp)
                if mark > self._seen.get(query.name, (-1, "")):
                    self._seen[query.name] = mark
                    self._display.show(progress)
                    self._publisher.publish(query.name, "running", progress)
        if seen != self._seen:
            self._on_batch()

    def _failed(self, queries: "Sequence[StreamingQuery]") -> "list[StreamingQuery]":
        """Those that ended by themselves with an error; one that was stopped may have been interrupted anywhere."""
        return [
            query
            for query in queries
            if id(query) not in self._stopped and not query.isActive and query.exception() is not None
        ]

    def _end(self, queries: "Sequence[StreamingQuery]") -> None:
        """Stop what still runs, each query between two batches."""
        deadline = self._clock() + self._patience_s
        if self._stop.is_set:
            self._display.tell(_STOPPING if self._patience_s else "stopping")
        waiting = [(query, self._batch_of(query)) for query in queries if query.isActive]
        while waiting:
            due = [
                (query, batch_id)
                for query, batch_id in waiting
                if not query.status["isTriggerActive"]
                or self._batch_of(query) != batch_id
                or self._clock() >= deadline
                or not query.isActive
            ]
            waiting = [each for each in waiting if each not in due]
            active = [query for query, _ in due if query.isActive]
            self._stopped.update(map(id, active))
            stop_all(active)
            if waiting:
                time.sleep(_STOP_POLL_S)

    def _batch_of(self, query: "StreamingQuery") -> int:
        last = query.lastProgress
        return -1 if last is None else last.batchId


def stop_all(queries: "Sequence[StreamingQuery]") -> None:
    """Stop them at the same time: each waits for what Spark has under way for it."""
    if queries:
        with ThreadPoolExecutor(len(queries)) as pool:
            for stopping in [pool.submit(query.stop) for query in queries]:
                stopping.result()


@contextmanager
def started_queries() -> "Iterator[list[StreamingQuery]]":
    """A list for the queries that are started within: at its end what still runs of them is stopped at once.

    The JVM may be gone already, which does not hide why they ended.
    """
    queries: list[StreamingQuery] = []
    try:
        yield queries
    finally:
        with suppress(*spark_errors()):
            stop_all(queries)
