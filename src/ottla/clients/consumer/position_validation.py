"""Does a new leader have what was read? (OffsetForLeaderEpoch, KIP-320.) Pure: requests out, answers in.

An unclean election can bring a leader whose log ends before the position, or holds other records there. The end of the
epoch of the last record read tells: a position beyond it is not in this log.
"""

from collections.abc import Mapping

from ottla.clients.consumer.offset_and_metadata import OffsetAndMetadata
from ottla.clients.consumer.offset_lookup import CONSUMER_REPLICA_ID, FATAL_CODES
from ottla.clients.consumer.partition_state import FetchPosition, FetchState
from ottla.clients.consumer.record_errors import PositionTruncatedError
from ottla.clients.consumer.subscription_state import SubscriptionState
from ottla.clients.errors import error_for
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition
from ottla.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

UNDEFINED: int = -1


def leader_epoch_request(positions: Mapping[TopicPartition, FetchPosition]) -> OffsetForLeaderEpochRequest:
    """Ask where the epochs of the last records read end."""
    topics: dict[str, list[OffsetForLeaderPartition]] = {}
    for (topic, index), position in positions.items():
        topics.setdefault(topic, []).append(
            OffsetForLeaderPartition(
                partition=index,
                current_leader_epoch=position.current_leader_epoch,
                leader_epoch=position.offset_epoch,
            )
        )
    return OffsetForLeaderEpochRequest(
        replica_id=CONSUMER_REPLICA_ID,
        topics=[OffsetForLeaderTopic(topic=topic, partitions=partitions) for topic, partitions in topics.items()],
    )


def complete_validation(
    subscription: SubscriptionState,
    positions: Mapping[TopicPartition, FetchPosition],
    response: OffsetForLeaderEpochResponse,
) -> tuple[list[TopicPartition], list[KafkaError]]:
    """Apply an answer: positions that hold are fetched from again, others move to where the logs part, or are reset.

    Gives back what to ask again, and what the user must know: PositionTruncatedError without a reset policy.
    """
    retry: list[TopicPartition] = []
    errors: list[KafkaError] = []
    for topic in response.topics:
        for answer in topic.partitions:
            partition = TopicPartition(topic.topic, answer.partition)
            if answer.error_code in FATAL_CODES:
                errors.append(error_for(answer.error_code, f"Cannot validate the position of {partition}"))
            elif answer.error_code != ErrorCode.NONE:
                retry.append(partition)
            elif (position := positions.get(partition)) is not None:
                if _is_behind(subscription, partition, position, answer):
                    retry.append(partition)
                    continue
                error = _apply(subscription, partition, position, answer)
                if error is not None:
                    errors.append(error)
    return retry, errors


def _is_behind(
    subscription: SubscriptionState, partition: TopicPartition, position: FetchPosition, answer: EpochEndOffset
) -> bool:
    """Whether who answered may be an old leader that a group's newer commit was not written under.

    Metadata that is fetched once more tells. If the leader stays older than the position, the topic was made again.
    """
    is_older = UNDEFINED in (answer.end_offset, answer.leader_epoch) and (
        position.current_leader_epoch < position.offset_epoch
    )
    state = subscription.get(partition)
    return is_older and state is not None and state.position == position and subscription.doubt_epoch(partition)


def _apply(
    subscription: SubscriptionState, partition: TopicPartition, position: FetchPosition, answer: EpochEndOffset
) -> KafkaError | None:
    state = subscription.get(partition)
    if state is None or state.fetch_state is not FetchState.AWAIT_VALIDATION or state.position != position:
        return None  # sought, reset or taken away meanwhile
    is_undefined = UNDEFINED in (answer.end_offset, answer.leader_epoch)
    if not is_undefined and answer.end_offset >= position.offset:
        subscription.complete_validation(partition, position)
        return None
    if subscription.default_reset.is_none:
        divergent = None if is_undefined else OffsetAndMetadata(answer.end_offset, answer.leader_epoch)
        return PositionTruncatedError(partition, position.offset, divergent)
    if is_undefined:
        subscription.request_reset(partition)
    else:
        validated = FetchPosition(answer.end_offset, answer.leader_epoch, position.current_leader_epoch)
        subscription.reposition(partition, validated)
    return None
