"""A stateful job through kills of Spark and of its broker: a few in each run of the tests, thirty when asked for."""

from pathlib import Path

import pytest

from tests.spark.chaos.__main__ import CLUSTER, EVERYTHING
from tests.spark.chaos.session import ChaosSession

SEED = 20_261_116


def test_the_whole_of_spark_is_killed(tmp_path: Path) -> None:
    session = ChaosSession(tmp_path, SEED, victims=("driver",))
    session.run(1)
    assert session.killed == {"driver": 1}


@pytest.mark.spark_full
@pytest.mark.parametrize("sink", ["ottla", "delta"])
def test_thirty_kills(tmp_path: Path, sink: str) -> None:
    """Executors in processes of their own, their Python workers, the whole of Spark, and the broker."""
    session = ChaosSession(tmp_path, SEED, sink=sink, master=CLUSTER, victims=EVERYTHING)
    session.run(30)
    assert set(session.killed) == set(EVERYTHING)


@pytest.mark.spark_full
def test_without_exactly_once_rows_are_doubled(tmp_path: Path) -> None:
    """What the others find can be found; a kill must fall between a batch's rows and its end, and ten may all miss."""
    session = ChaosSession(tmp_path, SEED, exactly_once=False, victims=("driver",))
    with pytest.raises(AssertionError, match="rows too many"):
        session.run(30)
