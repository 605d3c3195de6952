"""Commands run against Ottla's node and, where OTTLA_APACHE_HALF=1, Apache's: as the clients' tests do."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.beside import Beside
from tests.cli.streams import Streams
from tests.clients.conftest import PROPERTIES, topic
from tests.clients.conftest import pytest_collection_modifyitems as select_and_group
from tests.interop.cluster import CLUSTERS, running_node, sample_oracle
from tests.node import Node
from tests.oracle import Oracle

__all__ = ["topic"]

BESIDE_APACHE = 3
"""How many tests of a module `make test` runs beside Apache's tool; `make interop` runs all."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """As in the tests of clients; and a JVM for every tool and every test takes long."""
    select_and_group(config, items)
    sample_oracle(config, items, Path(__file__).parent, BESIDE_APACHE)


@pytest.fixture(scope="session", params=CLUSTERS)
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A running node for the tests of all commands; none of them stops it."""
    with running_node(request, tmp_path_factory, PROPERTIES) as node:
        yield node


@pytest.fixture
def beside(kafka: Node, oracle: Oracle) -> Beside:
    """Our command and Apache's tool of that name, on the same cluster."""
    return Beside(kafka.bootstrap, oracle)


@pytest.fixture
def hasty(tmp_path: Path) -> str:
    """A file for --command-config with which a client gives up soon."""
    path = tmp_path / "hasty.properties"
    path.write_text("default.api.timeout.ms=2000\nrequest.timeout.ms=1500\n")
    return str(path)


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str, str], str]:
    """Write a file and return its path."""

    def write(name: str, text: str) -> str:
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


@pytest.fixture
def streams(kafka: Node, oracle: Oracle) -> Streams:
    """As `beside`, for commands that read or print for long."""
    return Streams(kafka.bootstrap, oracle)
