"""Formatting data directories, as ``kafka-storage format`` does.

Every directory gets the records that the cluster begins with (``bootstrap.checkpoint``) and then its identity
(``meta.properties``); the metadata directory of a dynamic quorum gets a first snapshot with the voters, in between.
So a directory that has an identity has everything.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from ottla.common.error_words import in_words
from ottla.common.errors import KafkaStorageError
from ottla.common.uuid import Uuid
from ottla.log.log_dir import make_log_dir
from ottla.log.meta_properties import MetaProperties, read_meta_properties, write_meta_properties
from ottla.raft.bootstrap_checkpoint import write_bootstrap_checkpoint
from ottla.raft.errors import FormatterError
from ottla.raft.metadata_log import metadata_directory
from ottla.raft.snapshot_names import BOOTSTRAP_SNAPSHOT_ID
from ottla.raft.snapshot_writer import SnapshotWriter
from ottla.raft.voter_set import VoterSet
from ottla.runtime.port import Files, Runtime

logger = logging.getLogger(__name__)


class DirectoryType(Enum):
    """What a directory is for; the value is how the tool calls it."""

    LOG = "data directory"
    STATIC_METADATA = "metadata directory"
    DYNAMIC_METADATA_NON_VOTER = "dynamic metadata directory"
    DYNAMIC_METADATA_VOTER = "dynamic metadata voter directory"


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatRequest:
    """What to format, and how."""

    cluster_id: str
    node_id: int
    directories: Sequence[str]
    """``log.dirs`` and ``metadata.log.dir``."""
    metadata_log_directory: str
    bootstrap_records: Sequence[bytes]
    """As the metadata serde writes them: feature levels, and SCRAM credentials if any."""
    bootstrap_description: str
    """The same for people."""
    metadata_version: str
    """The release, such as 4.3-IV0."""
    kraft_version: int = 0
    initial_controllers: VoterSet | None = None
    """The voters of a dynamic quorum; None for a static one, or for a node that joins later."""
    ignore_formatted: bool = False


async def format_directories(runtime: Runtime, request: FormatRequest) -> list[str]:
    """Format what is not formatted yet; returns what the tool prints.

    FormatterError for directories that are formatted already (unless they may be), or that belong to another cluster
    or node; OSError when a disk fails.
    """
    _check(request)
    directories = sorted(set(request.directories))
    formatted, damaged = _identities(runtime.files, directories)
    _verify(formatted, request)
    if formatted and not request.ignore_formatted:
        raise FormatterError(
            f"Log directory {next(iter(formatted))} is already formatted. Use --ignore-formatted to ignore this "
            "directory and format the others."
        )
    lines = [f"I/O error trying to read log directory {path}. Ignoring..." for path in damaged]
    empty = [path for path in directories if path not in formatted and path not in damaged]
    if not empty:
        if not formatted:
            raise FormatterError("No available log directories to format.")
        return [*lines, "All of the log directories are already formatted."]
    lines.append(f"Bootstrap metadata: {request.bootstrap_description}")
    taken = {properties.directory_id for properties in formatted.values()}
    for path in empty:
        directory_type = _type_of(path, request)
        lines.append(f"Formatting {directory_type.value} {path} with metadata.version {request.metadata_version}.")
        directory_id = await _format(runtime, path, directory_type, request, taken)
        taken.add(directory_id)
    for line in lines:
        logger.info(line)
    return lines


def effective_kraft_version(configured: int | None, *, has_dynamic_quorum: bool) -> int:
    """The kraft.version to format with: 1 for a quorum without static voters; FormatterError for a contradiction."""
    if configured is None:
        return 1 if has_dynamic_quorum else 0
    if configured == 0 and has_dynamic_quorum:
        raise FormatterError(
            "Cannot set kraft.version to 0 if controller.quorum.voters is empty and one of the flags --standalone, "
            "--initial-controllers, or --no-initial-controllers is used. For dynamic controllers support, try removing "
            "the --feature flag for kraft.version."
        )
    if configured != 0 and not has_dynamic_quorum:
        raise FormatterError(
            f"Cannot set kraft.version to {configured} unless controller.quorum.voters is empty and one of the flags "
            "--standalone, --initial-controllers, or --no-initial-controllers is used. For dynamic controllers support,"
            " try using one of --standalone, --initial-controllers, or --no-initial-controllers and removing "
            "controller.quorum.voters."
        )
    return configured


def _check(request: FormatRequest) -> None:
    if request.node_id < 0:
        raise FormatterError("You must specify a valid non-negative node ID.")
    if not request.cluster_id:
        raise FormatterError("You must specify the cluster id.")
    if not request.directories:
        raise FormatterError("You must specify at least one directory to format")
    if request.metadata_log_directory not in request.directories:
        raise FormatterError(
            f"The specified metadata log directory, {request.metadata_log_directory} was not one of the given "
            f"directories: {sorted(request.directories)}"
        )


def _identities(files: Files, directories: Sequence[str]) -> tuple[dict[str, MetaProperties], list[str]]:
    """The identities of formatted directories, and the directories that cannot be read."""
    formatted: dict[str, MetaProperties] = {}
    damaged = []
    for path in directories:
        try:
            properties = read_meta_properties(files, path)
        except (OSError, KafkaStorageError) as error:
            logger.error("Error while reading meta.properties in %s: %s", path, in_words(error))
            damaged.append(path)
            continue
        if properties is not None:
            formatted[path] = properties
    return formatted, damaged


def _verify(formatted: dict[str, MetaProperties], request: FormatRequest) -> None:
    seen: dict[Uuid, str] = {}
    for path, properties in formatted.items():
        file = f"{path}/meta.properties"
        if properties.cluster_id is not None and properties.cluster_id != request.cluster_id:
            raise FormatterError(
                f"Invalid cluster.id in: {file}. Expected {request.cluster_id}, but read {properties.cluster_id}"
            )
        if properties.node_id is not None and properties.node_id != request.node_id:
            raise FormatterError(
                f"Stored node id {properties.node_id} doesn't match previous node id {request.node_id} in {file}. If "
                "you moved your data, make sure your configured node id matches. If you intend to create a new node, "
                "you should remove all data in your data directories."
            )
        directory_id = properties.directory_id
        if directory_id is not None and directory_id in seen:
            raise FormatterError(
                f"Duplicate directory ID {directory_id} found. It was the ID of {seen[directory_id]}, but also of "
                f"{path}"
            )
        if directory_id is not None:
            seen[directory_id] = path


def _type_of(path: str, request: FormatRequest) -> DirectoryType:
    if path != request.metadata_log_directory:
        return DirectoryType.LOG
    if request.initial_controllers is None:
        return DirectoryType.STATIC_METADATA
    if request.initial_controllers.node(request.node_id) is not None:
        return DirectoryType.DYNAMIC_METADATA_VOTER
    return DirectoryType.DYNAMIC_METADATA_NON_VOTER


async def _format(
    runtime: Runtime,
    path: str,
    directory_type: DirectoryType,
    request: FormatRequest,
    taken: set[Uuid | None],
) -> Uuid:
    """Format one directory; returns its id, which a voter's metadata directory has been given already."""
    files, now_ms = runtime.files, runtime.clock.now_ms()
    make_log_dir(files, path)
    write_bootstrap_checkpoint(files, path, request.bootstrap_records, now_ms)
    voters = request.initial_controllers
    if voters is not None and path == request.metadata_log_directory:
        await _write_voters(runtime, path, voters, request.kraft_version)
    voter = voters.node(request.node_id) if voters is not None else None
    if directory_type is DirectoryType.DYNAMIC_METADATA_VOTER and voter is not None:
        directory_id = voter.key.directory_id or _new_directory_id(runtime, taken)
    else:
        directory_id = _new_directory_id(runtime, taken)
    properties = MetaProperties(request.cluster_id, request.node_id, directory_id)
    write_meta_properties(files, path, properties, now_ms)
    return directory_id


def _new_directory_id(runtime: Runtime, taken: set[Uuid | None]) -> Uuid:
    while (directory_id := Uuid.random(runtime.rng)) in taken:
        pass
    return directory_id


async def _write_voters(runtime: Runtime, path: str, voters: VoterSet, kraft_version: int) -> None:
    """The snapshot at 0-0, which only says who votes."""
    directory = metadata_directory(path)
    make_log_dir(runtime.files, directory)
    writer = SnapshotWriter(
        runtime,
        directory,
        BOOTSTRAP_SNAPSHOT_ID,
        last_contained_log_timestamp=runtime.clock.now_ms(),
        kraft_version=kraft_version,
        voters=voters,
    )
    try:
        await writer.freeze()
    finally:
        writer.close()
