"""Work in units whose results are small and add up: each is kept when it is done, so that a killed run goes on."""

import json
import time
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ottla.common.errors import KafkaError
from ottla.spark.pipeline.batch_progress import BatchProgress
from ottla.spark.pipeline.failure import PipelineFailedError, failure_sentence, is_gone, spark_errors
from ottla.spark.pipeline.hadoop_files import HadoopFiles
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.progress_display import ProgressDisplay
from ottla.spark.pipeline.progress_publisher import ProgressPublisher
from ottla.spark.pipeline.stop_request import StopRequest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLAN: Final = "plan.json"
Document = dict[str, Any]


class Unit(NamedTuple):
    """A part of the work: its name in the checkpoint, what does it, and how many records its result is of.

    ``offsets`` is how many there are at most; None if nobody knows before they are read.
    """

    name: str
    offsets: int | None
    work: Callable[[], Document]
    counted: Callable[[Document], int]


class RunStore:
    """The plan of a run and the results of its units, in a directory of the checkpoint's file system.

    No plan → ``settle`` writes one → results are added → ``clear`` when the run is done, or can never be done.
    """

    def __init__(self, spark: "SparkSession", path: str) -> None:
        self._files = HadoopFiles(spark, path)
        self.path = path

    def settle(self, wanted: Document, make: Callable[[], Document]) -> tuple[Document, bool]:
        """The plan that an earlier run for the same ``wanted`` left, or a new one; whether it was left.

        What was left by a run that wanted something else is cleared.
        """
        text = self._files.read(PLAN)
        if text is not None:
            try:
                left = json.loads(text)
            except ValueError:
                left = {}
            if left.get("wanted") == json.loads(json.dumps(wanted)):
                return left, True
            self.clear()
        plan = {"wanted": wanted, "began": datetime.now(UTC).isoformat(timespec="seconds"), **make()}
        self._files.write(PLAN, json.dumps(plan))
        return plan, False

    def result(self, unit: str) -> Document | None:
        """What the unit gave; None if it is not done."""
        text = self._files.read(f"{unit}.json")
        return None if text is None else json.loads(text)

    def keep(self, unit: str, result: Document) -> None:
        """The unit is done."""
        self._files.write(f"{unit}.json", json.dumps(result))

    def clear(self) -> None:
        """Forget all; the plan first, without which the rest means nothing."""
        names = [name for name in self._files.names() if name.endswith((".json", ".new"))]
        for name in sorted(names, key=lambda name: name != PLAN):
            self._files.delete(f"{self._files.path}/{name}")


def run_units(job: Job, store: RunStore, units: Sequence[Unit], stop: StopRequest) -> list[Document] | None:
    """Do the units that are not done; all results, or None if a stop was asked for meanwhile.

    PipelineFailedError if Spark fails.
    """
    display, publisher = ProgressDisplay(), ProgressPublisher(job, uuid.uuid4().hex[:12])
    results: list[Document] = []
    expected: tuple[type[Exception], ...] = (*spark_errors(), KafkaError)
    state, error = "stopped", None
    try:
        for number, unit in enumerate(units):
            result = store.result(unit.name)
            if result is None:
                if stop.is_set:
                    return None
                began, clock = datetime.now(UTC), time.monotonic()
                result = unit.work()
                store.keep(unit.name, result)
                done = unit.counted(result), _left(units[number + 1 :])
                progress = _progress(job.name, number, began, done, time.monotonic() - clock)
                display.show(progress)
                publisher.publish(job.name, "running", progress)
            results.append(result)
    except expected as failure:
        failed = failed_run(job, store, failure)
        state, error = "failed", str(failed)
        raise failed from failure
    finally:
        publisher.publish(job.name, state, error=error)
        display.close()
        publisher.close()
    return results


def failed_run(job: Job, store: RunStore, failure: BaseException) -> PipelineFailedError:
    """What to raise for the failure. A plan whose records are gone is cleared: no later run could follow it."""
    sentence = f"{job.name} failed: {failure_sentence(failure)}"
    if is_gone(failure):
        store.clear()
        sentence += "; what this run has done is forgotten, so that the next begins afresh"
    return PipelineFailedError(sentence)


def _left(units: Sequence[Unit]) -> int | None:
    """How many records are still to be read; None as long as a unit is among them of which nobody knows."""
    known = [unit.offsets for unit in units if unit.offsets is not None]
    return sum(known) if len(known) == len(units) else None


def _progress(query: str, number: int, began: datetime, done: tuple[int, int | None], seconds: float) -> BatchProgress:
    rows, left = done
    return BatchProgress(
        query=query,
        batch_id=number,
        timestamp=began.isoformat(timespec="milliseconds"),
        rows=rows,
        rows_per_second=round(rows / seconds, 1) if seconds > 0 else 0.0,
        batch_ms=round(seconds * 1000),
        lag=left,
        watermark=None,
        state_rows=None,
    )
