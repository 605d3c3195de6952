"""What Spark tells of a micro-batch, in the few figures that people and the console look at. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

from ottla.spark.pipeline.rescued_fields import told


class BatchProgress(NamedTuple):
    """One finished micro-batch (or an idle one, with no rows) of one query."""

    query: str
    batch_id: int
    timestamp: str
    """When it began, in UTC, as ISO 8601."""
    rows: int
    rows_per_second: float
    batch_ms: int
    lag: int | None
    """Records that are in the topics and not yet in a batch; None if the sources do not say."""
    watermark: str | None
    state_rows: int | None
    """Rows in the state of the query's operators; None if it keeps none."""
    rescued_records: int = 0
    """Records with fields that their schema lacks and a column keeps."""
    rescued_fields: Sequence[str] = ()
    """The outermost names of most of these."""

    @classmethod
    def of(cls, progress: Mapping[str, Any]) -> Self:
        """Read a StreamingQueryProgress, as its JSON has it."""
        batch_ms = int(progress.get("batchDuration") or progress.get("durationMs", {}).get("triggerExecution", 0))
        rows = int(progress.get("numInputRows", 0) or 0)
        rescued_records, rescued_fields = told(progress.get("observedMetrics") or {})
        operators = progress.get("stateOperators") or []
        return cls(
            query=str(progress.get("name") or ""),
            batch_id=int(progress.get("batchId", -1)),
            timestamp=str(progress.get("timestamp", "")),
            rows=rows,
            rows_per_second=round(rows * 1000 / batch_ms, 1) if batch_ms else 0.0,
            batch_ms=batch_ms,
            lag=lag_of(progress.get("sources") or []),
            watermark=(progress.get("eventTime") or {}).get("watermark"),
            state_rows=sum(int(each.get("numRowsTotal", 0)) for each in operators) if operators else None,
            rescued_records=rescued_records,
            rescued_fields=rescued_fields,
        )

    def line(self) -> str:
        """One line for people."""
        parts = [f"batch {self.batch_id}", f"{self.rows:,} rows in {self.batch_ms / 1000:.2f} s"]
        if self.rows:
            parts.append(f"{self.rows_per_second:,.0f} rows/s")
        if self.lag is not None:
            parts.append(f"lag {self.lag:,}")
        if self.state_rows is not None:
            parts.append(f"state {self.state_rows:,} rows")
        if self.watermark is not None:
            parts.append(f"watermark {self.watermark}")
        if self.rescued_records:
            parts.append(f"{self.rescued_records:,} with fields that the schema lacks")
        return f"{self.query}: " + ", ".join(parts)

    def document(self) -> dict[str, object]:
        """The same for programs."""
        return self._asdict()


def lag_of(sources: list[Mapping[str, Any]]) -> int | None:
    """How far the end offsets of a batch are behind the latest ones, summed over the sources that tell both."""
    lags = []
    for source in sources:
        latest, end = _offsets(source.get("latestOffset")), _offsets(source.get("endOffset"))
        if latest and end:
            lags.append(sum(max(0, offset - end.get(partition, 0)) for partition, offset in latest.items()))
    return sum(lags) if lags else None


def _offsets(told: object) -> dict[tuple[str, str], int]:
    """Offsets as ``{"topic": {"0": 42}}`` by topic and partition; nothing if they are of another form."""
    if isinstance(told, str):
        try:
            told = json.loads(told)
        except ValueError:
            return {}
    if not isinstance(told, Mapping):
        return {}
    return {
        (topic, partition): offset
        for topic, partitions in told.items()
        if isinstance(partitions, Mapping)
        for partition, offset in partitions.items()
        if isinstance(offset, int)
    }
