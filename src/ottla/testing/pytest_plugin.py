"""Fixtures for pytest, which loads them wherever Ottla is installed.

Nothing of the broker is imported before a test asks for one: every run of pytest pays for what is imported here.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ottla.testing.broker import Broker


@pytest.fixture(scope="session")
def ottla_properties() -> Mapping[str, str]:
    """Properties of ``ottla_broker``, by the names of a server.properties: override it, in any scope, to set some."""
    return {}


@pytest.fixture
def ottla_broker(ottla_properties: Mapping[str, str]) -> "Iterator[Broker]":
    """A broker of its own for every test: empty at the start, gone at the end."""
    from ottla.testing.broker import Broker

    with Broker(ottla_properties) as broker:
        yield broker


@pytest.fixture
def ottla_bootstrap(ottla_broker: "Broker") -> str:
    """The address of ``ottla_broker``, for a client's ``bootstrap.servers``."""
    return ottla_broker.bootstrap_servers
