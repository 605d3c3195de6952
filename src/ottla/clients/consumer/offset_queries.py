"""Questions about offsets that wait for all their answers: the first, the last, the one at a time."""

import asyncio
from collections.abc import Mapping

from ottla.clients.cluster.cluster_client import ClusterClient
from ottla.clients.consumer.offset_and_metadata import OffsetAndTimestamp
from ottla.clients.consumer.offset_lookup import LookupResult, by_leader
from ottla.clients.consumer.position_updater import PositionUpdater
from ottla.clients.errors import KafkaTimeoutError, error_for
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.topic_partition import TopicPartition


async def look_up_offsets(
    cluster: ClusterClient,
    positions: PositionUpdater,
    timestamps: Mapping[TopicPartition, int],
    *,
    timeout_ms: int,
    retry_backoff_ms: int,
) -> dict[TopicPartition, OffsetAndTimestamp | None]:
    """Ask the leaders until all have answered; KafkaTimeoutError after ``timeout_ms``, with what they said last."""
    clock = cluster.runtime.clock
    deadline_ms = clock.monotonic_ms() + timeout_ms
    found: dict[TopicPartition, OffsetAndTimestamp | None] = {}
    missing = dict(timestamps)
    reasons: dict[TopicPartition, str] = {}
    await cluster.require_topics({partition.topic for partition in timestamps}, timeout_ms=timeout_ms)
    while missing:
        led, leaderless = by_leader(missing, cluster.metadata)
        reasons |= dict.fromkeys(leaderless, "no leader is known")
        asked = [
            (of_node, positions.list_offsets(node_id, {partition: missing[partition] for partition in of_node}))
            for node_id, of_node in led.items()
        ]
        answers = await asyncio.gather(*(question for _, question in asked), return_exceptions=True)
        for (of_node, _), answer in zip(asked, answers, strict=True):
            if isinstance(answer, LookupResult):
                if answer.fatal is not None:
                    raise answer.fatal
                found |= answer.found
                reasons |= {partition: ErrorCode(code).name for partition, code in answer.retry.items()}
            elif isinstance(answer, KafkaError) and answer.retriable:
                reasons |= dict.fromkeys(of_node, str(answer))
            else:
                assert isinstance(answer, BaseException)
                raise answer
        missing = {partition: timestamp for partition, timestamp in missing.items() if partition not in found}
        if missing:
            if clock.monotonic_ms() >= deadline_ms:
                why = ", ".join(f"{partition}: {reasons.get(partition, 'no answer')}" for partition in missing)
                raise KafkaTimeoutError(f"Offsets could not be looked up within {timeout_ms} ms ({why})")
            _raise_if_absent(missing, cluster)
            cluster.request_update()
            await cluster.runtime.sleep_ms(retry_backoff_ms)
    return found


def _raise_if_absent(partitions: Mapping[TopicPartition, int], cluster: ClusterClient) -> None:
    """A partition number that a topic does not have will not appear by waiting."""
    for partition in partitions:
        topic = cluster.metadata.topics.get(partition.topic)
        if topic is not None and topic.error_code == ErrorCode.NONE and partition.partition not in topic.partitions:
            raise error_for(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no partition {partition}")
