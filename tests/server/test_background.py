"""A task that nobody awaits tells of its failure; one that is ended, or ends, does not."""

import asyncio

from ottla.server.background import Background


async def _fail() -> None:
    raise ValueError("the metadata cannot be followed")


async def _wait() -> None:
    await asyncio.Event().wait()


async def _end() -> None:
    return


def test_a_failure_is_a_fault_of_the_node() -> None:
    faults: list[tuple[str, str]] = []

    async def run() -> None:
        background = Background(lambda what, error: faults.append((what, str(error))))
        background.spawn(_fail(), "publisher")
        background.spawn(_end(), "short")
        background.spawn(_wait(), "long")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await background.stop()

    asyncio.run(run())
    assert faults == [("publisher has failed", "the metadata cannot be followed")]
