"""One cluster and one topic of skewed records for all pipeline commands: they read it and write elsewhere."""

from collections.abc import Iterator

import pytest

from tests.clients.conftest import PROPERTIES
from tests.ottla_broker import OttlaBroker
from tests.spark.cluster.killed_runs import RECORDS, World
from tests.spark.skewed import fill_skewed
from tests.spark.standalone import StandaloneCluster, bare_python


@pytest.fixture(scope="package")
def world(tmp_path_factory: pytest.TempPathFactory, java_home: str) -> Iterator[World]:
    """A broker with the topic ``skewed``, and a standalone master with two workers whose Python has no Ottla."""
    scratch = tmp_path_factory.mktemp("cluster")
    python = bare_python(scratch / "bare")
    with (
        OttlaBroker(scratch / "broker", PROPERTIES) as broker,
        StandaloneCluster(scratch / "spark", java_home) as cluster,
    ):
        fill_skewed(broker.bootstrap, "skewed", RECORDS)
        yield World(broker.bootstrap, cluster, python)
