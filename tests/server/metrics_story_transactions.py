"""What happens to transactions in the story of the metrics, and what can only be changed inside."""

from collections.abc import Callable
from typing import Any

from ottla.common.error_code import ErrorCode
from tests.server.metrics_story import TOPIC, Story
from tests.server.txn_wire import TxnProducer

PARTITION = 1
"""The one of the topic that nobody else writes to before this."""


def a_transaction_is_committed(story: Story) -> None:
    with story.connect() as wire:
        producer = TxnProducer(wire, "transactional")
        assert producer.init() == ErrorCode.NONE
        assert producer.produce(TOPIC, partition=PARTITION).error_code == ErrorCode.NONE
        assert producer.end() == ErrorCode.NONE


def a_transaction_cannot_be_verified(story: Story) -> None:
    with story.connect() as wire:
        producer = TxnProducer(wire, "transactional")
        producer.producer_id, producer.producer_epoch = 10_000, 0
        assert producer.produce(TOPIC, partition=PARTITION).error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING


# -- inside -----------------------------------------------------------------------------------------------------------


def _coordinators(story: Story) -> Any:
    return story.node._broker._coordinators  # type: ignore[union-attr]


def markers_have_nowhere_to_go(story: Story) -> Callable[[], object]:
    waiting: list[None] = _coordinators(story)._marker_sender._unknown_destination
    waiting.append(None)
    return waiting.pop


def a_completion_cannot_be_appended(story: Story) -> Callable[[], None]:
    metrics = _coordinators(story).transaction._shards._metrics
    metrics.log_append_retry_queue_size += 1

    def undo() -> None:
        metrics.log_append_retry_queue_size -= 1

    return undo


def an_answer_waits_for_its_commit(story: Story) -> Callable[[], None]:
    _coordinators(story)._runtimes[1]._metrics.event_purgatory.record(1_000)
    return lambda: None
