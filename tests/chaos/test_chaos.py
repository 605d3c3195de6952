"""SIGKILL at random: a short run here, 200 kills in ``make chaos``."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.session import Session

KILLS_A_SESSION = 9


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="worker processes are found in /proc")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_killed_writers_leave_what_they_promised(tmp_path: Path, seed: int) -> None:
    session = Session(str(tmp_path / "data"), seed)
    for _ in range(KILLS_A_SESSION):
        session.kill_once()
    print(f"{session.kills} kills in {session.lives} lives, aimed at {', '.join(session.aims)}")
    assert session.kills == KILLS_A_SESSION
