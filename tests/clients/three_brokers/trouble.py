"""Brokers that die while a client works."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from ottla.clients.sync.admin import Admin
from tests.clients.admin.waiting import attempts
from tests.clients.three_brokers.replicas import await_in_sync
from tests.node_cluster import NodeCluster

BOUND_S: Final = 150


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine, which must end in time; brokers start meanwhile, on a machine that may be busy."""

    async def bounded() -> None:
        async with asyncio.timeout(BOUND_S):
            await coroutine

    asyncio.run(bounded())


def replace_coordinator(brokers: NodeCluster, admin: Admin, topic: str, coordinator: Callable[[], int]) -> None:
    """Kill whoever coordinates, and start it again when another does."""
    killed = coordinator()
    brokers.nodes[killed].kill()
    for _ in attempts(f"A coordinator that is not {killed}"):
        if coordinator() != killed:
            break
    brokers.start()
    await_in_sync(admin, topic)


async def repeat_during(trouble: Callable[[], None], once: Callable[[], Awaitable[None]]) -> None:
    """Do something again and again until the trouble, which runs in a thread, is over, and once more."""
    await once()
    troubled = asyncio.get_running_loop().run_in_executor(None, trouble)
    while not troubled.done():
        await once()
    await troubled
    await once()
