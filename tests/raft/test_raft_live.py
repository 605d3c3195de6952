"""On asyncio and a real disk: appends are flushed in a thread while the reactor goes on."""

import asyncio
from pathlib import Path

from ottla.runtime.live import AsyncioRuntime
from tests.raft.quorum_of_one import Witness, client


def test_appends_from_many_tasks_are_committed_in_order_and_survive(tmp_path: Path) -> None:
    async def live() -> tuple[list[int], list[bytes]]:
        runtime = AsyncioRuntime()
        raft, witness = client(runtime, str(tmp_path)), Witness()
        raft.register(witness)
        await raft.start()
        housekeeping = asyncio.create_task(raft.run())
        offsets: list[int] = []

        async def writer(number: int) -> None:
            for part in range(20):
                offsets.append(raft.schedule_append(1, [b"%d.%d" % (number, part)]))
                await asyncio.sleep(0)

        await asyncio.gather(*(writer(number) for number in range(10)))
        await raft.stop()
        housekeeping.cancel()
        runtime.close()
        return offsets, witness.records

    offsets, told = asyncio.run(live())
    assert offsets == list(range(1, 201))
    assert len(told) == 200

    async def again() -> list[bytes]:
        runtime = AsyncioRuntime()
        raft, witness = client(runtime, str(tmp_path)), Witness()
        raft.register(witness)
        await raft.start()
        assert raft.leader_and_epoch == (1, 2)
        await raft.stop()
        runtime.close()
        return witness.records

    assert asyncio.run(again()) == told
