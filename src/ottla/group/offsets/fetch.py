"""Reads committed offsets (OffsetFetch)."""

from collections.abc import Container, Mapping
from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.group.group_store import GroupStore
from ottla.group.offsets.manager import OffsetMetadataManager
from ottla.group.offsets.offset_and_metadata import OffsetAndMetadata
from ottla.protocol.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)

INVALID_OFFSET: Final = -1


class OffsetReader:
    """What groups have committed. With ``require_stable``, an offset that an open transaction may change has
    UNSTABLE_OFFSET_COMMIT instead.
    """

    __slots__ = ("_groups", "_offsets", "_pending")

    def __init__(self, groups: GroupStore, manager: OffsetMetadataManager) -> None:
        self._groups = groups
        self._offsets = manager.offsets
        self._pending = manager.pending

    def fetch_offsets(self, request: OffsetFetchRequestGroup, *, require_stable: bool) -> OffsetFetchResponseGroup:
        """The offsets of a group: those asked for, or all if ``topics`` is None. Topics have both name and id.

        A group that does not exist has committed nothing, which is no error.
        """
        group_id = request.group_id
        try:
            self._groups.group(group_id).validate_offset_fetch(request.member_id, request.member_epoch)
            offsets = self._offsets.by_group.get(group_id, {})
        except KafkaError as error:
            if error.code != ErrorCode.GROUP_ID_NOT_FOUND:
                raise
            offsets = {}
        pending = self._pending.of_group(group_id) if require_stable else {}
        if request.topics is None:
            topics = [
                OffsetFetchResponseTopics(
                    name=name,
                    partitions=[
                        _partition(index, packed, ZERO_UUID, pending.get(name, ()))
                        for index, packed in partitions.items()
                    ],
                )
                for name, partitions in offsets.items()
            ]
        else:
            topics = []
            for topic in request.topics:
                committed: Mapping[int, bytes] = offsets.get(topic.name, {})
                unstable = pending.get(topic.name, ())
                partitions = [
                    _partition(index, committed.get(index), topic.topic_id, unstable)
                    for index in topic.partition_indexes
                ]
                topics.append(
                    OffsetFetchResponseTopics(name=topic.name, topic_id=topic.topic_id, partitions=partitions)
                )
        return OffsetFetchResponseGroup(group_id=group_id, topics=topics)


def _partition(
    index: int, packed: bytes | None, topic_id: Uuid, unstable: Container[int]
) -> OffsetFetchResponsePartitions:
    if index in unstable:
        return OffsetFetchResponsePartitions(
            partition_index=index, committed_offset=INVALID_OFFSET, error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT
        )
    if packed is None:
        return OffsetFetchResponsePartitions(partition_index=index, committed_offset=INVALID_OFFSET)
    offset = OffsetAndMetadata.unpack(packed)
    if topic_id != offset.topic_id and ZERO_UUID not in (topic_id, offset.topic_id):
        # It was committed for a topic of the same name that has been deleted since.
        return OffsetFetchResponsePartitions(partition_index=index, committed_offset=INVALID_OFFSET)
    return OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=offset.committed_offset,
        committed_leader_epoch=offset.leader_epoch,
        metadata=offset.metadata,
    )
