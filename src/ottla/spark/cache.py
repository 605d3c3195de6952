"""The user's cache: directories that are made once, whole, by whichever process comes first."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_root() -> Path:
    """Return $XDG_CACHE_HOME/ottla, or ~/.cache/ottla."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "ottla"


@contextmanager
def exclusive(name: str) -> Iterator[None]:
    """Hold the cache's lock ``name`` across processes."""
    root = cache_root()
    root.mkdir(parents=True, exist_ok=True)
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def cached_directory(name: str, contents: str, make: Callable[[Path], None]) -> Path:
    """Return the cache directory ``name``, first filling it with ``make(directory)`` unless it holds ``contents``.

    ``contents`` describes what is inside (the coordinates, the hash of the sources); a directory that was made from
    another description is made again. ``make`` works in a temporary directory that takes its name only when it is
    complete, so a half-made one is never seen.
    """
    directory = cache_root() / name
    description = directory / "contents.txt"
    with exclusive(name.replace("/", "-")):
        if description.is_file() and description.read_text() == contents:
            return directory
        directory.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=directory.name + ".", dir=directory.parent))
        try:
            make(scratch)
            (scratch / "contents.txt").write_text(contents)
            shutil.rmtree(directory, ignore_errors=True)
            scratch.rename(directory)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return directory
