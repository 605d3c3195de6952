"""The thread behind the synchronous clients."""

import asyncio
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from ottla.clients.errors import ClientClosedError, IllegalStateError
from ottla.clients.sync.runner import Runner
from ottla.runtime.loop_thread import LoopTask
from tests.cli.terminal import heed_ctrl_c

PATIENCE_S = 30


@pytest.fixture
def runner() -> Iterator[Runner]:
    runner = Runner()
    yield runner
    runner.close()


async def thread_name() -> str:
    return threading.current_thread().name


def test_results_and_exceptions_come_back(runner: Runner) -> None:
    async def fail() -> None:
        raise LookupError("mine")

    assert runner.run(thread_name()) == "ottla-clients"
    assert runner.call(lambda: 7) == 7
    with pytest.raises(LookupError, match="mine"):
        runner.run(fail())


ALONE = """
import threading
from ottla.clients.sync.runner import Runner

def client_threads():
    return sum(thread.name == "ottla-clients" for thread in threading.enumerate())

one, other = Runner(), Runner()
seen = [client_threads()]
other.close()
other.close()
seen.append(client_threads())
one.close()
seen.append(client_threads())
print(seen)
"""


def test_runners_share_a_thread_that_ends_with_the_last() -> None:
    """In a process of its own: in this one other tests may have a client open."""
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("[1, 1, 0]\n", "")


def test_a_closed_runner_runs_nothing(runner: Runner) -> None:
    runner.close()
    with pytest.raises(ClientClosedError):
        runner.run(thread_name())
    with pytest.raises(ClientClosedError):
        runner.call_soon(lambda: None)


def test_any_thread_may_call(runner: Runner) -> None:
    async def add_later(number: int) -> int:
        await asyncio.sleep(0)
        return number + 1

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda number: runner.run(add_later(number)), range(200))) == list(range(1, 201))


def test_the_loop_cannot_wait_for_itself(runner: Runner) -> None:
    with pytest.raises(IllegalStateError, match="its own loop"):
        runner.call(lambda: runner.run(thread_name()))


INTERRUPTED = """
import asyncio, os, signal, threading
from ottla.clients.sync.runner import Runner

async def work():
    print("working", flush=True)
    try:
        await asyncio.sleep(3600)
    finally:
        await asyncio.sleep(0)
        print("cleaned up", flush=True)

runner = Runner()
try:
    runner.run(work())
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(runner.call(lambda: "still usable"), flush=True)
runner.close()
"""


def test_an_interrupt_cancels_the_call_and_leaves_the_client_usable() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True, preexec_fn=heed_ctrl_c
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "working\n"
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE_S)
    assert out.splitlines() == ["cleaned up", "interrupted", "still usable"]
    assert process.returncode == 0


@pytest.mark.parametrize("was_started", [False, True])
def test_an_interrupt_at_the_start_of_a_call(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, *, was_started: bool
) -> None:
    """The signal comes before the call waits: what it has begun must not go on by itself."""
    start = LoopTask.start
    ended: list[str] = []

    def interrupted(task: LoopTask[None]) -> None:
        if was_started:
            start(task)
        monkeypatch.undo()
        raise KeyboardInterrupt

    async def work() -> None:
        try:
            await asyncio.sleep(PATIENCE_S)
        finally:
            ended.append("cleaned up")

    monkeypatch.setattr(LoopTask, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        runner.run(work())
    assert runner.run(thread_name()) == "ottla-clients"
    assert ended in ([], ["cleaned up"])
    running = runner.call(lambda: [getattr(task.get_coro(), "__name__", "") for task in asyncio.all_tasks()])
    assert "work" not in running


LEFT_OPEN = """
from ottla.clients.sync.runner import Runner

async def close():
    print("closed at exit", flush=True)

runner = Runner()
runner.close_with(close)
print("end", flush=True)
"""


def test_a_client_that_nobody_closes_is_closed_at_exit() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEFT_OPEN], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (done.stdout.splitlines(), done.stderr, done.returncode) == (["end", "closed at exit"], "", 0)


FORKED = """
import os
from ottla.clients.sync.runner import Runner

runner = Runner()
child = os.fork()
if child == 0:
    own = Runner()
    print(own.call(lambda: "child"), flush=True)
    own.close()
    os._exit(0)
os.waitpid(child, 0)
print(runner.call(lambda: "parent"), flush=True)
runner.close()
"""


def test_a_forked_child_gets_a_thread_of_its_own() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (done.stdout.splitlines(), done.stderr, done.returncode) == (["child", "parent"], "", 0)
