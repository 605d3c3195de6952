"""The driver of raft: it elects, appends, flushes, and tells listeners what is committed.

It runs a quorum of one voter, this node. Whatever more voters need (votes, fetches, begin and end of epochs) comes in
as further callers of :class:`QuorumState` and :class:`LeaderState`, which know nothing of how many there are.

An append takes its offsets at once, waits for the end of the reactor's turn, is written together with all others that
wait, flushed away from the reactor, and then committed: what listeners hear of is on the disk. What fails on the way
is fatal, for nobody knows then what the disk holds.

Life: new → ``start`` → leader, ⇄ resigned → ``stop`` → stopped; or failed.
"""

import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any, Final, Generic, TypeVar

from ottla.common.error_words import in_words
from ottla.common.errors import KafkaError, ResourceShortageError
from ottla.raft.accumulator import BatchAccumulator
from ottla.raft.batch import CommittedBatch, RecordSerde
from ottla.raft.config import MetadataLogConfig, QuorumConfig
from ottla.raft.control_loader import load_control_state
from ottla.raft.control_state import ControlState
from ottla.raft.epoch_states import CandidateState, ResignedState
from ottla.raft.errors import NotLeaderError
from ottla.raft.leader_state import LeaderState, QuorumInfo
from ottla.raft.listener import RaftListener
from ottla.raft.metadata_log import MetadataLog
from ottla.raft.notifier import Notifier
from ottla.raft.offset_and_epoch import UNKNOWN_LEADER, LeaderAndEpoch, OffsetAndEpoch
from ottla.raft.quorum_state import QuorumState
from ottla.raft.quorum_state_store import FileQuorumStateStore
from ottla.raft.raft_metrics import RaftMetrics
from ottla.raft.slices import CHECK_INTERVAL, Slices
from ottla.raft.snapshot_writer import SnapshotWriter
from ottla.raft.voter_set import VoterNode, VoterSet
from ottla.runtime.port import Buffer, Runtime
from ottla.runtime.shortage import SHORTAGE_TRIES, SHORTAGE_WAIT_MS

logger = logging.getLogger(__name__)

T = TypeVar("T")

CLEANING_INTERVAL_MS: Final = 60_000

_HOUSEKEEPING_TICK_MS: Final = 1_000


def raise_fault(message: str, error: BaseException) -> None:
    """What happens to a fault that nobody else takes care of."""
    raise RuntimeError(message) from error


class RaftClient(Generic[T]):
    """See the module. All methods are called on the reactor."""

    def __init__(
        self,
        runtime: Runtime,
        metadata_log_dir: str,
        local: VoterNode,
        serde: RecordSerde[T],
        *,
        static_voters: VoterSet | None = None,
        log_config: MetadataLogConfig | None = None,
        quorum_config: QuorumConfig | None = None,
        fatal_fault: Callable[[str, BaseException], None] = raise_fault,
        on_disk_failure: Callable[[str, OSError], None] = lambda _directory, _error: None,
    ) -> None:
        """``metadata_log_dir`` is the data directory that holds the metadata; ``local`` this node with the directory's
        id, its controller listeners and the kraft versions that it speaks. ``fatal_fault`` ends the process;
        ``on_disk_failure`` hears of a failing disk before anybody else does, and is given the data directory.
        """
        self._runtime = runtime
        self._clock = runtime.clock
        self._metadata_log_dir = metadata_log_dir
        self._local = local
        self._serde = serde
        self._log_config = log_config or MetadataLogConfig()
        self._quorum_config = quorum_config or QuorumConfig()
        self._fatal_fault = fatal_fault
        self._tell_disk_failure = on_disk_failure
        self._control = ControlState(static_voters or VoterSet())
        self._log: MetadataLog | None = None
        self._quorum: QuorumState | None = None
        self._accumulator: BatchAccumulator[T] | None = None
        self._notifier: Notifier[T] = Notifier(runtime, serde, self._leadership, self._spawn)
        self._is_writing = False
        self._writer: Awaitable[None] | None = None
        self._is_stopped = False
        self._cleaning_due_ms = 0
        self.failure: BaseException | None = None
        """What ended this client, None while it works."""
        self.metrics = RaftMetrics(
            lambda: self._quorum, self._log_end, lambda: len(self._control.voters), self._clock.monotonic_ms
        )

    # -- life ---------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Load the log, become leader, and tell all listeners registered so far what is committed.

        KafkaStorageError for a disk that fails, CorruptRecordError for a damaged snapshot or batch, InvalidConfigError
        for a quorum of which this node is not the only voter.
        """
        logger.info("Reading KRaft snapshot and log as part of the initialization")
        log = self._log = await MetadataLog.load(
            self._runtime, self._metadata_log_dir, self._log_config, self._on_disk_failure
        )
        try:
            with log.log.disk.doing("reading"):
                await load_control_state(self._runtime, log, self._control)
            logger.info("Starting voters are %s", self._control.voters)
            store = FileQuorumStateStore(
                self._runtime.files, log.directory, partial(self._on_disk_failure, self._metadata_log_dir)
            )
            quorum = self._quorum = QuorumState(
                self._local, self._control, store, self._quorum_config, self._runtime.rng
            )
            self._control.voters.check_only_voter(self._local.key)
            quorum.initialize(log.end_offset, self._clock.monotonic_ms())
            self._cleaning_due_ms = self._clock.monotonic_ms() + CLEANING_INTERVAL_MS
            self._notifier.start(log)
            self._elect(quorum)
            self._is_writing = True
            await self._write_pending()
        except BaseException:
            self._is_stopped = True
            self._accumulator = None
            log.log.close_handlers()
            raise
        await self._notifier.catch_up()

    async def stop(self) -> None:
        """Write what was scheduled, resign, close the log."""
        log = self._log
        if log is None or self._is_stopped:
            return
        logger.info("Beginning graceful shutdown")
        while self._is_writing and self._writer is not None:
            await self._writer
        self._is_stopped = True
        self._accumulator = None
        if self._quorum is not None and self._quorum.leader is not None:
            self._quorum.become_resigned(self._clock.monotonic_ms())
        await self._notifier.stop()
        if self.failure is None:
            log.close()
        else:
            log.log.close_handlers()
        logger.info("Graceful shutdown completed")

    def halt(self) -> None:
        """Write nothing more, as if the process had ended."""
        self._is_stopped = True
        self._accumulator = None

    async def run_due(self) -> int:
        """Do the chores that are due; returns the milliseconds until it should be called again."""
        if self._log is not None and not self._is_stopped and self.failure is None:
            self._log.run_deletions()
            if self._clock.monotonic_ms() >= self._cleaning_due_ms:
                try:
                    self._log.maybe_clean()
                except KafkaError as error:
                    logger.error("Had an error during log cleaning: %s", error)
                self._cleaning_due_ms = self._clock.monotonic_ms() + CLEANING_INTERVAL_MS
        return _HOUSEKEEPING_TICK_MS

    async def run(self) -> None:
        """Keep house until ``stop``."""
        while not self._is_stopped and self.failure is None:
            await self._runtime.sleep_ms(await self.run_due())

    def _on_disk_failure(self, directory: str, error: OSError) -> None:
        logger.error("The metadata log in %s is offline: %s", directory, in_words(error))
        self._tell_disk_failure(directory, error)

    # -- elections ----------------------------------------------------------------------------------------------------

    def _elect(self, quorum: QuorumState) -> None:
        """Stand for election and win it, being the only voter."""
        now_ms = self._clock.monotonic_ms()
        if not isinstance(quorum.state, CandidateState):
            prospective = quorum.become_prospective(now_ms)
            assert prospective.votes.is_vote_granted, "the only voter's own vote is a majority"
            quorum.become_candidate(now_ms)
        log = self._require_log()
        leader = quorum.become_leader(log.end_offset.offset)
        log.initialize_leader_epoch(leader.epoch)
        self._accumulator = BatchAccumulator(
            leader.epoch, log.end_offset.offset, self._log_config.max_batch_bytes, self._serde
        )
        self._accumulator.append_control(leader.start_of_epoch_messages(), self._clock.now_ms())

    def resign(self, epoch: int) -> None:
        """Step down from ``epoch``, and stand again after an election timeout; an epoch that is over is ignored.

        What was scheduled and not written is dropped; what was written is committed by the next epoch's leader.
        """
        leader = self._leader
        if leader is None or epoch < leader.epoch:
            logger.debug("Ignoring call to resign from epoch %d", epoch)
            return
        assert epoch == leader.epoch, f"Attempt to resign from epoch {epoch}, which is larger than {leader.epoch}"
        assert self._quorum is not None
        logger.info("Received user request to resign from the current epoch %d", epoch)
        resigned = self._quorum.become_resigned(self._clock.monotonic_ms())
        self._accumulator = None
        self._spawn(self._stand_again(resigned))

    async def _stand_again(self, resigned: ResignedState) -> None:
        await self._runtime.sleep_ms(max(resigned.election_deadline_ms - self._clock.monotonic_ms(), 0))
        quorum = self._quorum
        if quorum is None or self._is_stopped or quorum.state is not resigned:
            return
        quorum.become_unattached(resigned.epoch + 1, None, self._clock.monotonic_ms())
        self._notifier.leader_changed()
        self._elect(quorum)
        self._write_soon()

    # -- appending ----------------------------------------------------------------------------------------------------

    def schedule_append(self, epoch: int, records: Sequence[T]) -> int:
        """Append records as one batch, all or none; returns the offset of the last one, which is not committed yet.

        NotLeaderError if this node does not lead ``epoch`` any more, RecordListTooLargeError for more than a batch
        holds, BufferAllocationError when too much waits for the disk.
        """
        accumulator = self._accumulator
        if accumulator is None:
            raise NotLeaderError("Append failed because the replica is not the current leader")
        last_offset = accumulator.append(epoch, records, self._clock.now_ms())
        self._write_soon()
        return last_offset

    def _write_soon(self) -> None:
        """Write what waits when the reactor's turn ends, unless somebody writes already."""
        if not self._is_writing:
            self._is_writing = True
            self._writer = self._spawn(self._write_pending())

    async def _write_pending(self) -> None:
        """Write, flush and commit until nothing waits; whatever is scheduled during a flush goes with the next one."""
        log = self._require_log()
        try:
            while self._accumulator:
                epoch = self._accumulator.epoch
                chunks, batches = self._accumulator.drain()
                for chunk in chunks:
                    await self._append(log, chunk, epoch)
                for batch in batches:
                    if batch.control_records:
                        self._control.handle_log_batch(batch.base_offset, batch.control_records)
                self.metrics.appended_records += batches[-1].last_offset + 1 - batches[0].base_offset
                await log.flush()
                self._on_flushed(epoch, batches)
        finally:
            self._is_writing = False

    async def _append(self, log: MetadataLog, chunk: Buffer, epoch: int) -> None:
        """Append, and wait a while for open files where a roll needs some."""
        for tries_left in reversed(range(SHORTAGE_TRIES)):
            try:
                log.append_as_leader(chunk, epoch)
            except ResourceShortageError:
                if not tries_left:
                    raise
                await self._runtime.sleep_ms(SHORTAGE_WAIT_MS)
            else:
                return

    def _on_flushed(self, epoch: int, batches: list[CommittedBatch[T]]) -> None:
        leader = self._leader
        if leader is None or leader.epoch != epoch:
            return  # resigned meanwhile: the next leader's first record commits these
        if leader.update_local_state(batches[-1].last_offset + 1):
            assert leader.high_watermark is not None
            self._require_log().update_high_watermark(leader.high_watermark)
            now_ms = self._clock.now_ms()
            for batch in batches:
                self.metrics.record_commit(max(now_ms - batch.append_time_ms, 0), batch)
            self._notifier.committed(batches, leader.high_watermark)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> Awaitable[None]:
        return self._runtime.spawn(self._guarded(work))

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        """Whatever goes wrong in raft's own work ends raft."""
        try:
            await work
        except Exception as error:  # not hidden: it ends the process
            self.failure = self.failure or error
            self._accumulator = None
            logger.critical("Unexpected error in raft", exc_info=error)
            self._fatal_fault("Unexpected error in raft", error)

    # -- listeners and snapshots --------------------------------------------------------------------------------------

    def register(self, listener: RaftListener[T]) -> None:
        """Tell a listener of everything: the latest snapshot first, then each batch, then who leads."""
        self._notifier.register(listener)

    def unregister(self, listener: RaftListener[T]) -> None:
        """Tell a listener nothing more."""
        self._notifier.unregister(listener)

    async def create_snapshot(
        self, offset: int, epoch: int, append_time_ms: int, records: Iterable[T], serde: RecordSerde[T] | None = None
    ) -> OffsetAndEpoch | None:
        """Write a snapshot of everything committed below ``offset``; None if there is no use for it.

        ``epoch`` and ``append_time_ms`` are those of the batch before ``offset``, at which a batch begins. ``records``
        is read in slices, and written by ``serde`` where that is another one than the log's. ValueError for an offset
        or epoch that the log contradicts.
        """
        log = self._require_log()
        write = (serde or self._serde).write
        snapshot_id = OffsetAndEpoch(offset, epoch)
        if not log.check_snapshot_id(snapshot_id):
            return None
        log.roll_at(offset)
        with log.log.disk.doing("writing a snapshot"):
            writer = SnapshotWriter(
                self._runtime,
                log.directory,
                snapshot_id,
                last_contained_log_timestamp=append_time_ms,
                kraft_version=self._control.kraft_version_at(offset - 1),
                voters=self._control.voters_at(offset - 1),
            )
            try:
                slices = Slices(self._runtime)
                for number, record in enumerate(records):
                    writer.append(write(record))
                    if number % CHECK_INTERVAL == 0:
                        await slices.pause_if_due()
                await writer.freeze()
            finally:
                writer.close()
        log.snapshots.add(snapshot_id)
        self._control.truncate_old(offset)
        logger.info("Created snapshot %s of %d bytes", snapshot_id, writer.size_bytes)
        return snapshot_id

    # -- looking ------------------------------------------------------------------------------------------------------

    @property
    def node_id(self) -> int:
        """The id of this node."""
        return self._local.key.id

    @property
    def leader_and_epoch(self) -> LeaderAndEpoch:
        """Who leads."""
        if self._quorum is None or not self._quorum.is_initialized:
            return UNKNOWN_LEADER
        return self._quorum.leader_and_epoch

    @property
    def high_watermark(self) -> int | None:
        """Everything below it is committed; None until this leader's first record is."""
        return self._leader.high_watermark if self._leader is not None else None

    @property
    def log_end_offset(self) -> int:
        """The offset that the next record gets, counting those that wait to be written."""
        return self._accumulator.next_offset if self._accumulator is not None else self._log_end().offset

    @property
    def latest_snapshot_id(self) -> OffsetAndEpoch | None:
        """The latest snapshot."""
        return self._log.snapshots.latest_id if self._log is not None else None

    @property
    def voters(self) -> VoterSet:
        """The latest voters."""
        return self._control.voters

    @property
    def kraft_version(self) -> int:
        """The latest kraft.version."""
        return self._control.kraft_version

    def describe_quorum(self) -> QuorumInfo:
        """What DescribeQuorum answers; NotLeaderError unless this node leads."""
        if self._leader is None:
            raise NotLeaderError("The replica is not the current leader")
        return self._leader.describe(self._clock.now_ms())

    @property
    def _leader(self) -> LeaderState | None:
        return self._quorum.leader if self._quorum is not None else None

    def _leadership(self) -> tuple[LeaderAndEpoch, int | None] | None:
        """The leader to tell listeners of, and where its epoch begins if that is this node; None to tell nothing."""
        if self._quorum is None or isinstance(self._quorum.state, ResignedState):
            return None
        leader = self._leader
        return self.leader_and_epoch, leader.epoch_start_offset if leader is not None else None

    def _log_end(self) -> OffsetAndEpoch:
        return self._log.end_offset if self._log is not None else OffsetAndEpoch(0, 0)

    def _require_log(self) -> MetadataLog:
        assert self._log is not None, "raft is not started"
        return self._log
