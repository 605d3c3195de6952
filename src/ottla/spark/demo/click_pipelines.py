"""Two pipelines over click events, as anybody would write them; ``ottla demo`` runs them.

``page_counts`` counts the clicks of each page in windows of event time, to a topic. ``visits`` keeps state for each
user, and writes a row to a Delta table when somebody has been away for a while.
"""

import os
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql.functions import count, timestamp_millis, window
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from ottla.spark.pipeline import Json, Table, Topic, pipeline

DIRECTORY = os.environ.get("OTTLA_DEMO_DIRECTORY", "ottla-demo")
AWAY_MS = 10_000
DEAD_LETTERS = "clicks.dead-letters"

clicks = Topic("clicks", Json("user string not null, page string not null, at_ms bigint not null"))


@pipeline(source=clicks, sink=Topic("page-counts", key="page"), dead_letters=DEAD_LETTERS, every="2 seconds")
def page_counts(clicks: DataFrame) -> DataFrame:
    """Clicks a page in every ten seconds; a window is told when its time is over, late clicks included."""
    return (
        clicks.withColumn("at", timestamp_millis("at_ms"))
        .withWatermark("at", "5 seconds")
        .groupBy(window("at", "10 seconds"), "page")
        .agg(count("*").alias("clicks"))
        .selectExpr("window.start AS start", "window.end AS end", "page", "clicks")
    )


class Visit(StatefulProcessor):
    """For each user the visit under way; a timer of event time ends it when the user has been away."""

    def init(self, handle: Any) -> None:
        """Declare the state."""
        self._handle = handle
        self._state = handle.getValueState(
            "visit", "clicks bigint, pages array<string>, first_ms bigint, last_ms bigint"
        )

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803, ARG002
        """Somebody clicked."""
        clicked = sorted(rows, key=lambda row: row.at_ms)
        count, pages, first_ms, last_ms = self._state.get() or (0, [], clicked[0].at_ms, 0)
        pages = [*pages, *dict.fromkeys(row.page for row in clicked if row.page not in pages)]
        last_ms = max(last_ms, clicked[-1].at_ms)
        self._state.update((count + len(clicked), pages, min(first_ms, clicked[0].at_ms), last_ms))
        for timer in list(self._handle.listTimers()):
            self._handle.deleteTimer(timer)
        self._handle.registerTimer(last_ms + AWAY_MS)
        return iter([])

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803, ARG002
        """Somebody has been away for long enough."""
        count, pages, first_ms, last_ms = self._state.get()
        self._state.clear()
        yield Row(user=key[0], clicks=count, pages=list(pages), seconds=(last_ms - first_ms) / 1000, last_ms=last_ms)

    def close(self) -> None:
        """Nothing is open."""


@pipeline(source=clicks, sink=Table(f"{DIRECTORY}/visits"), dead_letters=DEAD_LETTERS, every="2 seconds")
def visits(clicks: DataFrame) -> DataFrame:
    """What each user did between coming and going."""
    return (
        clicks.withColumn("at", timestamp_millis("at_ms"))
        .withWatermark("at", "5 seconds")
        .select("user", "page", "at_ms", "at")
        .groupBy("user")
        .transformWithState(
            Visit(),
            "user string, clicks bigint, pages array<string>, seconds double, last_ms bigint",
            outputMode="append",
            timeMode="eventTime",
        )
    )
