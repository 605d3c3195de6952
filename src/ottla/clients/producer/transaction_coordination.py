"""Does what a transactional producer decides: speaks with the coordinators until they have answered."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, Protocol

from ottla.clients.back_off import BackOff
from ottla.clients.cluster.cluster_client import ClusterClient
from ottla.clients.cluster.coordinator_cache import CoordinatorType
from ottla.clients.consumer.group_metadata import ConsumerGroupMetadata
from ottla.clients.errors import (
    CommitFailedError,
    IllegalStateError,
    KafkaTimeoutError,
    ProducerFencedError,
    TransactionAbortedError,
    error_for,
)
from ottla.clients.producer import transaction_requests as requests
from ottla.clients.producer.idempotence import NO_PRODUCER, ProducerIdAndEpoch
from ottla.clients.producer.transaction_manager import TransactionManager, TransactionState
from ottla.clients.producer.transaction_requests import Offsets
from ottla.clients.producer.transaction_verdict import Verdict, judge
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.network.client_errors import NetworkError
from ottla.protocol.message import Message

TRANSACTION_VERSION_FEATURE: Final = "transaction.version"
_V2: Final = 2
_FIRST_ADD_BACKOFF_MS: Final = 20
"""The markers of the transaction before are on their way; they do not take long."""
_FENCED: Final = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED)
_LEFT_THE_GROUP: Final = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION)


class TransactionBatches(Protocol):
    """The records of a transaction, as the sender has them."""

    def abort_undrained(self, error: KafkaError) -> None:
        """Fail what was never sent."""

    def abort_all(self, error: KafkaError) -> None:
        """Fail everything."""


class TransactionCoordination:
    """One operation at a time. One that took longer than its timeout goes on, and only it may be called again."""

    def __init__(
        self,
        manager: TransactionManager,
        cluster: ClusterClient,
        batches: TransactionBatches,
        *,
        drained: Callable[[], Awaitable[None]],
        wake_sender: Callable[[], None],
        transaction_timeout_ms: int,
        retry_backoff_ms: int,
        retry_backoff_max_ms: int,
    ) -> None:
        """``drained`` waits until everything that was appended is acknowledged, or has failed."""
        self._manager = manager
        self._cluster = cluster
        self._batches = batches
        self._transaction_timeout_ms = transaction_timeout_ms
        self._retry_backoff_ms = retry_backoff_ms
        self._retry_backoff_max_ms = retry_backoff_max_ms
        self._wake_sender = wake_sender
        self._drained = drained
        self._is_v2 = False
        self._pending: tuple[str, asyncio.Task[None]] | None = None
        self._adding: asyncio.Task[None] | None = None
        assert manager.transactional_id is not None
        self._id: str = manager.transactional_id
        manager.on_new_partition = self.add_partitions
        manager.on_error = self._on_error

    # -- what the user asks -------------------------------------------------------------------------------------------

    async def init_transactions(self, timeout_ms: int) -> None:
        """Get an id and an epoch; whoever had this transactional id before is fenced, and its transaction aborted."""
        await self._perform("init_transactions", self._init, timeout_ms)

    def begin_transaction(self) -> None:
        """Begin one."""
        self._require_nothing_pending("begin_transaction")
        self._manager.begin_transaction(is_v2=self._is_v2)

    async def commit_transaction(self, timeout_ms: int) -> None:
        """Send what is left, and commit; raises what spoiled the transaction, which is then to be aborted."""
        await self._perform("commit_transaction", self._commit, timeout_ms)

    async def abort_transaction(self, timeout_ms: int) -> None:
        """Fail what was not sent, and abort."""
        await self._perform("abort_transaction", self._abort, timeout_ms)

    async def send_offsets(self, offsets: Offsets, group: ConsumerGroupMetadata, timeout_ms: int) -> None:
        """Commit offsets of a consumer's group with the transaction."""
        self._require_nothing_pending("send_offsets_to_transaction")
        self._manager.require_transaction("send_offsets_to_transaction")
        if offsets:
            await self._perform("send_offsets_to_transaction", lambda: self._send_offsets(offsets, group), timeout_ms)

    @property
    def may_abort(self) -> bool:
        """Whether there is a transaction to abort."""
        return self._manager.state in (TransactionState.IN_TRANSACTION, TransactionState.ABORTABLE_ERROR)

    def add_partitions(self) -> None:
        """Tell the coordinator of new partitions, unless it is being told; what waits for that is sent afterwards."""
        if self._adding is None and self._manager.has_partitions_to_add:
            self._adding = asyncio.get_running_loop().create_task(self._add_partitions())

    async def close(self) -> None:
        """Give up what is under way."""
        tasks = [task for task in (self._adding, self._pending[1] if self._pending else None) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- operations ---------------------------------------------------------------------------------------------------

    async def _perform(self, name: str, operation: Callable[[], Coroutine[Any, Any, None]], timeout_ms: int) -> None:
        if self._pending is not None and self._pending[0] != name:
            self._require_nothing_pending(name)
            self._pending = None
        if self._pending is None:
            self._pending = (name, asyncio.get_running_loop().create_task(operation(), name=name))
        task = self._pending[1]
        done, _ = await asyncio.wait((task,), timeout=timeout_ms / 1000)
        if not done:
            raise KafkaTimeoutError(
                f"{name} took longer than {timeout_ms} ms; it goes on: call it again to wait for it"
            )
        self._pending = None
        task.result()

    def _require_nothing_pending(self, name: str) -> None:
        if self._pending is not None and not self._pending[1].done():
            raise IllegalStateError(f"{name} has to wait: {self._pending[0]} took too long and must be called again")

    async def _init(self) -> None:
        manager = self._manager
        manager.begin_initialize()
        await self._initialize(NO_PRODUCER)

    async def _initialize(self, producer: ProducerIdAndEpoch) -> None:
        manager = self._manager
        request = requests.init_producer_id(self._id, self._transaction_timeout_ms, producer)
        try:
            response = await self._ask(request, CoordinatorType.TRANSACTION, self._id)
        except KafkaError as error:
            if manager.state is TransactionState.ABORTABLE_ERROR:
                manager.give_up_initializing(error)
                manager.error = None
            raise
        manager.initialized(ProducerIdAndEpoch(response.producer_id, response.producer_epoch))  # type: ignore[attr-defined]

    async def _commit(self) -> None:
        manager = self._manager
        manager.begin_commit()
        self._wake_sender()
        self.add_partitions()
        await self._drained()
        manager.require_no_error()
        await self._end(committed=True)

    async def _abort(self) -> None:
        manager = self._manager
        manager.begin_abort()
        self._batches.abort_undrained(
            TransactionAbortedError("The transaction was aborted before this record was sent")
        )
        self._wake_sender()
        await self._drained()
        if self._adding is not None:
            await asyncio.wait((self._adding,))
        await self._end(committed=False)

    async def _end(self, *, committed: bool) -> None:
        manager = self._manager
        producer = NO_PRODUCER
        if manager.needs_end:
            request = requests.end_txn(self._id, manager.producer, committed=committed)
            response = await self._ask(
                request,
                CoordinatorType.TRANSACTION,
                self._id,
                None if manager.is_v2 else requests.END_TXN_VERSION_MAX_V1,
            )
            producer = ProducerIdAndEpoch(response.producer_id, response.producer_epoch)  # type: ignore[attr-defined]
        before = manager.producer
        manager.ended(producer)
        if manager.state is TransactionState.INITIALIZING:
            await self._initialize(before)

    async def _send_offsets(self, offsets: Offsets, group: ConsumerGroupMetadata) -> None:
        manager = self._manager
        if not manager.is_v2:
            request = requests.add_offsets(self._id, manager.producer, group.group_id)
            await self._ask(request, CoordinatorType.TRANSACTION, self._id)
        manager.offsets_added()
        version_max = None if manager.is_v2 else requests.TXN_OFFSET_COMMIT_VERSION_MAX_V1
        left = dict(offsets)
        back_off = self._back_off()
        while left:
            commit = requests.txn_offset_commit(self._id, manager.producer, left, group)
            response = await self._send(commit, CoordinatorType.GROUP, group.group_id, version_max)
            again = False
            for topic_partition, code in requests.committed_offset_codes(response).items():  # type: ignore[arg-type]
                if code:
                    again = True
                    self._take(commit, code, CoordinatorType.GROUP, group.group_id)
                else:
                    left.pop(topic_partition, None)
            if again:
                await self._pause(back_off)

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
        is_first = not self._manager.needs_end
        back_off = self._back_off()
        while True:
            response = await self._send(
                request, CoordinatorType.TRANSACTION, self._id, requests.ADD_PARTITIONS_VERSION_MAX
            )
            codes = [code for code in requests.added_partition_codes(response).values() if code]  # type: ignore[arg-type]
            if not codes:
                return
            not_attempted = ErrorCode.OPERATION_NOT_ATTEMPTED
            code = next((one for one in codes if one != not_attempted), not_attempted)  # the others follow from that
            self._take(request, code, CoordinatorType.TRANSACTION, self._id)
            if is_first and code == ErrorCode.CONCURRENT_TRANSACTIONS:
                await self._cluster.runtime.sleep_ms(min(_FIRST_ADD_BACKOFF_MS, self._retry_backoff_ms))
            else:
                await self._pause(back_off)

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

    # -- asking -------------------------------------------------------------------------------------------------------

    async def _ask(self, request: Message, kind: CoordinatorType, key: str, version_max: int | None = None) -> Message:
        """The answer without an error; other errors than those that pass are noted and raised."""
        back_off = self._back_off()
        while True:
            response = await self._send(request, kind, key, version_max)
            code: int = response.error_code  # type: ignore[attr-defined]
            if not code:
                return response
            self._take(request, code, kind, key)
            await self._pause(back_off)

    async def _send(self, request: Message, kind: CoordinatorType, key: str, version_max: int | None) -> Message:
        """An answer, with or without an error, from whoever coordinates by then."""
        back_off = self._back_off()
        while True:
            self._require_not_fatal()
            try:
                node = await self._cluster.coordinator(kind, key, timeout_ms=self._transaction_timeout_ms)
                answer: Message = await self._cluster.send(node, request, max_version=version_max)
            except (NetworkError, KafkaTimeoutError):
                self._cluster.forget_coordinator(kind, key)
                await self._pause(back_off)
                continue
            except KafkaError as error:
                self._manager.fail(error)
                raise
            if kind is CoordinatorType.TRANSACTION:
                self._note_version(node.id)
            return answer

    def _note_version(self, node_id: int) -> None:
        """The version of transactions that the next one will have."""
        versions = self._cluster.api_versions(node_id)
        if versions is not None:
            self._is_v2 = versions.finalized_features.get(TRANSACTION_VERSION_FEATURE, 0) >= _V2

    def _take(self, request: Message, code: int, kind: CoordinatorType, key: str) -> None:
        """Return if the request is to be sent again; else note and raise what has happened."""
        verdict = judge(request, code)
        if verdict is Verdict.RETRY:
            return
        if verdict is Verdict.FIND_COORDINATOR:
            self._cluster.forget_coordinator(kind, key)
            return
        error = _error(code)
        if verdict is Verdict.FATAL:
            self._manager.fail(error)
        else:
            self._manager.spoil(error)
        raise error

    def _require_not_fatal(self) -> None:
        if self._manager.fatal_error is not None:
            self._manager.require_no_error()

    def _back_off(self) -> BackOff:
        return BackOff(self._retry_backoff_ms, self._retry_backoff_max_ms)

    async def _pause(self, back_off: BackOff) -> None:
        runtime = self._cluster.runtime
        await runtime.sleep_ms(back_off.next_ms(runtime.rng))


def _error(code: int) -> KafkaError:
    if code in _FENCED:
        return ProducerFencedError("A newer producer with the same transactional id has taken this one's place")
    if code in _LEFT_THE_GROUP:
        return CommitFailedError(
            "The consumer has left its group, or another has its partitions: abort the transaction"
        )
    return error_for(code)
