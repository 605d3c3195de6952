"""What a doctor looks at on this machine: a server.properties, and the directories that it names."""

import os
import shutil
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from ottla.cli.findings import Finding, fail, has_failed, ok, warn
from ottla.common.error_words import in_words
from ottla.common.errors import InvalidConfigError, KafkaError, KafkaStorageError
from ottla.config.kafka_config import KafkaConfig, remarks
from ottla.log.data_directory import read_identity
from ottla.runtime.live import AsyncioRuntime
from ottla.runtime.port import Runtime
from ottla.server.storage import check_roles, check_start, directories_of

_LOW_SHARE: Final = 0.10
_EMPTY_SHARE: Final = 0.02
_CHANGE: Final = "change the file of --server-config"
_FORMAT: Final = "run `ottla storage format`"
_RESTORE: Final = "restore the file from a backup, or name another directory"
_DEFAULT_DIRECTORY: Final = "/tmp/kafka-logs"  # noqa: S108 - Kafka's default


def local_findings(properties: Mapping[str, str]) -> Iterator[Finding]:
    """Would a server start with this, and its log directories: are they its own, writable, with room?

    What a start checks is checked by the same code.
    """
    runtime = AsyncioRuntime()
    try:
        config = yield from _configuration_findings(properties)
        if config is not None:
            yield from _start_findings(runtime, config)
        else:
            named = properties.get("log.dirs") or properties.get("log.dir") or _DEFAULT_DIRECTORY
            for name in named.split(","):
                yield from directory_findings(runtime, Path(name.strip()))
    finally:
        runtime.close()


def _configuration_findings(properties: Mapping[str, str]) -> Generator[Finding, None, KafkaConfig | None]:
    """What a server says to the properties; returns the configuration that it makes of them."""
    config = None
    try:
        config = KafkaConfig.from_props(properties, warn=False)
        check_roles(config.kraft)
        yield ok("A server accepts the configuration")
    except InvalidConfigError as error:
        yield fail(f"A server does not start with this configuration: {error}", _CHANGE)
    with suppress(InvalidConfigError):  # which is told already
        for remark in remarks(properties):
            yield warn(remark, _CHANGE)
    return config


def _start_findings(runtime: Runtime, config: KafkaConfig) -> Iterator[Finding]:
    """What a start would say to the directories, and what else is to be said of each."""
    cluster_id, refusal = None, None
    try:
        cluster_id = check_start(runtime, config)
    except KafkaError as error:
        refusal = error
    found = [
        finding
        for directory in directories_of(config)
        for finding in directory_findings(
            runtime,
            Path(directory),
            cluster_id=cluster_id,
            node_id=config.kraft.node_id,
            is_made_by_start=directory != config.metadata_log_dir,
        )
    ]
    yield from found
    if refusal is not None and not has_failed(found):
        yield fail(f"A server does not start with these directories: {refusal}", _CHANGE)


def directory_findings(
    runtime: Runtime,
    path: Path,
    *,
    cluster_id: str | None = None,
    node_id: int | None = None,
    is_made_by_start: bool = False,
) -> Iterator[Finding]:
    """One directory of a node; without ``cluster_id`` and ``node_id`` it may be any node's."""
    new = "it is made and formatted at the next start" if is_made_by_start else _FORMAT
    level = warn if is_made_by_start else fail
    if not path.is_dir():
        yield level(f"The log directory {path} is missing", new)
        return
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        yield fail(f"The log directory {path} cannot be read and written by this user", "chown it to the server's user")
    else:
        try:
            if read_identity(runtime.files, str(path), cluster_id, node_id) is None:
                yield level(f"The log directory {path} is not formatted", new)
            else:
                yield ok(f"The log directory {path} is formatted, and can be read and written")
        except (KafkaStorageError, OSError) as error:
            yield fail(f"The log directory {path} cannot be used: {in_words(error)}", _RESTORE)
    yield space_finding(path, *shutil.disk_usage(path)[::2])


def space_finding(path: Path, total_bytes: int, free_bytes: int) -> Finding:
    """Whether a disk has room."""
    share = free_bytes / total_bytes if total_bytes else 0.0
    what = f"The disk of {path} has {free_bytes / 2**30:.1f} GiB free of {total_bytes / 2**30:.1f} ({share:.0%})"
    hint = "delete or move data, or lower retention.ms and retention.bytes"
    if share < _EMPTY_SHARE:
        return fail(what, hint)
    return warn(what, hint) if share < _LOW_SHARE else ok(what)
