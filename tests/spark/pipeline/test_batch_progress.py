"""Figures of a micro-batch, from what Spark tells."""

from io import StringIO

from ottla.spark.pipeline.batch_progress import BatchProgress, lag_of
from ottla.spark.pipeline.progress_display import ProgressDisplay

TOLD = {
    "name": "counts",
    "batchId": 7,
    "timestamp": "2026-11-16T10:00:00.000Z",
    "batchDuration": 500,
    "numInputRows": 1000,
    "eventTime": {"watermark": "2026-11-16T09:59:50.000Z"},
    "stateOperators": [{"numRowsTotal": 3}, {"numRowsTotal": 4}],
    "sources": [{"endOffset": {"t": {"0": 10, "1": 5}}, "latestOffset": {"t": {"0": 12, "1": 5, "2": 4}}}],
}


def test_a_batch_is_told_in_one_line() -> None:
    progress = BatchProgress.of(TOLD)
    assert progress == BatchProgress(
        "counts", 7, "2026-11-16T10:00:00.000Z", 1000, 2000.0, 500, 6, "2026-11-16T09:59:50.000Z", 7
    )
    assert progress.line() == (
        "counts: batch 7, 1,000 rows in 0.50 s, 2,000 rows/s, lag 6, state 7 rows, watermark 2026-11-16T09:59:50.000Z"
    )
    assert progress.document()["lag"] == 6


def test_an_idle_batch_without_state_has_neither_rate_nor_lag() -> None:
    progress = BatchProgress.of({"name": "n", "batchId": 1, "timestamp": "t", "numInputRows": 0, "sources": []})
    assert progress.line() == "n: batch 1, 0 rows in 0.00 s"
    assert progress.lag is None


def test_lag_counts_only_sources_that_tell_offsets() -> None:
    # Spark gives offsets of a Python source as JSON in a text, others in forms of their own.
    text = {"endOffset": '{"t": {"0": 1}}', "latestOffset": '{"t": {"0": 4}}'}
    assert lag_of([text, {"endOffset": 5, "latestOffset": 9}, {"endOffset": "x", "latestOffset": None}]) == 3
    assert lag_of([{"endOffset": None, "latestOffset": '{"t": {"0": 4}}'}]) is None
    # A log that was cut behind the query is no negative lag.
    assert lag_of([{"endOffset": {"t": {"0": 9}}, "latestOffset": {"t": {"0": 4}}}]) == 0


def rescuing(batch: int, records: int, *names: str | None) -> BatchProgress:
    metric = {"records": records, "names": [{"item": name, "count": 1} for name in names]}
    return BatchProgress.of({**TOLD, "batchId": batch, "observedMetrics": {"rescued fields of t": metric, "mine": {}}})


def test_records_with_fields_that_their_schema_lacks_are_told() -> None:
    progress = rescuing(1, 3, "nick\nage", "age", None)
    assert (progress.rescued_records, progress.rescued_fields) == (3, ("nick", "age"))
    assert progress.line().endswith(", 3 with fields that the schema lacks")
    assert rescuing(1, 0, None).line() == BatchProgress.of({**TOLD, "batchId": 1}).line()


def test_at_the_end_all_that_was_rescued_is_told() -> None:
    stream = StringIO()
    display = ProgressDisplay(stream, clock=lambda: 0.0)
    for progress in (rescuing(1, 3, "nick\nage"), rescuing(2, 4, "age", "mail"), rescuing(3, 0, None)):
        display.show(progress)
    display.close()
    assert stream.getvalue().splitlines()[-1] == "counts: 7 records had fields that the schema lacks: nick, age, mail"
