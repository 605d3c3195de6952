"""``ottla pipeline verify``: do two topics, or a topic and a table, hold the same records, each as often?

In two steps. First each side is read once, unit by unit, and only sums come back: 4,096 buckets of record hashes, a few
numbers each, so that memory does not depend on how many records there are; sums add up, so a killed run resumes. If the
buckets are the same, so are the records. Only else both sides are read again, just the buckets that differ, to say
which records those are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ottla.spark.jars import Say
from ottla.spark.pipeline.failure import spark_errors
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.record_hash import BUCKETS, SUMS, bucket_sums, hashed
from ottla.spark.pipeline.sliced_run import RunStore, Unit, failed_run, run_units
from ottla.spark.pipeline.stop_request import StopRequest
from ottla.spark.pipeline.verify_result import Comparison, Sample, Side, differing, merged, records_in, shown
from ottla.spark.pipeline.verify_sides import ComparedSide

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DEFAULT_SAMPLES: Final = 10
_FILTER_MAX: Final = BUCKETS // 4
"""If more buckets differ than this, leaving out the others saves nothing."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What is compared; ``parts`` empty: all that both sides have of key, value and headers."""

    left: ComparedSide
    right: ComparedSide
    parts: tuple[str, ...]
    samples: int = DEFAULT_SAMPLES

    def wanted(self) -> dict[str, Any]:
        """What makes two runs the same."""
        return {"left": self.left.identity(), "right": self.right.identity(), "parts": list(self.parts)}


def verify_on(
    spark: "SparkSession", job: Job, work: Verification, store: RunStore, stop: StopRequest, *, say: Say
) -> Comparison | None:
    """Compare; None if a stop was asked for before all was read."""
    sides = {"left": work.left, "right": work.right}
    plan, resumes = store.settle(work.wanted(), lambda: {name: side.plan(spark) for name, side in sides.items()})
    say(
        f"resuming the comparison that began at {plan['began']}"
        if resumes
        else f"comparing {work.left.what} with {work.right.what} by {', '.join(work.parts)}"
    )
    units: list[Unit] = []
    for name, side in sides.items():
        for number, (offsets, read) in enumerate(side.units(spark, plan[name])):
            units.append(Unit(f"{name}-{number:05d}", offsets, partial(_sums, read, work.parts), _counted))
    results = run_units(job, store, units, stop)
    if results is None:
        return None
    left, right = (
        merged(result for unit, result in zip(units, results, strict=True) if unit.name.startswith(name))
        for name in sides
    )
    buckets = differing(left, right)
    comparison = Comparison(
        Side(work.left.what, records_in(left)), Side(work.right.what, records_in(right)), work.parts
    )
    if buckets:
        try:
            comparison = _explained(spark, work, plan, comparison, buckets)
        except spark_errors() as error:
            raise failed_run(job, store, error) from error
    store.clear()
    return comparison


def _sums(read: "Callable[[], DataFrame]", parts: Sequence[str]) -> dict[str, Any]:
    rows = bucket_sums(hashed(read(), parts)).collect()
    return {"buckets": [[row["bucket"], *(row[name] for name in SUMS)] for row in rows]}


def _counted(result: dict[str, Any]) -> int:
    return records_in(merged([result]))


def _explained(
    spark: "SparkSession", work: Verification, plan: dict[str, Any], comparison: Comparison, buckets: list[int]
) -> Comparison:
    """Which records differ: counts of all, and some of them."""
    from pyspark.sql import functions as f

    def side(which: ComparedSide, part: dict[str, Any], sign: int) -> "DataFrame":
        frame = hashed(which.whole(spark, part), work.parts)
        if len(buckets) <= _FILTER_MAX:
            frame = frame.where(f.col("bucket").isin(buckets))
        return frame.withColumn("sign", f.lit(sign))

    left, right = side(work.left, plan["left"], 1), side(work.right, plan["right"], -1)
    columns = ["h1", "h2", "sign"]
    differences = (
        left.select(*columns)
        .unionByName(right.select(*columns))
        .groupBy("h1", "h2")
        .agg(f.sum("sign").alias("more"))
        .where("more <> 0")
    )
    counts = [f.sum(f.greatest(f.col("more") * sign, f.lit(0))) for sign in (1, -1)]
    only_left, only_right = differences.agg(*counts).collect()[0]
    some = differences.orderBy(f.abs("more").desc(), "h1", "h2").limit(work.samples).collect()
    wanted = {(row["h1"], row["h2"]): row["more"] for row in some}
    samples = [
        *_samples(left, {key: more for key, more in wanted.items() if more > 0}, work.left.what),
        *_samples(right, {key: -more for key, more in wanted.items() if more < 0}, work.right.what),
    ]
    return Comparison(comparison.left, comparison.right, work.parts, int(only_left or 0), int(only_right or 0), samples)


def _samples(frame: "DataFrame", wanted: dict[tuple[int, int], int], what: str) -> list[Sample]:
    """One record of each hash."""
    from pyspark.sql import functions as f

    if not wanted:
        return []
    columns = [name for name in ("key", "value", "headers") if name in frame.columns]
    some = frame.where(f.col("h1").isin([h1 for h1, _ in wanted])).select("h1", "h2", "place", *columns)
    samples = []
    for row in some.dropDuplicates(["h1", "h2"]).collect():
        times = wanted.get((row["h1"], row["h2"]))
        if times is None:
            continue
        found = row.asDict()
        headers = [f"{each['key']}={shown(_bytes(each['value']))}" for each in found.get("headers") or ()]
        key, value = (shown(_bytes(found.get(name))) for name in ("key", "value"))
        samples.append(Sample(what, times, found["place"], key, value, headers))
    return sorted(samples, key=lambda sample: sample.place)


def _bytes(value: object) -> bytes | None:
    if value is None:
        return None
    return value.encode() if isinstance(value, str) else bytes(value)  # type: ignore[call-overload]
