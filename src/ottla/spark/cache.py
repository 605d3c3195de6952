"""The user's cache: directories that are made once, whole, by whichever process comes first."""

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_DIGEST_LETTERS: Final = 16


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
    """Return the directory below ``name`` that holds ``contents``, first filling it with ``make(directory)``.

    ``contents`` describes what is inside (the coordinates, the hash of the sources). Each description has a directory
    of its own: another environment of the user's may run on what was made from another one. ``make`` works in a
    temporary directory that takes its name only when it is complete, so a half-made one is never seen.
    """
    directory = cache_root() / name / hashlib.sha256(contents.encode()).hexdigest()[:_DIGEST_LETTERS]
    with exclusive(name.replace("/", "-")):
        if directory.is_dir():
            return directory
        directory.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=directory.name + ".", dir=directory.parent))
        try:
            make(scratch)
            (scratch / "contents.txt").write_text(contents)
            scratch.rename(directory)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return directory
