"""Leaders and in-sync replicas: what becomes of partitions when brokers come and go, and elections."""

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, KafkaError
from ottla.common.uuid import Uuid
from ottla.config.topic import TOPIC_CONFIG
from ottla.controller.cluster import default_dir, is_active
from ottla.controller.effective_configs import effective_topic_value
from ottla.controller.partition_change import Election, PartitionPolicy, partition_change
from ottla.controller.result import ControllerResult, check_record_count, error, message_of
from ottla.controller.settings import ControllerSettings
from ottla.metadata.image import MetadataImage, TopicImage
from ottla.metadata.partition_registration import NO_LEADER, PartitionRegistration
from ottla.metadata.records import MetadataRecord
from ottla.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

logger = logging.getLogger(__name__)

MAX_ELECTIONS_PER_IMBALANCE: Final = 1_000
"""How many elections one look for imbalance makes; more follow at once in the next."""

_ELECTION_TYPES: Final = {0: Election.PREFERRED, 1: Election.UNCLEAN}


class PartitionOf(NamedTuple):
    """A partition and the topic that it belongs to."""

    topic: TopicImage
    id: int
    registration: PartitionRegistration


def partitions_where(image: MetadataImage, matches: Callable[[PartitionRegistration], bool]) -> Iterator[PartitionOf]:
    """All partitions that match, by topic name and partition."""
    for topic in image.topics.by_name.values():
        for partition_id, registration in topic.partitions.items():
            if matches(registration):
                yield PartitionOf(topic, partition_id, registration)


def with_broker_in_isr(image: MetadataImage, broker_id: int) -> Iterator[PartitionOf]:
    """The partitions that count a broker as in sync."""
    return partitions_where(image, lambda partition: broker_id in partition.isr)


def with_broker_in_elr(image: MetadataImage, broker_id: int) -> Iterator[PartitionOf]:
    """The partitions that a broker may lead although it is not in sync."""
    return partitions_where(image, lambda partition: broker_id in partition.elr)


def without_leader(image: MetadataImage) -> Iterator[PartitionOf]:
    """The partitions that nobody leads."""
    return partitions_where(image, lambda partition: partition.leader == NO_LEADER)


def has_leaderships(image: MetadataImage, broker_id: int) -> bool:
    """Whether a broker leads any partition."""
    return next(partitions_where(image, lambda partition: partition.leader == broker_id), None) is not None


def unclean_election_enabled(image: MetadataImage, settings: ControllerSettings, topic: TopicImage) -> bool:
    """unclean.leader.election.enable in force for a topic."""
    value = effective_topic_value(image, settings, topic.name, "unclean.leader.election.enable")
    return TOPIC_CONFIG["unclean.leader.election.enable"].parse(value) is True


def policy_for(
    image: MetadataImage,
    settings: ControllerSettings,
    topic: TopicImage,
    election: Election | None = None,
    is_acceptable: Callable[[int], bool] | None = None,
) -> PartitionPolicy:
    """The rules for changes of a topic's partitions.

    Without an ``election``, leaders are found as the topic allows it. ``is_acceptable`` is for brokers that are about
    to change, too.
    """
    cluster = image.cluster
    lives = is_acceptable if is_acceptable is not None else lambda broker_id: is_active(cluster, broker_id)

    def is_acceptable_leader(partition: PartitionRegistration, broker_id: int) -> bool:
        if not lives(broker_id) or broker_id not in partition.replicas:
            return False
        broker = cluster.brokers.get(broker_id)
        return broker is not None and broker.has_online_dir(partition.directory(broker_id))

    if election is None:
        election = Election.UNCLEAN if unclean_election_enabled(image, settings, topic) else Election.ONLINE
    min_isr = int(effective_topic_value(image, settings, topic.name, "min.insync.replicas"))
    return PartitionPolicy(
        is_acceptable_leader=is_acceptable_leader,
        default_dir=lambda broker_id: default_dir(cluster, broker_id),
        metadata_version=image.features.metadata_version,
        min_isr=min(min_isr, len(topic.partitions[0].replicas)),
        elr_enabled=image.features.is_elr_enabled,
        election=election,
    )


def leader_and_isr_updates(
    context: str,
    image: MetadataImage,
    settings: ControllerSettings,
    partitions: Iterable[PartitionOf],
    *,
    remove: int = NO_LEADER,
    add: int = NO_LEADER,
    unclean_shutdown: int = NO_LEADER,
) -> list[MetadataRecord]:
    """The changes that a broker causes in ``partitions``, which are to be all those that it may concern.

    A broker to ``remove`` leaves every ISR and may not lead; one to ``add`` may lead although the image still has it
    fenced; one with an ``unclean_shutdown`` may have lost records and leaves the eligible leader replicas, too.
    """
    gone = (remove, unclean_shutdown)

    def is_acceptable(broker_id: int) -> bool:
        return broker_id not in gone and (broker_id == add or is_active(image.cluster, broker_id))

    records: list[MetadataRecord] = []
    policies: dict[str, PartitionPolicy] = {}
    for topic, partition_id, partition in partitions:
        policy = policies.get(topic.name)
        if policy is None:
            policy = policies[topic.name] = policy_for(image, settings, topic, is_acceptable=is_acceptable)
        isr = [broker for broker in partition.isr if broker not in gone]
        record = partition_change(
            partition, topic.id, partition_id, policy, isr=isr, unclean_shutdown=(unclean_shutdown,)
        )
        if record is not None:
            records.append(record)
    if records:
        logger.info("%s: changing %d partition(s)", context, len(records))
    return records


def elect_leaders(
    image: MetadataImage, settings: ControllerSettings, request: ElectLeadersRequest
) -> ControllerResult[ElectLeadersResponse]:
    """ElectLeaders: preferred or unclean elections in the partitions named, or in all that need one."""
    election = _ELECTION_TYPES.get(request.election_type)
    if election is None:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Unknown election type {request.election_type}")
    records: list[MetadataRecord] = []
    results = []
    for topic_name, partition_ids in _elections(image, request):
        answers = []
        for partition_id in partition_ids:
            code, message = ErrorCode.NONE, None
            try:
                records.append(elect_leader(image, settings, topic_name, partition_id, election))
            except KafkaError as failure:
                code, message = ErrorCode(failure.code), message_of(failure)
            # Who asks for all partitions does not hear of those that have the leader already.
            if request.topic_partitions is not None or code is not ErrorCode.ELECTION_NOT_NEEDED:
                answers.append(PartitionResult(partition_id=partition_id, error_code=code, error_message=message))
        results.append(ReplicaElectionResult(topic=topic_name, partition_result=answers))
    check_record_count(records)
    return ControllerResult(records, ElectLeadersResponse(replica_election_results=results), is_atomic=False)


def _elections(image: MetadataImage, request: ElectLeadersRequest) -> Iterator[tuple[str, Iterable[int]]]:
    if request.topic_partitions is None:
        for name, topic in image.topics.by_name.items():
            yield name, topic.partitions
    else:
        for asked in request.topic_partitions:
            yield asked.topic, asked.partitions


def elect_leader(
    image: MetadataImage, settings: ControllerSettings, topic_name: str, partition_id: int, election: Election
) -> MetadataRecord:
    """The change that an election makes in one partition; an error where it makes none."""
    topic = image.topics.by_name.get(topic_name)
    if topic is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {topic_name}")
    registration = topic.partitions.get(partition_id)
    if registration is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {topic_name}-{partition_id}")
    preferred = election is Election.PREFERRED
    if registration.has_preferred_leader() if preferred else registration.has_leader():
        raise error(ErrorCode.ELECTION_NOT_NEEDED)
    policy = policy_for(image, settings, topic, election)
    record = partition_change(registration, topic.id, partition_id, policy)
    if record is None:
        raise error(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE if preferred else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE)
    return record


def balance_partition_leaders(image: MetadataImage, settings: ControllerSettings) -> ControllerResult[bool]:
    """Preferred elections where another replica leads; the response says whether there may be more to do."""
    records = []
    for partition in partitions_where(image, lambda candidate: not candidate.has_preferred_leader()):
        policy = policy_for(image, settings, partition.topic, Election.PREFERRED)
        record = partition_change(partition.registration, partition.topic.id, partition.id, policy)
        if record is not None:
            records.append(record)
            if len(records) == MAX_ELECTIONS_PER_IMBALANCE:
                break
    return ControllerResult(records, len(records) == MAX_ELECTIONS_PER_IMBALANCE, is_atomic=False)


def elect_unclean_leaders(image: MetadataImage, settings: ControllerSettings) -> ControllerResult[bool]:
    """Unclean elections for partitions without a leader whose topics allow them; the response as above."""
    records: list[MetadataRecord] = []
    for partition in without_leader(image):
        if not unclean_election_enabled(image, settings, partition.topic):
            continue
        name = f"{partition.topic.name}-{partition.id}"
        try:
            records.append(elect_leader(image, settings, partition.topic.name, partition.id, Election.UNCLEAN))
        except KafkaError as failure:
            logger.warning("Cannot trigger unclean leader election for offline partition %s: %s", name, failure)
            continue
        logger.info("Triggering unclean leader election for offline partition %s.", name)
        if len(records) == MAX_ELECTIONS_PER_IMBALANCE:
            break
    return ControllerResult(records, len(records) == MAX_ELECTIONS_PER_IMBALANCE, is_atomic=False)


def partition_of(image: MetadataImage, topic_id: Uuid, partition_id: int) -> PartitionOf:
    """A partition by its topic's id; UNKNOWN_TOPIC_ID or UNKNOWN_TOPIC_OR_PARTITION."""
    topic = image.topics.by_id.get(topic_id)
    if topic is None:
        raise error(ErrorCode.UNKNOWN_TOPIC_ID)
    registration = topic.partitions.get(partition_id)
    if registration is None:
        raise error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return PartitionOf(topic, partition_id, registration)
