"""A Spark that Delta has no jar for is refused before anything is written, and before Spark starts."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ottla.clients.sync import Admin
from ottla.spark.errors import SparkUnavailableError
from ottla.spark.pipeline import Json, Table, Topic, pipeline
from ottla.spark.pipeline.backfill import Backfill, backfill
from ottla.spark.pipeline.job import Job
from ottla.spark.pipeline.land import land
from ottla.spark.pipeline.landing import Landing
from ottla.spark.pipeline.record_mapping import RecordMapping
from ottla.spark.pipeline.running import run_pipelines
from ottla.spark.pipeline.table_reading import TableSource
from ottla.spark.pipeline.verify_command import VerifyRequest, verify
from ottla.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Command = Callable[[Job, str], object]


def _land(job: Job, path: str) -> object:
    landing = Landing("t", "delta", "json", "day", None, f"{path}/_ottla/checkpoint")
    return land(job, landing, path, dead_letters="letters", every="1 second", say=_say)


def _backfill(job: Job, path: str) -> object:
    return backfill(job, Backfill(TableSource(path, "delta"), "filled", RecordMapping()), say=_say)


def _verify(job: Job, path: str) -> object:
    return verify(job, VerifyRequest("t", table=TableSource(path, "delta")), say=_say)


def _run(job: Job, path: str) -> object:
    declare = pipeline(source=Topic("t", Json("n int")), sink=Table(path), dead_letters="letters")
    return run_pipelines([declare(_same)], job, say=_say)


def _same(frame: "DataFrame") -> "DataFrame":
    return frame


def _say(message: str) -> None:
    pytest.fail(f"nothing is done that takes long: {message}")


@pytest.mark.parametrize("command", [_land, _backfill, _verify, _run], ids=lambda each: each.__name__)
def test_nothing_is_written(
    command: Command, broker: Broker, job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyspark.version.__version__", "4.3.0")
    monkeypatch.setattr("ottla.spark.pipeline.engine.spark_session", lambda *_, **__: pytest.fail("Spark starts"))
    with pytest.raises(SparkUnavailableError, match=r"Delta tables need Spark .*, and PySpark is 4\.3\.0 here"):
        command(job, str(tmp_path / "table"))
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        assert not admin.list_topics()
    assert list(tmp_path.iterdir()) == []
