"""One Spark session for all tests of this directory, on one worker of pytest-xdist; jars if they can be had."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.version import __version__ as PYSPARK  # noqa: N812 - a constant

from ottla.spark.errors import SparkUnavailableError
from ottla.spark.jars import PACKAGES, Coordinate, coordinates_of, find_jars
from ottla.spark.java import find_java_home
from ottla.spark.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
needs_arrow_functions = pytest.mark.skipif(PYSPARK.startswith("4.0."), reason="Avro values need PySpark 4.1 or newer")
STOCK_CONNECTOR = (
    Coordinate("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0"),
    Coordinate("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0"),  # there is no 4.2.0 of it
    Coordinate("org.apache.kafka", "kafka-clients", "3.9.2"),
    Coordinate("org.apache.commons", "commons-pool2", "2.13.1"),
)


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep what uses the session on one worker: one JVM. What is marked spark_full runs when it is asked for."""
    full = "spark_full" in str(config.getoption("markexpr", ""))
    left_out = []
    for item in items:
        if HERE in item.path.parents:
            if "spark" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.xdist_group("spark"))
            if not full and item.get_closest_marker("spark_full"):
                left_out.append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def java_home() -> str:
    """What Spark runs on."""
    return find_java_home()


@pytest.fixture(scope="session")
def stock_jars(java_home: str) -> list[str]:
    """The stock Kafka connector's jars, or none if they cannot be had, or are of another Spark than this."""
    if not PYSPARK.startswith("4.2."):
        return []
    return _jars_or_none("spark-sql-kafka", STOCK_CONNECTOR, java_home)


@pytest.fixture(scope="session")
def delta_jars(java_home: str) -> list[str]:
    """Delta's jars, or none if they cannot be had, or there are none for this Spark."""
    if ".".join(PYSPARK.split(".")[:2]) not in PACKAGES["delta"]:
        return []
    return _jars_or_none("delta", coordinates_of("delta", PYSPARK), java_home)


def _jars_or_none(name: str, coordinates: tuple[Coordinate, ...], java_home: str) -> list[str]:
    try:
        return find_jars(name, coordinates, java_home, lambda message: print(f"[spark] {message}"))
    except SparkUnavailableError:
        if os.environ.get("CI") or os.environ.get("OTTLA_REQUIRE_ORACLE"):
            raise
        return []


@pytest.fixture(scope="session")
def spark(
    stock_jars: list[str], delta_jars: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator["SparkSession"]:
    """A session on two cores of this machine, with the stock connector and Delta for tests that compare."""
    scratch = tmp_path_factory.mktemp("spark")
    session = spark_session(
        "ottla-tests",
        master="local[2]",
        conf={
            "spark.driver.memory": "1g",
            "spark.jars": ",".join(stock_jars),
            "spark.local.dir": str(scratch / "local"),
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.streaming.metricsEnabled": "false",
            "spark.sql.warehouse.dir": str(scratch / "warehouse"),
            "spark.ui.enabled": "false",
        },
        packages=["delta"] if delta_jars else [],
    )
    yield session
    session.stop()
