"""Fixtures of the server's tests: a broker for all tests of a module, a connection, a topic that nobody has used."""

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

from ottla.testing import Broker
from tests.oracle import Oracle
from tests.server.txn_wire import TxnProducer
from tests.server.wire import Wire, create_topic

KEEP_ALL = {"log.retention.ms": "-1"}
"""Tests write records of 1970, which brokers delete when they first look at their logs, 30 s after the start."""
_MEMORY = "/dev/shm"
_numbers = count()


class Addresses(NamedTuple):
    """The listeners of a node."""

    broker: str
    controller: str


@pytest.fixture
def quiet_logger() -> Iterator[logging.Logger]:
    """A logger to change, as it was before."""
    found = logging.getLogger("tests.server.config_handlers")
    found.setLevel(logging.NOTSET)
    yield found
    found.setLevel(logging.NOTSET)


@pytest.fixture(scope="module")
def broker_properties() -> Mapping[str, str]:
    """What a module's broker is configured with."""
    return {"auto.create.topics.enable": "false"}


@pytest.fixture(scope="module")
def broker(broker_properties: Mapping[str, str]) -> Iterator[Broker]:
    """A broker in this process, for tests that look inside; its files are in memory, where there is such a place."""
    where = _MEMORY if os.path.isdir(_MEMORY) else None
    with (
        TemporaryDirectory(prefix="ottla-server-", dir=where) as directory,
        Broker({**KEEP_ALL, **broker_properties}, directory=directory) as found,
    ):
        yield found


@pytest.fixture(scope="module")
def addresses(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    broker_properties: Mapping[str, str],
) -> Iterator[Addresses]:
    """Where a node listens, for tests that only talk to it.

    With OTTLA_APACHE_HALF=1 it is Apache's: what these tests expect is Kafka's behaviour, not ours.
    """
    if os.environ.get("OTTLA_APACHE_HALF") != "1":
        found: Broker = request.getfixturevalue("broker")
        yield Addresses(found.bootstrap_servers, f"127.0.0.1:{found._running.controller_port}")
        return
    oracle: Oracle = request.getfixturevalue("oracle")
    with oracle.broker(tmp_path_factory.mktemp("apache"), {**KEEP_ALL, **broker_properties}) as node:
        yield Addresses(node.bootstrap, node.bootstrap_controller)


@pytest.fixture(scope="module")
def address(addresses: Addresses) -> str:
    """The broker's."""
    return addresses.broker


@pytest.fixture
def wire(address: str) -> Iterator[Wire]:
    """A connection to that broker."""
    with Wire(address) as found:
        yield found


@pytest.fixture
def controller_wire(addresses: Addresses) -> Iterator[Wire]:
    """A connection to its controller's listener."""
    with Wire(addresses.controller) as found:
        yield found


@pytest.fixture
def connect(address: str) -> Iterator[Callable[[], Wire]]:
    """As many more connections as a test wants."""
    wires: list[Wire] = []

    def make() -> Wire:
        wires.append(Wire(address))
        return wires[-1]

    yield make
    for each in wires:
        each.close()


@pytest.fixture
def topic() -> str:
    """A name that no topic has had."""
    return f"topic-{next(_numbers)}"


@pytest.fixture
def existing(address: str, topic: str) -> str:
    """A topic with two partitions."""
    create_topic(address, topic, partitions=2)
    return topic


@pytest.fixture
def producer(wire: Wire) -> TxnProducer:
    """A transactional producer that has been initialized."""
    made = TxnProducer(wire, f"txn-{next(_numbers)}")
    assert made.init() == 0
    return made
