"""``partition.metadata``: the id of the topic that a partition's directory belongs to."""

import logging
import re
from typing import Final, NamedTuple

from ottla.common.errors import InconsistentTopicIdError, KafkaStorageError
from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.runtime.atomic import write_atomically
from ottla.runtime.port import Files

PARTITION_METADATA_FILE: Final = "partition.metadata"
CURRENT_VERSION: Final = 0

_FIELD = re.compile(r"[^:\n]*:\s+(\S+)", re.ASCII)
_VERSION = re.compile(r"[+-]?[0-9]{1,10}")

_logger = logging.getLogger(__name__)


class PartitionMetadata(NamedTuple):
    """What the file says. A version above ours is read all the same, so that a downgrade works."""

    version: int
    topic_id: Uuid

    def encode(self) -> bytes:
        """The file's contents; Apache Kafka ends it without a newline."""
        return f"version: {self.version}\ntopic_id: {self.topic_id}".encode()

    @classmethod
    def decode(cls, data: bytes, path: str) -> "PartitionMetadata":
        """Parse the file's contents; raises KafkaStorageError that names the file and the line."""
        lines = data.decode(errors="replace").splitlines()
        version_text = _field(lines, 1, path)
        if _VERSION.fullmatch(version_text) is None:
            raise KafkaStorageError(f"Line 1 of partition metadata file {path} is malformed: {lines[0]!r}")
        version = int(version_text)
        if version < CURRENT_VERSION:
            raise KafkaStorageError(f"Line 1 of partition metadata file {path}: {version} is no known version")
        try:
            topic_id = Uuid.from_string(_field(lines, 2, path))
        except ValueError as error:
            raise KafkaStorageError(f"Line 2 of partition metadata file {path}: {error}") from error
        if topic_id == ZERO_UUID:
            raise KafkaStorageError(f"Line 2 of partition metadata file {path}: the zero id is no topic's")
        return cls(version, topic_id)


def _field(lines: list[str], number: int, path: str) -> str:
    if len(lines) < number:
        raise KafkaStorageError(f"Line {number} of partition metadata file {path} is missing")
    found = _FIELD.fullmatch(lines[number - 1])
    if found is None:
        raise KafkaStorageError(f"Line {number} of partition metadata file {path} is malformed: {lines[number - 1]!r}")
    return found[1]


class PartitionMetadataFile:
    """The file of one partition. ``record`` notes a topic id, ``maybe_flush`` writes it before the first append."""

    __slots__ = ("_dirty_topic_id", "_files", "path")

    def __init__(self, files: Files, path: str) -> None:
        self._files = files
        self.path = path
        self._dirty_topic_id: Uuid | None = None

    def exists(self) -> bool:
        """Whether there is a file, readable or not."""
        return self._files.exists(self.path)

    def read(self) -> PartitionMetadata:
        """The file's contents; raises KafkaStorageError when they make no sense."""
        return PartitionMetadata.decode(self._files.read(self.path), self.path)

    def read_or_none(self) -> PartitionMetadata | None:
        """The file's contents, or None if it is missing or damaged: the topic id then comes from the controller."""
        if not self.exists():
            return None
        try:
            return self.read()
        except KafkaStorageError as error:
            _logger.warning("Ignoring a damaged partition metadata file. %s", error)
            return None

    def record(self, topic_id: Uuid) -> None:
        """Note the id to write; a different one than noted before is an InconsistentTopicIdError."""
        if self._dirty_topic_id is not None and self._dirty_topic_id != topic_id:
            raise InconsistentTopicIdError(
                f"Tried to record topic id {topic_id} in {self.path}, but {self._dirty_topic_id} was recorded before"
            )
        self._dirty_topic_id = topic_id

    def maybe_flush(self) -> None:
        """Write the noted id, if any; durable on return."""
        if self._dirty_topic_id is not None:
            metadata = PartitionMetadata(CURRENT_VERSION, self._dirty_topic_id)
            write_atomically(self._files, self.path, metadata.encode())
            self._dirty_topic_id = None

    def delete(self) -> None:
        """Remove the file; FileNotFoundError if there is none."""
        self._files.remove(self.path)

    def move_to(self, path: str) -> None:
        """Follow the file, whose directory was renamed."""
        self.path = path
