"""docs/network.md names tests and metrics that exist."""

import re
from pathlib import Path

from tests.network.server_harness import Server

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "network.md").read_text()


def test_the_named_tests_exist() -> None:
    source = "".join(path.read_text() for path in (ROOT / "tests" / "network").glob("test_*.py"))
    named = set(re.findall(r"`(test_\w+)`", DOCUMENT))
    assert len(named) > 30
    assert {name for name in named if f"def {name}(" not in source} == set()


def test_every_metric_of_a_server_is_in_the_table() -> None:
    with Server() as server:
        names = {family.name for family in server.registry.collect(0)}
    assert names
    for name in names:
        short = re.sub(r"^kafka_(network_socketserver|server_socket_server_metrics)_", "", name)
        assert f"`{name}`" in DOCUMENT or f"`…{short}`" in DOCUMENT, name
