"""Transactions as DescribeTransactions and ListTransactions show them."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.protocol.messages import describe_transactions, list_transactions
from ottla.transaction.metadata import TransactionMetadata
from ottla.transaction.state import TransactionState


def describe(metadata: TransactionMetadata) -> describe_transactions.TransactionState:
    """All about one transaction."""
    topics: dict[str, list[int]] = {}
    for topic, partition in metadata.topic_partitions:
        topics.setdefault(topic, []).append(partition)
    return describe_transactions.TransactionState(
        transactional_id=metadata.transactional_id,
        transaction_state=metadata.state.state_name,
        transaction_timeout_ms=metadata.txn_timeout_ms,
        transaction_start_time_ms=metadata.txn_start_timestamp_ms,
        producer_id=metadata.producer_id,
        producer_epoch=metadata.producer_epoch,
        topics=[describe_transactions.TopicData(topic=topic, partitions=ids) for topic, ids in topics.items()],
    )


class TransactionFilter(NamedTuple):
    """Which transactions to list; an empty filter lets all through."""

    states: frozenset[TransactionState] | None
    """None: all. Names that are no states let nothing through."""
    producer_ids: frozenset[int]
    duration_ms: int
    """Only transactions that began longer ago; below 0: all."""
    matches: Callable[[str], object] | None
    """Whether a transactional id matches the pattern; None: all do."""

    def list(
        self, transactions: Iterable[TransactionMetadata], now_ms: int
    ) -> list[list_transactions.TransactionState]:
        """The transactions that pass."""
        states, producer_ids, duration_ms, matches = self
        return [
            list_transactions.TransactionState(
                transactional_id=metadata.transactional_id,
                producer_id=metadata.producer_id,
                transaction_state=metadata.state.state_name,
            )
            for metadata in transactions
            if (not producer_ids or metadata.producer_id in producer_ids)
            and (states is None or metadata.state in states)
            and (duration_ms < 0 or now_ms - metadata.txn_start_timestamp_ms > duration_ms)
            and (matches is None or matches(metadata.transactional_id))
        ]


def transaction_filter(request: list_transactions.ListTransactionsRequest) -> tuple[TransactionFilter, Sequence[str]]:
    """What a request asks for, and the names in it that are no states; INVALID_REGULAR_EXPRESSION for its pattern."""
    named = {name: TransactionState.from_name(name) for name in request.state_filters}
    states = frozenset(state for state in named.values() if state is not None) if named else None
    pattern = request.transactional_id_pattern
    wanted = TransactionFilter(
        states, frozenset(request.producer_id_filters), request.duration_filter, _matcher(pattern) if pattern else None
    )
    return wanted, [name for name, state in named.items() if state is None]


def _matcher(pattern: str) -> Callable[[str], object]:
    import re2  # type: ignore[import-untyped]  # here, because hardly any broker is ever asked

    options = re2.Options()
    options.log_errors = False
    try:
        matcher: Callable[[str], object] = re2.compile(pattern, options).fullmatch
    except re2.error as error:
        raise ApiError(
            ErrorCode.INVALID_REGULAR_EXPRESSION, f"The transactional id pattern `{pattern}` is not valid: {error}"
        ) from error
    return matcher
