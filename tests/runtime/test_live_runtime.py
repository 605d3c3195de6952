"""AsyncioRuntime: threads, worker processes, and that they end."""

import asyncio
import os
import subprocess
import sys
import threading
from contextlib import aclosing
from pathlib import Path

import pytest

from ottla.runtime.live import AsyncioRuntime
from ottla.runtime.port import Runtime
from tests.runtime import worker_jobs


def test_blocking_calls_run_elsewhere() -> None:
    async def scenario(runtime: Runtime) -> tuple[str, int]:
        return await runtime.blocking(lambda: (threading.current_thread().name, 42))

    name, result = asyncio.run(scenario(AsyncioRuntime()))
    assert result == 42
    assert name.startswith("ottla-blocking")


def test_work_yields_what_the_function_yields() -> None:
    async def scenario() -> list[int]:
        return [item async for item in AsyncioRuntime().work(worker_jobs.count, 3, 7)]

    assert asyncio.run(scenario()) == [3, 4, 5, 6]


def test_the_worker_advances_only_on_request(tmp_path: Path) -> None:
    async def scenario() -> list[list[str]]:
        seen = []
        async with aclosing(AsyncioRuntime().work(worker_jobs.touch_each, str(tmp_path), 5)) as items:
            async for item in items:
                seen.append(sorted(os.listdir(tmp_path)))
                if item == 2:
                    break
        return seen

    assert asyncio.run(scenario()) == [["0"], ["0", "1"], ["0", "1", "2"]]
    assert sorted(os.listdir(tmp_path)) == ["0", "1", "2"]


def test_stray_output_does_not_disturb_large_items(capfd: pytest.CaptureFixture[str]) -> None:
    async def scenario() -> list[bytes]:
        return [item async for item in AsyncioRuntime().work(worker_jobs.chatter)]

    assert asyncio.run(scenario()) == [bytes(3_000_000)]
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "stray output" in captured.err
    assert "and from C" in captured.err


def test_an_exception_comes_back_with_its_traceback() -> None:
    async def scenario() -> None:
        async for item in AsyncioRuntime().work(worker_jobs.fail_after_one, "no more"):
            assert item == 1

    with pytest.raises(ValueError, match="no more") as caught:
        asyncio.run(scenario())
    assert "fail_after_one" in caught.value.__notes__[0]


@pytest.mark.parametrize("job", [worker_jobs.fail_unreadably, worker_jobs.die])
def test_what_cannot_come_back_is_an_os_error(job: object) -> None:
    async def scenario() -> None:
        async for _ in AsyncioRuntime().work(job):  # type: ignore[arg-type]
            pass

    with pytest.raises(ChildProcessError):
        asyncio.run(scenario())


def test_workers_are_nice() -> None:
    async def scenario() -> tuple[int, int]:
        async with aclosing(AsyncioRuntime(worker_niceness=7).work(worker_jobs.environment)) as items:
            return await anext(items)

    pid, niceness = asyncio.run(scenario())
    assert pid != os.getpid()
    assert niceness == min(19, os.nice(0) + 7)


def test_closing_ends_a_busy_worker() -> None:
    async def scenario() -> int:
        items = AsyncioRuntime().work(worker_jobs.pid_then_busy)
        pid = await anext(items)
        busy = asyncio.ensure_future(anext(items))
        await asyncio.sleep(0)
        busy.cancel()
        with pytest.raises(asyncio.CancelledError):
            await busy
        return pid

    pid = asyncio.run(scenario())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_the_death_of_the_parent_ends_a_busy_worker() -> None:
    program = (
        "import asyncio, os\n"
        "from ottla.runtime.live import AsyncioRuntime\n"
        "from tests.runtime import worker_jobs\n"
        "async def scenario():\n"
        "    items = AsyncioRuntime().work(worker_jobs.pid_then_busy)\n"
        "    await anext(items)\n"
        "    asyncio.ensure_future(anext(items))\n"
        "    await asyncio.sleep(0)\n"
        "    os.kill(os.getpid(), 9)\n"
        "asyncio.run(scenario())\n"
    )
    # The worker holds our pipe as its stderr: the pipe ends when the worker does.
    result = subprocess.run(
        [sys.executable, "-c", program], stderr=subprocess.PIPE, cwd=Path(__file__).parents[2], timeout=60, check=False
    )
    assert result.returncode == -9


def test_a_function_of_main_is_refused() -> None:
    def job() -> object: ...

    job.__module__ = "__main__"

    async def scenario() -> None:
        async for _ in AsyncioRuntime().work(job):  # type: ignore[arg-type]
            pass

    with pytest.raises(ValueError, match="__main__"):
        asyncio.run(scenario())


def test_a_spawned_task_outlives_who_awaits_it() -> None:
    async def scenario() -> list[int]:
        runtime: Runtime = AsyncioRuntime()
        gate = asyncio.Event()

        async def job() -> int:
            await gate.wait()
            return 42

        spawned = runtime.spawn(job())

        async def waiter() -> int:
            return await spawned

        first, second = asyncio.ensure_future(waiter()), asyncio.ensure_future(waiter())
        await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        gate.set()
        return [await second, await spawned]

    assert asyncio.run(scenario()) == [42, 42]
