"""New partitions on the broker in this process, which are refused while they can be: it may be short of open files."""

from collections.abc import Iterable

from ottla.controller.settings import ControllerSettings
from ottla.metadata.records import MetadataRecord, PartitionRecord


class OwnPartitions:
    """Those of one request. Other brokers' room is not known here."""

    def __init__(self, settings: ControllerSettings) -> None:
        self._node_id = settings.node_id
        self._room = settings.partition_room
        self._count = 0

    def add(self, records: Iterable[MetadataRecord]) -> None:
        """Count the partitions in the records of one topic; POLICY_VIOLATION, and none is counted, for too many."""
        if self._room is None:
            return
        count = sum(isinstance(record, PartitionRecord) and self._node_id in record.replicas for record in records)
        if count:
            self._room.require_room(self._count + count)
            self._count += count

    def promise(self) -> None:
        """Their records are about to be written."""
        if self._room is not None and self._count:
            self._room.promise(self._count)
