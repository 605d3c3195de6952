"""Which record files lie under a path: data directories, partition directories, single files."""

import glob
import os
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ottla.common.errors import InvalidConfigError, KafkaStorageError
from ottla.log.names import (
    DELETED_SUFFIX,
    LOG_SUFFIX,
    is_delete_dir,
    is_future_dir,
    is_log_file,
    is_stray_dir,
    offset_from_file_name,
    parse_topic_partition_dir,
)
from ottla.spark.log_table.batch_bounds import RELATIVE_OFFSET_MAX
from ottla.spark.log_table.table_options import DELETED, FUTURE, STRAY, TableOptions

_MARKS: Final = ((is_delete_dir, DELETED), (is_stray_dir, STRAY), (is_future_dir, FUTURE))
_GLOB: Final = "*?["


class SegmentFile(NamedTuple):
    """A record file, as it was when somebody looked."""

    path: str
    base_offset: int
    size_in_bytes: int
    inode: int


class PartitionFiles(NamedTuple):
    """The record files of one partition in one directory, by base offset."""

    topic: str
    partition: int
    segments: tuple[SegmentFile, ...]


def find_files(options: TableOptions) -> list[PartitionFiles]:
    """What is to be read, each file once; InvalidConfigError for a path at which nothing can be."""
    found: dict[str, PartitionFiles] = {}
    for path in options.paths:
        for directory, only in _expand(path, options):
            name = parse_topic_partition_dir(directory)
            if options.wants(name.topic):
                segments = tuple(list_segments(directory, options.include, only))
                found.setdefault(f"{directory}/{only or ''}", PartitionFiles(*name, segments))
    return [found[key] for key in sorted(found)]


def list_segments(directory: str, include: frozenset[str], only: str | None = None) -> list[SegmentFile]:
    """The record files of a partition directory; files that vanish meanwhile are not there."""
    segments = []
    with os.scandir(directory) as entries:
        for entry in entries:
            wanted = is_log_file(entry.name)
            if DELETED in include and entry.name.endswith(LOG_SUFFIX + DELETED_SUFFIX):
                wanted = True
            if not wanted or (only is not None and entry.name != only):
                continue
            try:
                status = entry.stat()
                offset = offset_from_file_name(entry.name)
            except (FileNotFoundError, ValueError):
                continue
            segments.append(SegmentFile(entry.path, offset, status.st_size, status.st_ino))
    return sorted(segments, key=lambda segment: (segment.base_offset, segment.path))


def with_end_offsets(segments: Sequence[SegmentFile]) -> Iterator[tuple[SegmentFile, int]]:
    """Each with the first offset that is not its own: where the next begins, or as far as an index reaches."""
    for index, segment in enumerate(segments):
        end_offset = segment.base_offset + RELATIVE_OFFSET_MAX + 1
        following = segments[index + 1].base_offset if index + 1 < len(segments) else end_offset
        yield segment, min(end_offset, following) if following > segment.base_offset else end_offset


def _expand(path: str, options: TableOptions) -> Iterator[tuple[str, str | None]]:
    """Partition directories, with the one file that is wanted of it or None for all."""
    paths = sorted(glob.glob(path)) if any(sign in path for sign in _GLOB) else [path]
    if not paths:
        raise InvalidConfigError(f"Nothing is called {path}")
    for each in paths:
        place = os.path.abspath(each)
        try:
            yield from _expand_one(place, options)
        except OSError as error:
            raise InvalidConfigError(f"{place} cannot be read: {error.strerror}") from error


def _expand_one(path: str, options: TableOptions) -> Iterator[tuple[str, str | None]]:
    if not os.path.isdir(path):
        directory, name = os.path.split(path)
        os.stat(path)
        if LOG_SUFFIX not in name or not is_partition_directory(directory):
            raise InvalidConfigError(f"{path} is no record file of a partition (TOPIC-PARTITION/OFFSET.log)")
        yield directory, name
        return
    names = os.listdir(path)
    if any(is_log_file(name) for name in names):
        if not is_partition_directory(path):
            raise InvalidConfigError(f"{path} holds record files, but is not named TOPIC-PARTITION")
        yield path, None
        return
    partitions = [f"{path}/{name}" for name in names if os.path.isdir(f"{path}/{name}")]
    partitions = [each for each in partitions if is_partition_directory(each)]
    if not partitions and not is_partition_directory(path):
        raise InvalidConfigError(f"{path} is no log directory: it holds neither partitions nor record files")
    for directory in sorted(partitions):
        if all(mark in options.include for is_marked, mark in _MARKS if is_marked(directory)):
            yield directory, None


def is_partition_directory(path: str) -> bool:
    """Whether it is named after a partition."""
    try:
        parse_topic_partition_dir(path)
    except KafkaStorageError:
        return False
    return True
