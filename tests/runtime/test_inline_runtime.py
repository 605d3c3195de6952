"""InlineRuntime, ManualClock and run."""

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from random import Random

import pytest

from ottla.runtime.inline import InlineRuntime, ManualClock, run
from ottla.runtime.port import Runtime


def test_everything_happens_in_place() -> None:
    steps = []

    def job(number: int) -> Iterator[int]:
        try:
            for item in range(number):
                steps.append(item)
                yield item
        finally:
            steps.append(-1)

    async def scenario(runtime: Runtime) -> str:
        async with aclosing(runtime.work(job, 9)) as items:
            async for item in items:
                if item == 1:
                    break
        await runtime.sleep_ms(500)
        return await runtime.blocking(lambda: "done")

    clock = ManualClock(1000)
    assert run(scenario(InlineRuntime(clock=clock, rng=Random(1)))) == "done"
    assert steps == [0, 1, -1]
    assert (clock.now_ms(), clock.monotonic_ms()) == (1500, 500)


def test_stepping_the_wall_clock_leaves_monotonic_time() -> None:
    clock = ManualClock(1000)
    clock.set_now_ms(10)
    clock.advance_ms(5)
    assert (clock.now_ms(), clock.monotonic_ms()) == (15, 5)
    with pytest.raises(ValueError, match="-1"):
        clock.advance_ms(-1)


def test_run_refuses_to_suspend() -> None:
    async def scenario() -> None:
        await asyncio.sleep(0)

    with pytest.raises(AssertionError, match="suspended"):
        run(scenario())


def test_exceptions_pass_through() -> None:
    async def scenario() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        run(scenario())
