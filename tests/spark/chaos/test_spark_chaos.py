"""A stateful job through kills of Spark and of its broker: a few in each run of the tests, thirty when asked for."""

from pathlib import Path

import pytest

from tests.spark.chaos.__main__ import CLUSTER
from tests.spark.chaos.session import ChaosSession

SEED = 20_261_116


def test_the_whole_of_spark_is_killed(tmp_path: Path) -> None:
    session = ChaosSession(tmp_path, SEED, victims=("driver",))
    session.run(1)
    assert session.killed == {"driver": 1}


@pytest.mark.spark_full
@pytest.mark.parametrize("sink", ["ottla", "delta"])
def test_thirty_kills(tmp_path: Path, sink: str) -> None:
    session = ChaosSession(tmp_path, SEED, sink=sink)
    session.run(30)
    assert set(session.killed) == {"worker", "driver", "broker"}


@pytest.mark.spark_full
def test_executors_of_a_cluster_are_killed(tmp_path: Path) -> None:
    session = ChaosSession(tmp_path, SEED, master=CLUSTER, victims=("executor", "worker", "broker"))
    session.run(10)
    assert session.killed["executor"]


@pytest.mark.spark_full
def test_without_exactly_once_rows_are_doubled(tmp_path: Path) -> None:
    """What the others find can be found."""
    session = ChaosSession(tmp_path, SEED, exactly_once=False, victims=("driver",))
    with pytest.raises(AssertionError, match="rows too many"):
        session.run(10)
