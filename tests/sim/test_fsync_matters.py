"""Every sync in the source is needed: without any one of them, some story loses what it was promised."""

import logging
import os
from collections.abc import Iterator

import pytest

from tests.sim.crash_files import CrashFiles, SyncSite
from tests.sim.machine import Machine
from tests.sim.stories import STORIES
from tests.sim.story_runner import StoryFailedError, every_step, look, tell
from tests.sim.sync_calls import SOURCE, SyncCall, running_calls, sync_calls

CALLS = sync_calls()
# A machine that lost its power leaves flushes that nobody awaits; the garbage collector says so at odd moments.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited"),
]
LINES = {(os.path.join(SOURCE, call.path), call.lineno): call for call in CALLS}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Thousands of starts log a lot."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("name", STORIES)
def test_nothing_promised_is_lost_at_any_step(name: str) -> None:
    for changes, machine in every_step(name):
        look(name, machine, changes)


def test_the_stories_reach_every_sync() -> None:
    reached: set[tuple[str, int]] = set()

    def listen(_: SyncSite) -> bool:
        reached.update(running_calls(frozenset(LINES)))
        return False

    for name in STORIES:
        machine, finished = tell(name, None, lambda disk: disk.ignore_sync_at(listen))
        assert finished
        look(name, machine, None)
        interrupted, _ = tell(name, 20, lambda disk: disk.ignore_sync_at(listen))
        look(name, interrupted, 20)
    missed = [str(call) for line, call in LINES.items() if line not in reached]
    assert not missed, f"no story reaches {missed}"


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_without_this_sync_something_is_lost(call: SyncCall) -> None:
    line = frozenset({(os.path.join(SOURCE, call.path), call.lineno)})
    reached: list[str] = []
    for name in STORIES:
        if _loses_at_the_end(name, line, reached):
            return
    for name in reached:
        if _loses_in_between(name, line):
            return
    pytest.fail(f"nothing is lost without {call}; it was reached by {reached}")


def _loses_at_the_end(name: str, line: frozenset[tuple[str, int]], reached: list[str]) -> bool:
    """Whether a story without these syncs breaks a promise after its end; notes whether they were reached at all."""

    def is_forgotten(_: SyncSite) -> bool:
        forgotten = bool(running_calls(line))
        if forgotten and name not in reached:
            reached.append(name)
        return forgotten

    machine, finished = tell(name, None, lambda disk: disk.ignore_sync_at(is_forgotten))
    assert finished
    return _breaks_a_promise(name, machine, None)


def _loses_in_between(name: str, line: frozenset[tuple[str, int]]) -> bool:
    def forget(disk: CrashFiles) -> None:
        disk.ignore_sync_at(lambda _: bool(running_calls(line)))

    return any(_breaks_a_promise(name, machine, changes) for changes, machine in every_step(name, forget))


def _breaks_a_promise(name: str, machine: Machine, changes: int | None) -> bool:
    try:
        look(name, machine, changes)
    except StoryFailedError:
        return True
    return False
