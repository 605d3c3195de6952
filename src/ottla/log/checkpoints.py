"""Checkpoint files: a version, a count, and one entry a line.

The four files of a data directory hold an offset a partition; ``leader-epoch-checkpoint`` in each partition uses the
same frame (see :mod:`ottla.log.leader_epochs`). An empty file holds nothing: Apache Kafka makes one before it has
anything to write.
"""

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

from ottla.common.errors import KafkaStorageError
from ottla.common.topic_partition import TopicPartition
from ottla.runtime.atomic import write_atomically
from ottla.runtime.port import Files

RECOVERY_POINT_CHECKPOINT: Final = "recovery-point-offset-checkpoint"
LOG_START_OFFSET_CHECKPOINT: Final = "log-start-offset-checkpoint"
REPLICATION_OFFSET_CHECKPOINT: Final = "replication-offset-checkpoint"
CLEANER_OFFSET_CHECKPOINT: Final = "cleaner-offset-checkpoint"

CURRENT_VERSION: Final = 0

_LINE_END = re.compile(r"\r\n|\r|\n")
_WHITESPACE = re.compile(r"\s+", re.ASCII)
_INTEGER = re.compile(r"[+-]?[0-9]+")
_INT_MAX, _LONG_MAX = (1 << 31) - 1, (1 << 63) - 1

_logger = logging.getLogger(__name__)

Entry = TypeVar("Entry")


class MalformedCheckpointError(KafkaStorageError):
    """A checkpoint file that was damaged, or that a newer Kafka wrote."""


def format_checkpoint(lines: Iterable[str]) -> bytes:
    """The contents of a checkpoint file with these entries."""
    entries = list(lines)
    return "\n".join([str(CURRENT_VERSION), str(len(entries)), *entries, ""]).encode()


def parse_checkpoint(data: bytes, path: str, entry: Callable[[list[str]], Entry]) -> list[Entry]:
    """The entries of a checkpoint file.

    ``entry`` makes one from the words of a line and raises ValueError if it cannot. Whatever is wrong is a
    MalformedCheckpointError that names the file and the line.
    """
    try:
        lines = _LINE_END.split(data.decode())
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise MalformedCheckpointError(f"Line {number} of checkpoint file {path} is not UTF-8") from error
    if not lines[-1]:
        lines.pop()
    if not lines:
        return []
    version = _header(lines, 1, path, "a version")
    if version != CURRENT_VERSION:
        raise MalformedCheckpointError(
            f"Line 1 of checkpoint file {path}: version {version}, and only {CURRENT_VERSION} is known"
        )
    if len(lines) == 1:
        return []
    expected = _header(lines, 2, path, "the number of entries")
    entries: list[Entry] = []
    for number, line in enumerate(lines[2:], start=3):
        words = _WHITESPACE.split(line)
        if not words[-1]:
            words.pop()
        try:
            entries.append(entry(words))
        except ValueError as error:
            raise MalformedCheckpointError(f"Line {number} of checkpoint file {path} is malformed: {line!r}") from error
    if len(entries) != expected:
        raise MalformedCheckpointError(
            f"Line 2 of checkpoint file {path} announces {expected} entries, but {len(entries)} follow"
        )
    return entries


def _header(lines: list[str], number: int, path: str, what: str) -> int:
    try:
        return parse_int(lines[number - 1])
    except ValueError as error:
        raise MalformedCheckpointError(
            f"Line {number} of checkpoint file {path} is not {what}: {lines[number - 1]!r}"
        ) from error


def parse_int(word: str) -> int:
    """A 32-bit number that is not negative, or ValueError."""
    return _parse(word, _INT_MAX)


def parse_long(word: str) -> int:
    """A 64-bit number that is not negative, or ValueError."""
    return _parse(word, _LONG_MAX)


def _parse(word: str, maximum: int) -> int:
    if _INTEGER.fullmatch(word) is None:
        raise ValueError(f"{word!r} is not a number")
    value = int(word)
    if not 0 <= value <= maximum:
        raise ValueError(f"{word!r} is not between 0 and {maximum}")
    return value


class OffsetCheckpoint:
    """One of the four files of a data directory that hold an offset a partition."""

    __slots__ = ("_files", "path")

    def __init__(self, files: Files, path: str) -> None:
        self._files = files
        self.path = path

    def read(self) -> dict[TopicPartition, int]:
        """All offsets; none if there is no file. Raises MalformedCheckpointError."""
        if not self._files.exists(self.path):
            return {}
        return dict(parse_checkpoint(self._files.read(self.path), self.path, _offset_entry))

    def read_or_none(self) -> dict[TopicPartition, int] | None:
        """All offsets; None if there is no file or it is damaged, for a start goes on without it."""
        try:
            return self.read() if self._files.exists(self.path) else None
        except MalformedCheckpointError as error:
            _logger.warning("Ignoring a damaged checkpoint and starting without it. %s", error)
            return None

    def read_or_empty(self) -> dict[TopicPartition, int]:
        """The same, but no offsets instead of None: what the file says is found again by recovery."""
        return self.read_or_none() or {}

    def write(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Replace the file, in the order of ``offsets``; durable on return."""
        lines = (f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items())
        write_atomically(self._files, self.path, format_checkpoint(lines))


def _offset_entry(words: list[str]) -> tuple[TopicPartition, int]:
    topic, partition, offset = words
    if not topic:
        raise ValueError("the topic is missing")
    return TopicPartition(topic, parse_int(partition)), parse_long(offset)
