"""Transactions: which there are, what they hold open, and ending one that hangs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Literal, overload

from ottla.clients.admin.admin_part import AdminPart
from ottla.clients.admin.ask import AT_COORDINATOR, Ask, Leader, TransactionCoordinator, codes, keyed
from ottla.clients.admin.results import check, outcome
from ottla.clients.errors import UnknownServerError
from ottla.clients.producer.prepared_transaction import PreparedTransaction
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from ottla.protocol.messages.describe_transactions import TransactionState as StateMessage
from ottla.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from ottla.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from ottla.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

_MARKER_RETRIES = codes(
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REPLICA_NOT_AVAILABLE,
    ErrorCode.BROKER_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)
_END_RETRIES = codes(
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
)
_DURATION_VERSION, _PATTERN_VERSION = 1, 2
_END_VERSION_MAX_V1 = 4
"""Later ones are for transactions of version 2."""
_NO_DURATION = -1
_UNKNOWN_ID = -1


class TransactionState(Enum):
    """Where a transaction stands, under the names of the protocol."""

    UNKNOWN = "Unknown"
    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"

    def __str__(self) -> str:
        return self.value

    @classmethod
    def _missing_(cls, _: object) -> "TransactionState":
        return cls.UNKNOWN


@dataclass(frozen=True, slots=True)
class TransactionListing:
    """A transactional id that a coordinator (``coordinator_id``) knows."""

    transactional_id: str
    producer_id: int
    state: TransactionState
    coordinator_id: int = -1


@dataclass(frozen=True, slots=True)
class TransactionDescription:
    """A transactional id's current transaction; ``start_time_ms`` is None unless one is under way."""

    transactional_id: str
    coordinator_id: int
    state: TransactionState
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    start_time_ms: int | None
    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class AbortTransactionSpec:
    """What to abort in one partition; ``describe_producers`` tells all of it."""

    partition: TopicPartition
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int


class TransactionsPart(AdminPart):
    """Transactions."""

    __slots__ = ()

    async def list_transactions(
        self,
        *,
        states: Iterable[TransactionState] = (),
        producer_ids: Iterable[int] = (),
        min_duration_ms: int = _NO_DURATION,
        transactional_id_pattern: str | None = None,
        timeout_ms: int | None = None,
    ) -> dict[str, TransactionListing]:
        """All transactional ids, or those of these states and producers, open for so long, with such names (RE2).

        Asks all brokers. UnsupportedVersionError if a broker does not know a filter that is used.
        """
        request = ListTransactionsRequest(
            state_filters=[state.value for state in states],
            producer_id_filters=list(producer_ids),
            duration_filter=min_duration_ms,
            transactional_id_pattern=transactional_id_pattern,
        )
        min_version = _DURATION_VERSION if min_duration_ms >= 0 else 0
        if transactional_id_pattern:
            min_version = _PATTERN_VERSION
        answers = await self._ask_every_node(request, listed_transactions, timeout_ms, min_version)
        return {
            each.transactional_id: replace(each, coordinator_id=node_id)
            for node_id, answer in answers.items()
            for each in answer
        }

    @overload
    async def describe_transactions(
        self,
        transactional_ids: Iterable[str],
        *,
        raise_errors: Literal[True] = ...,
        timeout_ms: int | None = ...,
    ) -> dict[str, TransactionDescription]: ...
    @overload
    async def describe_transactions(
        self,
        transactional_ids: Iterable[str],
        *,
        raise_errors: Literal[False],
        timeout_ms: int | None = ...,
    ) -> dict[str, TransactionDescription | KafkaError]: ...
    async def describe_transactions(
        self,
        transactional_ids: Iterable[str],
        *,
        raise_errors: bool = True,
        timeout_ms: int | None = None,
    ) -> Mapping[str, TransactionDescription | KafkaError]:
        """Describe transactional ids; TransactionalIdNotFoundError for those that have never been used."""

        def request(keys: Sequence[str], _: int) -> DescribeTransactionsRequest:
            return DescribeTransactionsRequest(transactional_ids=keys)

        keys = list(dict.fromkeys(transactional_ids))
        ask = Ask(keys, TransactionCoordinator, request, keyed(described_transactions), AT_COORDINATOR)
        found = await self._ask(ask, timeout_ms, raise_errors)
        for key, each in found.items():
            if isinstance(each, TransactionDescription):
                coordinator = await self._caller.coordinator(TransactionCoordinator(key), timeout_ms)
                found[key] = replace(each, coordinator_id=coordinator.id)
        return found

    async def end_transactions(
        self,
        transactions: Iterable[PreparedTransaction],
        *,
        committed: bool,
        timeout_ms: int | None = None,
    ) -> dict[str, KafkaError | None]:
        """Commit or abort transactions that their producers prepared (``Producer.prepare_transaction``).

        By transactional id, None for those that are ended now or were before, in the same way. An error of the others
        says that the transaction is not open any more, or not this producer's: ``describe_transactions`` tells more.
        """
        prepared = {each.transactional_id: each for each in transactions}

        def request(keys: Sequence[str], _: int) -> EndTxnRequest:
            transactional_id, producer_id, producer_epoch, _v2 = prepared[keys[0]]
            return EndTxnRequest(
                transactional_id=transactional_id,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                committed=committed,
            )

        found: dict[str, KafkaError | None] = {}
        for is_v2, max_version in ((True, None), (False, _END_VERSION_MAX_V1)):
            keys = [key for key, each in prepared.items() if each.is_v2 is is_v2]
            ask = Ask(
                keys, TransactionCoordinator, request, ended_transaction, _END_RETRIES, max_version, one_by_one=True
            )
            found |= await self._ask(ask, timeout_ms, raise_errors=False)
        return found

    async def abort_transaction(self, spec: AbortTransactionSpec, *, timeout_ms: int | None = None) -> None:
        """Write an abort marker into a partition by force: for a transaction that its coordinator has forgotten.

        Raises InvalidProducerEpochError or TransactionCoordinatorFencedError if the spec is out of date.
        """
        ask = Ask(
            (spec.partition,),
            lambda key: Leader(*key),
            lambda *_: abort_request(spec),
            keyed(written_marker),
            _MARKER_RETRIES,
        )
        await self._ask_all(ask, timeout_ms)


def listed_transactions(response: ListTransactionsResponse) -> list[TransactionListing]:
    """Read the transactions of one coordinator."""
    check(response.error_code)
    return [
        TransactionListing(each.transactional_id, each.producer_id, TransactionState(each.transaction_state))
        for each in response.transaction_states
    ]


def described_transactions(response: DescribeTransactionsResponse) -> dict[str, TransactionDescription | KafkaError]:
    """Read descriptions."""
    return {
        each.transactional_id: outcome(each.error_code, None, _description(each))
        for each in response.transaction_states
    }


def _description(state: StateMessage) -> TransactionDescription:
    return TransactionDescription(
        state.transactional_id,
        _UNKNOWN_ID,
        TransactionState(state.transaction_state),
        state.producer_id,
        state.producer_epoch,
        state.transaction_timeout_ms,
        state.transaction_start_time_ms if state.transaction_start_time_ms >= 0 else None,
        frozenset(TopicPartition(topic.topic, index) for topic in state.topics for index in topic.partitions),
    )


def ended_transaction(response: EndTxnResponse, asked: Sequence[str]) -> dict[str, KafkaError | None]:
    """Read whether a transaction has ended as it should."""
    return {asked[0]: outcome(response.error_code, None, None)}


def abort_request(spec: AbortTransactionSpec) -> WriteTxnMarkersRequest:
    """Ask a leader for one abort marker."""
    topic, partition = spec.partition
    marker = WritableTxnMarker(
        producer_id=spec.producer_id,
        producer_epoch=spec.producer_epoch,
        transaction_result=False,
        topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[partition])],
        coordinator_epoch=spec.coordinator_epoch,
    )
    return WriteTxnMarkersRequest(markers=[marker])


def written_marker(response: WriteTxnMarkersResponse) -> dict[TopicPartition, KafkaError | None]:
    """Read whether the marker has been written."""
    if len(response.markers) != 1:
        raise UnknownServerError(f"The answer has {len(response.markers)} markers instead of one")
    return {
        TopicPartition(topic.name, each.partition_index): outcome(each.error_code, None, None)
        for topic in response.markers[0].topics
        for each in topic.partitions
    }
