"""Does what a transactional producer decides, by talking to the coordinators of its transactions and of groups."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, Protocol

from ottla.clients.cluster.coordinator_cache import CoordinatorType
from ottla.clients.consumer.group_metadata import ConsumerGroupMetadata
from ottla.clients.errors import IllegalStateError, KafkaTimeoutError, TransactionAbortedError
from ottla.clients.producer import transaction_requests as requests
from ottla.clients.producer.idempotence import NO_PRODUCER, ProducerIdAndEpoch
from ottla.clients.producer.prepared_transaction import PreparedTransaction
from ottla.clients.producer.transaction_caller import TransactionCaller
from ottla.clients.producer.transaction_manager import TransactionManager, TransactionState
from ottla.clients.producer.transaction_requests import Offsets
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.protocol.message import Message

logger = logging.getLogger(__name__)

_FIRST_ADD_BACKOFF_MS: Final = 20
"""The markers of the transaction before are on their way; they do not take long."""


class TransactionBatches(Protocol):
    """The records of a transaction, as the sender has them."""

    def abort_undrained(self, error: KafkaError) -> None:
        """Fail what was never sent."""

    def abort_all(self, error: KafkaError) -> None:
        """Fail everything."""


class TransactionCoordination:
    """One change of the transaction at a time. One that takes longer than its timeout goes on; only it may be repeated.

    Offsets are no such change: a commit waits for them, an abort gives them up.
    """

    def __init__(
        self,
        manager: TransactionManager,
        caller: TransactionCaller,
        batches: TransactionBatches,
        *,
        drained: Callable[[], Awaitable[None]],
        wake_sender: Callable[[], None],
        transaction_timeout_ms: int,
    ) -> None:
        """``drained`` waits until everything that was appended is acknowledged, or has failed."""
        self._manager = manager
        self._caller = caller
        self._batches = batches
        self._drained = drained
        self._wake_sender = wake_sender
        self._transaction_timeout_ms = transaction_timeout_ms
        self._pending: tuple[str, asyncio.Task[None]] | None = None
        self._adding: asyncio.Task[None] | None = None
        self._offsets: asyncio.Task[None] | None = None
        assert manager.transactional_id is not None
        self._id: str = manager.transactional_id
        manager.on_new_partition = self._begin_to_add_partitions
        manager.on_error = self._on_error

    # -- what the user asks -------------------------------------------------------------------------------------------

    async def init_transactions(self, timeout_ms: int) -> None:
        """Get an id and an epoch; whoever had this transactional id before is fenced, and its transaction aborted."""
        await self._perform("init_transactions", self._init, timeout_ms)

    def begin_transaction(self) -> None:
        """Begin one, in the version that the cluster has by now."""
        self._require_nothing_pending("begin_transaction")
        self._manager.begin_transaction(is_v2=self._caller.is_v2)

    async def commit_transaction(self, timeout_ms: int) -> None:
        """Send what is left, and commit; raises what spoiled the transaction, which is then to be aborted."""
        await self._perform("commit_transaction", self._commit, timeout_ms)

    async def prepare_transaction(self, timeout_ms: int) -> PreparedTransaction | None:
        """Send what is left, and leave the transaction open; raises what spoiled it, which is then to be aborted."""
        await self._perform("prepare_transaction", self._prepare, timeout_ms)
        manager = self._manager
        return PreparedTransaction(self._id, *manager.producer, manager.is_v2) if manager.needs_end else None

    async def abort_transaction(self, timeout_ms: int) -> None:
        """Fail what was not sent, and abort."""
        await self._perform("abort_transaction", self._abort, timeout_ms)

    async def send_offsets(self, offsets: Offsets, group: ConsumerGroupMetadata, timeout_ms: int) -> None:
        """Commit offsets of a consumer's group with the transaction."""
        name = "send_offsets_to_transaction"
        self._require_nothing_pending(name)
        self._manager.require_transaction(name)
        if offsets:
            sending = self._send_offsets(self._offsets, offsets, group)
            self._offsets = asyncio.get_running_loop().create_task(sending, name=name)
            await _wait(self._offsets, name, timeout_ms, "it goes on: commit to wait for it, or abort")

    @property
    def may_abort(self) -> bool:
        """Whether there is a transaction to abort, and nothing under way that has to end first."""
        is_free = self._pending is None or self._pending[1].done()
        return is_free and self._manager.state in (TransactionState.IN_TRANSACTION, TransactionState.ABORTABLE_ERROR)

    async def end_open_transaction(self, timeout_ms: int) -> None:
        """The producer is being closed: see what is under way to its end, and abort what would be left hanging."""
        try:
            if self._pending is not None:
                name, task = self._pending
                await _wait(task, name, timeout_ms, "the producer is being closed")
            if self.may_abort:
                logger.info("Aborting the transaction of %s, which is open at the close", self._id)
                await self.abort_transaction(timeout_ms)
        except KafkaError as error:
            logger.warning("A transaction of %s may be left open until it times out: %s", self._id, error)

    async def close(self) -> None:
        """Give up what is under way."""
        tasks = (self._adding, self._offsets, None if self._pending is None else self._pending[1])
        for task in tasks:
            if task is not None:
                task.cancel()
        await _settled(*tasks)

    # -- changes of the transaction -----------------------------------------------------------------------------------

    async def _perform(self, name: str, operation: Callable[[], Coroutine[Any, Any, None]], timeout_ms: int) -> None:
        if self._pending is not None and self._pending[0] != name:
            self._require_nothing_pending(name)
        if self._pending is None:
            self._pending = (name, asyncio.get_running_loop().create_task(operation(), name=name))
        task = self._pending[1]
        try:
            await _wait(task, name, timeout_ms, "it goes on: call it again to wait for it")
        finally:
            if task.done():
                self._pending = None

    def _require_nothing_pending(self, name: str) -> None:
        """What took too long and has ended by now is forgotten: how it ended shows in the state of the producer."""
        if self._pending is None:
            return
        pending, task = self._pending
        if not task.done():
            raise IllegalStateError(f"{name} has to wait: {pending} took too long and must be called again")
        self._pending = None
        if not task.cancelled():
            task.exception()  # nobody will ask for it any more

    async def _init(self) -> None:
        self._manager.begin_initialize()
        await self._initialize(NO_PRODUCER)

    async def _initialize(self, producer: ProducerIdAndEpoch) -> None:
        manager = self._manager
        request = requests.init_producer_id(self._id, self._transaction_timeout_ms, producer)
        try:
            response = await self._caller.ask(request, CoordinatorType.TRANSACTION, self._id)
        except KafkaError:
            if manager.state is TransactionState.ABORTABLE_ERROR:
                manager.give_up_initializing()
            raise
        manager.initialized(ProducerIdAndEpoch(response.producer_id, response.producer_epoch))  # type: ignore[attr-defined]

    async def _commit(self) -> None:
        manager = self._manager
        await _settled(self._offsets)
        manager.begin_commit()
        self._wake_sender()
        await self._drained()
        manager.require_no_error()
        await self._end(committed=True)

    async def _prepare(self) -> None:
        manager = self._manager
        await _settled(self._offsets)
        manager.begin_commit()
        self._wake_sender()
        await self._drained()
        manager.require_no_error()
        manager.prepared()

    async def _abort(self) -> None:
        self._manager.begin_abort()
        error = TransactionAbortedError("The transaction was aborted before this record was sent")
        self._batches.abort_undrained(error)
        self._wake_sender()
        await self._drained()
        await _settled(self._adding, self._offsets)  # what came to a coordinator after the end would belong to nothing
        await self._end(committed=False)

    async def _end(self, *, committed: bool) -> None:
        manager = self._manager
        producer = NO_PRODUCER
        self._offsets = None
        if manager.needs_end:
            request = requests.end_txn(self._id, manager.producer, committed=committed)
            version_max = None if manager.is_v2 else requests.END_TXN_VERSION_MAX_V1
            response = await self._caller.ask(request, CoordinatorType.TRANSACTION, self._id, version_max)
            producer = ProducerIdAndEpoch(response.producer_id, response.producer_epoch)  # type: ignore[attr-defined]
            if self._caller.is_v2 and not manager.is_v2:
                manager.needs_epoch_bump = True  # what comes late of version 1 must not join the next transaction
        before = manager.producer
        manager.ended(producer)
        if manager.state is TransactionState.INITIALIZING:
            await self._initialize(before)

    # -- what belongs to the transaction ------------------------------------------------------------------------------

    async def _send_offsets(
        self, before: asyncio.Task[None] | None, offsets: Offsets, group: ConsumerGroupMetadata
    ) -> None:
        """Commit offsets, after those that were to be committed before."""
        await _settled(before)
        manager, caller = self._manager, self._caller
        if not manager.is_v2:
            request = requests.add_offsets(self._id, manager.producer, group.group_id)
            await caller.ask(request, CoordinatorType.TRANSACTION, self._id)
        manager.offsets_added()
        version_max = None if manager.is_v2 else requests.TXN_OFFSET_COMMIT_VERSION_MAX_V1
        left = dict(offsets)
        back_off = caller.back_off()
        while True:
            commit = requests.txn_offset_commit(self._id, manager.producer, left, group)
            response = await caller.send(commit, CoordinatorType.GROUP, group.group_id, version_max)
            codes = requests.committed_offset_codes(response)  # type: ignore[arg-type]
            for code in codes.values():
                if code:
                    caller.take(commit, code, CoordinatorType.GROUP, group.group_id)
            left = {partition: offset for partition, offset in left.items() if codes.get(partition) != ErrorCode.NONE}
            if not left:
                return
            await caller.pause(back_off)

    def _begin_to_add_partitions(self) -> None:
        """Tell the coordinator of new partitions, unless it is being told; what waits for that is sent afterwards."""
        if self._adding is None:
            self._adding = asyncio.get_running_loop().create_task(self._add_partitions())

    async def _add_partitions(self) -> None:
        manager = self._manager
        try:
            while partitions := manager.partitions_to_add():
                try:
                    await self._add(requests.add_partitions(self._id, manager.producer, partitions))
                except KafkaError as error:
                    manager.partitions_refused(error)
                else:
                    manager.partitions_added()
                self._wake_sender()
        finally:
            self._adding = None

    async def _add(self, request: Message) -> None:
        """Until the coordinator has taken all of them."""
        caller, transaction = self._caller, CoordinatorType.TRANSACTION
        is_first = not self._manager.needs_end
        back_off = caller.back_off()
        while True:
            response = await caller.send(request, transaction, self._id, requests.ADD_PARTITIONS_VERSION_MAX)
            codes = [code for code in requests.added_partition_codes(response).values() if code]  # type: ignore[arg-type]
            if not codes:
                return
            not_attempted = ErrorCode.OPERATION_NOT_ATTEMPTED
            code = next((one for one in codes if one != not_attempted), not_attempted)  # the others follow from that
            caller.take(request, code, transaction, self._id)
            is_ending = is_first and code == ErrorCode.CONCURRENT_TRANSACTIONS
            await caller.pause(back_off, _FIRST_ADD_BACKOFF_MS if is_ending else None)

    # -- errors -------------------------------------------------------------------------------------------------------

    def _on_error(self) -> None:
        # Not at once: whoever notes an error is at work on a batch.
        asyncio.get_running_loop().call_soon(self._give_up_batches)

    def _give_up_batches(self) -> None:
        error, manager = self._manager.error, self._manager
        if error is None:
            return  # it is being aborted by now
        if manager.fatal_error is None:
            self._batches.abort_undrained(error)
        else:
            self._batches.abort_all(error)


async def _wait(task: asyncio.Task[None], name: str, timeout_ms: int, advice: str) -> None:
    """The outcome of a task, or a KafkaTimeoutError; the task goes on whatever becomes of the waiting."""
    done, _ = await asyncio.wait((task,), timeout=timeout_ms / 1000)
    if not done:
        raise KafkaTimeoutError(f"{name} took longer than {timeout_ms} ms; {advice}")
    task.result()


async def _settled(*tasks: asyncio.Task[None] | None) -> None:
    """Wait until tasks have ended, whose errors the manager has noted."""
    await asyncio.gather(*(task for task in tasks if task is not None), return_exceptions=True)
