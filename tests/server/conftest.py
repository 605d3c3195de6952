"""Fixtures of the server's tests."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture
def quiet_logger() -> Iterator[logging.Logger]:
    """A logger to change, as it was before."""
    found = logging.getLogger("tests.server.config_handlers")
    found.setLevel(logging.NOTSET)
    yield found
    found.setLevel(logging.NOTSET)
