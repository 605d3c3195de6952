"""Brokers that die while a client works."""

import asyncio
from collections.abc import Awaitable, Callable

from ottla.clients.sync.admin import Admin
from tests.clients.admin.waiting import attempts
from tests.clients.three_brokers.replicas import await_in_sync
from tests.node_cluster import NodeCluster


def kill_in_turn(
    brokers: NodeCluster, admin: Admin, topic: str, coordinator: Callable[[], int], times: int = 2
) -> None:
    """Kill whoever coordinates, start it again when another does, and kill that one, …"""
    for _ in range(times):
        brokers.start()
        await_in_sync(admin, topic)
        killed = coordinator()
        brokers.nodes[killed].kill()
        for _ in attempts(f"A coordinator that is not {killed}"):
            if coordinator() != killed:
                break


async def repeat_during(trouble: Callable[[], None], once: Callable[[], Awaitable[None]]) -> None:
    """Do something again and again until the trouble, which runs in a thread, is over, and once more."""
    await once()
    troubled = asyncio.get_running_loop().run_in_executor(None, trouble)
    while not troubled.done():
        await once()
    await troubled
    await once()
