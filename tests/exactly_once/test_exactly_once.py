"""Exactly once, whoever is killed: a short run here, a long one in ``python -m tests.exactly_once``.

Against Apache's broker where OTTLA_APACHE_HALF=1 says so, which shows that the test asks for what Kafka promises.
"""

import os
from pathlib import Path

import pytest

from tests.exactly_once.session import PROPERTIES, ExactlyOnceSession
from tests.exactly_once.workers import new_command
from tests.oracle import Oracle
from tests.ottla_broker import OttlaBroker

SEED = 5
KILLS = {"copier": 3, "copier-group": 3, "loop": 5, "loop-consumer": 5}
"""The death of one of Apache's copiers is noticed, or its transaction over, only after seconds: fewer of them die."""
CLUSTERS = (
    "ottla",
    *(["apache"] if os.environ.get("OTTLA_APACHE_HALF") == "1" else []),
)


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("kind", KILLS)
def test_each_record_is_copied_once_whoever_is_killed(kind: str, cluster: str, oracle: Oracle, tmp_path: Path) -> None:
    node = OttlaBroker(tmp_path, PROPERTIES) if cluster == "ottla" else oracle.broker(tmp_path, PROPERTIES)
    session = ExactlyOnceSession(node, new_command(kind, oracle, SEED), tmp_path, SEED)
    session.run(KILLS[kind], oracle)
    print(session.story())
    assert session.kills == KILLS[kind]
    assert session.copied > 0
    assert session.aborted > 0
