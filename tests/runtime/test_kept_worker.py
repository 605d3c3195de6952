"""AsyncioRuntime.compute: one process for many calls, which goes when nobody needs it."""

import asyncio
import os
from collections.abc import Awaitable, Callable

import pytest

from ottla.runtime import worker_process
from ottla.runtime.live import AsyncioRuntime
from tests.runtime import worker_jobs


def run(scenario: Callable[[AsyncioRuntime], Awaitable[object]]) -> None:
    async def bounded() -> None:
        runtime = AsyncioRuntime()
        try:
            async with asyncio.timeout(60):
                await scenario(runtime)
        finally:
            await runtime.stop()

    asyncio.run(bounded())


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_calls_take_turns_in_one_process_that_ends_with_the_runtime() -> None:
    pids: set[int] = set()

    async def scenario(runtime: AsyncioRuntime) -> None:
        answers = await asyncio.gather(*(runtime.compute(worker_jobs.product, number, 7) for number in range(20)))
        assert [product for product, _ in answers] == [7 * number for number in range(20)]
        pids.update(pid for _, pid in answers)

    run(scenario)
    (pid,) = pids
    assert pid != os.getpid()
    assert not is_alive(pid)


def test_an_exception_is_raised_here_and_the_process_goes_on() -> None:
    async def scenario(runtime: AsyncioRuntime) -> None:
        _, before = await runtime.compute(worker_jobs.product, 1, 1)
        with pytest.raises(ValueError, match="not like that") as caught:
            await runtime.compute(worker_jobs.refuse, "not like that")
        assert "worker_jobs" in caught.value.__notes__[0]
        assert await runtime.compute(worker_jobs.product, 2, 3) == (6, before)

    run(scenario)


def test_a_death_is_an_os_error_and_the_next_call_has_a_new_process() -> None:
    async def scenario(runtime: AsyncioRuntime) -> None:
        _, before = await runtime.compute(worker_jobs.product, 1, 1)
        with pytest.raises(ChildProcessError):
            await runtime.compute(worker_jobs.exit_with, 3)
        product, after = await runtime.compute(worker_jobs.product, 2, 3)
        assert product == 6
        assert after != before

    run(scenario)


def test_a_call_that_is_given_up_ends_its_process() -> None:
    async def scenario(runtime: AsyncioRuntime) -> None:
        _, before = await runtime.compute(worker_jobs.product, 1, 1)
        endless = asyncio.ensure_future(runtime.compute(worker_jobs.sleep_s, 3600))
        queued = asyncio.ensure_future(runtime.compute(worker_jobs.product, 2, 3))
        await asyncio.sleep(0)
        endless.cancel()
        product, after = await queued
        assert product == 6
        assert after != before
        assert not is_alive(before)

    run(scenario)


def test_who_waits_when_the_runtime_stops_hears_of_it() -> None:
    async def scenario(runtime: AsyncioRuntime) -> None:
        _, pid = await runtime.compute(worker_jobs.product, 1, 1)
        endless = asyncio.ensure_future(runtime.compute(worker_jobs.sleep_s, 3600))
        queued = asyncio.ensure_future(runtime.compute(worker_jobs.product, 2, 3))
        await asyncio.sleep(0)
        await runtime.stop()
        for waiting in (endless, queued):
            with pytest.raises(ChildProcessError):
                await waiting
        assert not is_alive(pid)

    run(scenario)


def test_an_idle_process_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "IDLE_S", 0)

    async def scenario(runtime: AsyncioRuntime) -> None:
        _, pid = await runtime.compute(worker_jobs.product, 1, 1)
        while is_alive(pid):
            await asyncio.sleep(0.001)

    run(scenario)
