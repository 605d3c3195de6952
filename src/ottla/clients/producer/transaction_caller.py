"""Asks the coordinators of a transaction until one has answered, and notes in the manager what its answer means."""

from typing import Final

from ottla.clients.back_off import BackOff
from ottla.clients.cluster.cluster_client import ClusterClient
from ottla.clients.cluster.coordinator_cache import CoordinatorType
from ottla.clients.errors import (
    GroupAuthorizationError,
    KafkaTimeoutError,
    TransactionAbortableError,
    TransactionAbortedError,
)
from ottla.clients.producer.transaction_manager import TransactionManager, TransactionState
from ottla.clients.producer.transaction_verdict import Verdict, error_of, judge
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.network.client_errors import NetworkError
from ottla.network.node import Node
from ottla.protocol.message import Message

TRANSACTION_VERSION_FEATURE: Final = "transaction.version"
_V2: Final = 2


class TransactionCaller:
    """Requests are repeated until they are answered: who waits for them decides for how long."""

    def __init__(
        self,
        manager: TransactionManager,
        cluster: ClusterClient,
        *,
        find_timeout_ms: int,
        retry_backoff_ms: int,
        retry_backoff_max_ms: int,
    ) -> None:
        self.is_v2 = False
        """Whether the coordinator, when it answered last, had version 2 of transactions."""
        self._manager = manager
        self._cluster = cluster
        self._find_timeout_ms = find_timeout_ms
        self._retry_backoff_ms = retry_backoff_ms
        self._retry_backoff_max_ms = retry_backoff_max_ms

    async def ask(self, request: Message, kind: CoordinatorType, key: str, version_max: int | None = None) -> Message:
        """The answer without an error; other errors than those that pass are noted and raised."""
        back_off = self.back_off()
        while True:
            response = await self.send(request, kind, key, version_max)
            code: int = response.error_code  # type: ignore[attr-defined]
            if not code:
                return response
            self.take(request, code, kind, key)
            await self.pause(back_off)

    async def send(self, request: Message, kind: CoordinatorType, key: str, version_max: int | None) -> Message:
        """An answer, with or without an error, from whoever coordinates by then."""
        back_off = self.back_off()
        while True:
            self._require_wanted(kind)
            try:
                node = await self._cluster.coordinator(kind, key, timeout_ms=self._find_timeout_ms)
                answer: Message = await self._cluster.send(node, request, max_version=version_max)
            except (NetworkError, KafkaTimeoutError):
                self._cluster.forget_coordinator(kind, key)
                await self.pause(back_off)
                continue
            except (GroupAuthorizationError, TransactionAbortableError) as error:
                self._manager.spoil(error)
                raise
            except KafkaError as error:
                self._manager.fail(error)
                raise
            if kind is CoordinatorType.TRANSACTION:
                self._note_version(node)
            return answer

    def take(self, request: Message, code: int, kind: CoordinatorType, key: str) -> None:
        """Return if the request is to be sent again; else note and raise what has happened."""
        verdict = judge(request, code)
        if verdict is Verdict.RETRY:
            return
        if verdict is Verdict.FIND_COORDINATOR:
            self._cluster.forget_coordinator(kind, key)
            return
        error = error_of(code)
        if verdict is Verdict.FATAL:
            self._manager.fail(error)
        else:
            if code == ErrorCode.UNKNOWN_PRODUCER_ID and not self._manager.is_v2:
                self._manager.needs_epoch_bump = True
            self._manager.spoil(error)
        raise error

    def back_off(self) -> BackOff:
        """For something that is tried for the first time."""
        return BackOff(self._retry_backoff_ms, self._retry_backoff_max_ms)

    async def pause(self, back_off: BackOff, at_most_ms: int | None = None) -> None:
        """Wait before it is tried again."""
        runtime = self._cluster.runtime
        pause_ms = back_off.next_ms(runtime.rng)
        await runtime.sleep_ms(pause_ms if at_most_ms is None else min(pause_ms, at_most_ms))

    def _require_wanted(self, kind: CoordinatorType) -> None:
        """A producer that has failed asks nothing, and a transaction that is being aborted needs no offsets."""
        manager = self._manager
        if manager.fatal_error is not None:
            manager.require_no_error()
        if kind is CoordinatorType.GROUP and manager.state is TransactionState.ABORTING:
            raise TransactionAbortedError("The transaction was aborted before its offsets were committed")

    def _note_version(self, coordinator: Node) -> None:
        versions = self._cluster.api_versions(coordinator)
        if versions is not None:
            self.is_v2 = versions.finalized_features.get(TRANSACTION_VERSION_FEATURE, 0) >= _V2
