"""Waiting for what a cluster does in its own time."""

import time
from collections.abc import Iterator

BOUND_S = 30
_PAUSE_S = 0.02


def attempts(what: str) -> Iterator[None]:
    """Yield until the caller breaks out, with short pauses; AssertionError when it takes too long."""
    deadline = time.monotonic() + BOUND_S
    while time.monotonic() < deadline:
        yield
        time.sleep(_PAUSE_S)
    raise AssertionError(f"{what} did not happen within {BOUND_S} s")
