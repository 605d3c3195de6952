"""What a doctor looks at on this machine: a server.properties, and the directories that it names."""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from ottla.cli.findings import Finding, fail, ok, warn
from ottla.common.errors import InvalidConfigError
from ottla.config.kafka_config import KafkaConfig

_LOW_SHARE: Final = 0.10
_EMPTY_SHARE: Final = 0.02


def local_findings(properties: Mapping[str, str]) -> Iterator[Finding]:
    """Would a server start with this, and its log directories: are they there, formatted, writable, with room?"""
    yield configuration_finding(properties)
    named = properties.get("log.dirs") or properties.get("log.dir") or "/tmp/kafka-logs"  # noqa: S108 - Kafka's default
    for name in named.split(","):
        yield from directory_findings(Path(name.strip()))


def configuration_finding(properties: Mapping[str, str]) -> Finding:
    """Whether a server accepts the properties."""
    try:
        KafkaConfig.from_props(properties, warn=False)
    except InvalidConfigError as error:
        return fail(f"A server does not start with this configuration: {error}", "change the file of --server-config")
    return ok("A server accepts the configuration")


def directory_findings(path: Path) -> Iterator[Finding]:
    """One log directory."""
    if not path.is_dir():
        yield fail(f"The log directory {path} is missing", "`ottla storage format` makes it")
        return
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        yield fail(f"The log directory {path} cannot be read and written by this user", "chown it to the server's user")
    elif not (path / "meta.properties").exists():
        yield fail(f"The log directory {path} is not formatted", "run `ottla storage format`")
    else:
        yield ok(f"The log directory {path} is formatted, and can be read and written")
    yield space_finding(path, *shutil.disk_usage(path)[::2])


def space_finding(path: Path, total_bytes: int, free_bytes: int) -> Finding:
    """Whether a disk has room."""
    share = free_bytes / total_bytes if total_bytes else 0.0
    what = f"The disk of {path} has {free_bytes / 2**30:.1f} GiB free of {total_bytes / 2**30:.1f} ({share:.0%})"
    hint = "delete or move data, or lower retention.ms and retention.bytes"
    if share < _EMPTY_SHARE:
        return fail(what, hint)
    return warn(what, hint) if share < _LOW_SHARE else ok(what)
