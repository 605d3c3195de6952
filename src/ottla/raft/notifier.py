"""Telling listeners what is committed: from memory while they keep up, from the log and its snapshots otherwise.

A listener that is new, or has fallen behind, is brought up by one coroutine, in slices; meanwhile nothing is told from
memory, so that every listener sees all offsets in order.
"""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Final, Generic, TypeVar

from ottla.raft.batch import CommittedBatch, RecordSerde, committed, decode_values, valid_batches
from ottla.raft.listener import ListenerContext, RaftListener
from ottla.raft.metadata_log import MetadataLog
from ottla.raft.offset_and_epoch import LeaderAndEpoch
from ottla.raft.slices import CHECK_INTERVAL, Slices
from ottla.raft.snapshot_names import BOOTSTRAP_SNAPSHOT_ID
from ottla.raft.snapshot_reader import SnapshotReader
from ottla.records.batch import RecordBatch
from ottla.runtime.port import Runtime

T = TypeVar("T")

_READ_BYTES: Final = 1 << 20


class Notifier(Generic[T]):
    """The listeners of one client."""

    def __init__(
        self,
        runtime: Runtime,
        serde: RecordSerde[T],
        leadership: Callable[[], tuple[LeaderAndEpoch, int | None] | None],
        spawn: Callable[[Coroutine[Any, Any, None]], Awaitable[None]],
    ) -> None:
        """``leadership`` gives the leader and, if that is this node, where its epoch begins; None to keep silent.

        ``spawn`` starts work whose failure is fatal.
        """
        self._runtime = runtime
        self._serde = serde
        self._leadership = leadership
        self._spawn = spawn
        self._log: MetadataLog | None = None
        self._high_watermark: int | None = None
        self._contexts: list[ListenerContext[T]] = []
        self._catching_up: Awaitable[None] | None = None
        self._is_catching_up = False
        self._is_telling = False

    def start(self, log: MetadataLog) -> None:
        """There is a log from now on; nothing in it is known to be committed yet."""
        self._log = log

    async def stop(self) -> None:
        """Tell nothing more; returns when nobody is being told anything."""
        self._contexts.clear()
        if self._catching_up is not None:
            await self._catching_up

    def register(self, listener: RaftListener[T]) -> None:
        """Tell a listener everything from the start, soon."""
        assert all(context.listener is not listener for context in self._contexts), f"{listener} is registered already"
        self._contexts.append(ListenerContext(listener))
        self._catch_up_if_behind()

    def unregister(self, listener: RaftListener[T]) -> None:
        """Tell a listener nothing more."""
        self._contexts = [context for context in self._contexts if context.listener is not listener]

    def committed(self, batches: Sequence[CommittedBatch[T]], high_watermark: int) -> None:
        """These batches, the last ones below the high watermark, are committed now."""
        self._high_watermark = high_watermark
        base_offset = batches[0].base_offset
        if not self._is_catching_up and all(context.next_offset == base_offset for context in self._contexts):
            self._is_telling = True
            try:
                for batch in batches:
                    for context in tuple(self._contexts):
                        if context.next_offset == batch.base_offset:
                            context.fire_commit(batch)
            finally:
                self._is_telling = False
            self.leader_changed()
        self._catch_up_if_behind()

    def leader_changed(self) -> None:
        """Tell of the leader whoever is far enough and does not know it."""
        leadership = self._leadership()
        if leadership is not None:
            for context in tuple(self._contexts):
                context.maybe_fire_leader_change(*leadership)

    async def catch_up(self) -> None:
        """Wait until all listeners have seen what is committed."""
        if self._catching_up is not None:
            await self._catching_up

    # -- from the disk ------------------------------------------------------------------------------------------------

    def _behind(self) -> ListenerContext[T] | None:
        high_watermark = self._high_watermark
        if high_watermark is None:
            return None
        return next((context for context in self._contexts if context.next_offset < high_watermark), None)

    def _catch_up_if_behind(self) -> None:
        if not self._is_catching_up and not self._is_telling and self._behind() is not None:
            self._is_catching_up = True
            self._catching_up = self._spawn(self._bring_all_up())

    async def _bring_all_up(self) -> None:
        slices = Slices(self._runtime)
        log = self._log
        assert log is not None
        try:
            with log.log.disk.doing("reading"):
                while (context := self._behind()) is not None:
                    await self._bring_up(context, log, slices)
        finally:
            self._is_catching_up = False
        self.leader_changed()

    async def _bring_up(self, context: ListenerContext[T], log: MetadataLog, slices: Slices) -> None:
        """Load snapshots where the log does not reach back, then some batches; those at the same offset go together."""
        for lagging in tuple(self._contexts):
            if lagging in self._contexts and (lagging.is_new or lagging.next_offset < log.start_offset):
                await self._load_snapshot(lagging, log)
        if context.next_offset < log.start_offset:
            return  # the log was cut meanwhile, at a later snapshot
        found = log.read(context.next_offset, _READ_BYTES)
        if found is None:
            return
        for batch in valid_batches(await self._runtime.blocking(found.read)):
            told = committed(batch, await self._decode(batch, slices))
            for reader in tuple(self._contexts):
                if batch.base_offset <= reader.next_offset <= batch.last_offset:
                    reader.fire_commit(told)
                    await slices.pause_if_due()

    async def _load_snapshot(self, context: ListenerContext[T], log: MetadataLog) -> None:
        snapshot_id = log.snapshots.latest_id
        if snapshot_id is None or snapshot_id == BOOTSTRAP_SNAPSHOT_ID:
            assert log.start_offset == 0, f"the log begins at {log.start_offset}, and there is no snapshot before it"
            context.next_offset = 0
            return
        context.next_offset = snapshot_id.offset
        path = log.snapshots.path(snapshot_id)
        loading = context.listener.handle_load_snapshot(SnapshotReader(self._runtime, path, snapshot_id, self._serde))
        if loading is not None:
            await loading

    async def _decode(self, batch: RecordBatch, slices: Slices) -> list[T]:
        records: list[T] = []
        if batch.is_control:
            return records
        for record in decode_values(batch, self._serde):
            records.append(record)
            if len(records) % CHECK_INTERVAL == 0:
                await slices.pause_if_due()
        return records
