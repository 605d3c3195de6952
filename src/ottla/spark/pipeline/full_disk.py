"""A full disk as the cause of a failure: deep in what Spark says stands that no space was left, and not where."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from typing import Final

from ottla.spark.pipeline.hadoop_files import local_path

_FULL: Final = re.compile(r"No space left on device|Disk quota exceeded")
_NAMED: Final = re.compile(r"(?:file:)?(/[^\s:()]+)(?:: | \()(?:No space left on device|Disk quota exceeded)")


def full_disk(failure: BaseException, directories: Iterable[str], *, is_local: bool) -> str | None:
    """Which disk was full, of those with ``directories`` and the one that the failure names; None if none was.

    It is the one with least room now. The disks of executors elsewhere (not ``is_local``) cannot be asked.
    """
    told = _texts(failure)
    if not any(_FULL.search(text) for text in told):
        return None
    named = [path for text in told for path in _NAMED.findall(text)]
    if named and is_local:
        directories = named
    room = {each: shutil.disk_usage(each).free for each in map(_existing, directories) if each}
    where = min(room, key=lambda each: room[each], default=None)
    if where is None or not is_local:
        return "no space was left on a disk that Spark's executors write to: make room, then the same command goes on"
    return (
        f"no space was left on the disk with {where} ({room[where] / 2**20:,.1f} MiB are free now): "
        "make room, then the same command goes on"
    )


def written_directories(checkpoint: str, conf: Mapping[str, str]) -> list[str]:
    """Where every job writes: its checkpoint, and Spark's scratch directories."""
    scratch = os.environ.get("SPARK_LOCAL_DIRS") or conf.get("spark.local.dir") or tempfile.gettempdir()
    return [checkpoint, *scratch.split(",")]


def _texts(failure: BaseException | None) -> list[str]:
    """What the failure says, and what it came from: PySpark keeps what it had from Java in fields of its own."""
    texts = []
    while failure is not None:
        texts += [str(failure), str(getattr(failure, "_stackTrace", ""))]
        failure = failure.__cause__ or getattr(failure, "_cause", None)
    return texts


def _existing(path: str) -> str | None:
    """The directory that holds a path, or will; None for one on another file system than the machine's own."""
    plain = local_path(path)
    if plain is None:
        return None
    plain = os.path.abspath(plain)
    while not os.path.isdir(plain):
        plain = os.path.dirname(plain)
    return plain
