"""AlterPartition: a leader tells who is in sync with it, and that it has recovered from an unclean election."""

import logging
from collections.abc import Sequence
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.controller.cluster import check_broker_epoch
from ottla.controller.partition_change import partition_change
from ottla.controller.partitions import PartitionOf, partition_of, policy_for
from ottla.controller.result import ControllerResult
from ottla.controller.settings import ControllerRequestContext, ControllerSettings
from ottla.metadata.image import MetadataImage
from ottla.metadata.partition_registration import NO_LEADER_CHANGE, LeaderRecoveryState
from ottla.metadata.records import MetadataRecord, PartitionChangeRecord
from ottla.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartitionData,
    AlterPartitionResponse,
    AlterPartitionResponsePartitionData,
    AlterPartitionResponseTopicData,
    BrokerState,
)

logger = logging.getLogger(__name__)

_RECOVERY_STATES: Final = frozenset(LeaderRecoveryState)


def alter_partition(
    image: MetadataImage,
    settings: ControllerSettings,
    context: ControllerRequestContext,
    request: AlterPartitionRequest,
) -> ControllerResult[AlterPartitionResponse]:
    """The new in-sync replicas of the partitions that a broker leads; each answered on its own."""
    check_broker_epoch(image.cluster, request.broker_id, request.broker_epoch)
    records: list[MetadataRecord] = []
    topics = []
    for topic in request.topics:
        answers = []
        for asked in topic.partitions:
            # Before version 3 a leader does not know the epochs of its followers.
            states = (
                [BrokerState(broker_id=broker_id, broker_epoch=-1) for broker_id in asked.new_isr]
                if context.api_version < 3
                else asked.new_isr_with_epochs
            )
            try:
                partition = partition_of(image, topic.topic_id, asked.partition_index)
                _check(image, request.broker_id, partition, asked, states)
                change = _change(image, settings, partition, asked, states)
                if change is not None:
                    records.append(change)
                answers.append(_answer(request.broker_id, partition, change))
            except KafkaError as failure:
                logger.info(
                    "Rejecting AlterPartition request from node %d for partition %d of topic %s: %s",
                    *(request.broker_id, asked.partition_index, topic.topic_id, failure),
                )
                answers.append(
                    AlterPartitionResponsePartitionData(partition_index=asked.partition_index, error_code=failure.code)
                )
        topics.append(AlterPartitionResponseTopicData(topic_id=topic.topic_id, partitions=answers))
    return ControllerResult(records, AlterPartitionResponse(topics=topics), is_atomic=False)


def _change(
    image: MetadataImage,
    settings: ControllerSettings,
    partition: PartitionOf,
    asked: AlterPartitionRequestPartitionData,
    states: Sequence[BrokerState],
) -> PartitionChangeRecord | None:
    return partition_change(
        partition.registration,
        partition.topic.id,
        partition.id,
        policy_for(image, settings, partition.topic),
        isr=[state.broker_id for state in states],
        leader_recovery_state=asked.leader_recovery_state,
    )


def _answer(
    broker_id: int, partition: PartitionOf, change: PartitionChangeRecord | None
) -> AlterPartitionResponsePartitionData:
    """The partition as it is now; NEW_LEADER_ELECTED, although the change is made, where it has another leader."""
    registration = partition.registration
    if change is not None:
        registration = registration.merge(change)
        if change.leader not in (broker_id, NO_LEADER_CHANGE):
            raise ApiError(ErrorCode.NEW_LEADER_ELECTED, "the change made another replica the leader")
    return AlterPartitionResponsePartitionData(
        partition_index=partition.id,
        leader_id=registration.leader,
        leader_epoch=registration.leader_epoch,
        isr=registration.isr,
        leader_recovery_state=registration.leader_recovery_state,
        partition_epoch=registration.partition_epoch,
    )


def _check(
    image: MetadataImage,
    broker_id: int,
    partition: PartitionOf,
    asked: AlterPartitionRequestPartitionData,
    states: Sequence[BrokerState],
) -> None:
    """Refuse what a leader that knows the current state would not ask for."""
    registration = partition.registration
    new_isr = [state.broker_id for state in states]
    checks = (
        # A leader that knows more than this controller has heard from a newer one.
        (
            asked.leader_epoch > registration.leader_epoch,
            ErrorCode.NOT_CONTROLLER,
            "the leader epoch is from the future",
        ),
        (
            asked.partition_epoch > registration.partition_epoch,
            ErrorCode.NOT_CONTROLLER,
            "the partition epoch is from the future",
        ),
        (asked.leader_epoch < registration.leader_epoch, ErrorCode.FENCED_LEADER_EPOCH, "the leader epoch is old"),
        (broker_id != registration.leader, ErrorCode.INVALID_REQUEST, "another broker leads"),
        (
            asked.partition_epoch < registration.partition_epoch,
            ErrorCode.INVALID_UPDATE_VERSION,
            "the partition epoch is old",
        ),
        (
            not new_isr or len(set(new_isr)) != len(new_isr) or not set(new_isr) <= set(registration.replicas),
            ErrorCode.INVALID_REQUEST,
            "the ISR is not made of replicas",
        ),
        (registration.leader not in new_isr, ErrorCode.INVALID_REQUEST, "the ISR does not include the leader"),
        (
            asked.leader_recovery_state not in _RECOVERY_STATES,
            ErrorCode.INVALID_REQUEST,
            "there is no such recovery state",
        ),
        (
            asked.leader_recovery_state == LeaderRecoveryState.RECOVERING and len(new_isr) > 1,
            ErrorCode.INVALID_REQUEST,
            "a leader that recovers has nobody in sync",
        ),
        (
            registration.leader_recovery_state == LeaderRecoveryState.RECOVERED
            and asked.leader_recovery_state == LeaderRecoveryState.RECOVERING,
            ErrorCode.INVALID_REQUEST,
            "the leader has recovered already",
        ),
    )
    for refused, code, reason in checks:
        if refused:
            raise ApiError(code, reason)
    for state in states:
        _check_eligible(image, state)


def _check_eligible(image: MetadataImage, state: BrokerState) -> None:
    broker = image.cluster.brokers.get(state.broker_id)
    if broker is None:
        reason = "not registered"
    elif broker.in_controlled_shutdown:
        reason = "shutting down"
    elif broker.fenced:
        reason = "fenced"
    elif state.broker_epoch not in (-1, broker.epoch):
        reason = f"broker epoch mismatch: requested={state.broker_epoch} VS expected={broker.epoch}"
    else:
        return
    raise ApiError(ErrorCode.INELIGIBLE_REPLICA, f"broker {state.broker_id} is {reason}")
