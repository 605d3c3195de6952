"""One secured broker for all tests here: it takes seconds to start."""

from collections.abc import Iterator

import pytest

from tests.clients.security.secured_broker import SecuredBroker, secured_broker
from tests.oracle import Oracle


@pytest.fixture(scope="package")
def secured(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    with secured_broker(oracle, tmp_path_factory.mktemp("secured")) as broker:
        yield broker
