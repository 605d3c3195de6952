"""An admin client, and confluent-kafka's to compare it with, of the module's node."""

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient

from ottla.clients.sync.admin import Admin
from tests.node import Node


@pytest.fixture(scope="module")
def admin(kafka: Node) -> Iterator[Admin]:
    """Ottla's client: the synchronous twin, whose methods are the asyncio client's."""
    with Admin(bootstrap_servers=kafka.bootstrap) as client:
        yield client


@pytest.fixture(scope="module")
def confluent(kafka: Node) -> AdminClient:
    """Confluent's client."""
    return AdminClient({"bootstrap.servers": kafka.bootstrap})
