"""A data directory: made if missing, and used by one broker at a time."""

import logging
from typing import Final

from ottla.common.errors import KafkaError, KafkaStorageError
from ottla.runtime.atomic import parent_dir
from ottla.runtime.port import Files, Lock

LOCK_FILE: Final = ".lock"

_logger = logging.getLogger(__name__)


class LogDirLockedError(KafkaError):
    """Somebody else uses the directory: a mistake of set-up that stops a start, unlike a disk that fails."""


def make_log_dir(files: Files, path: str) -> None:
    """Make the directory if it is missing, so that it is there after a crash; KafkaStorageError if it is a file."""
    if files.is_dir(path):
        return
    if files.exists(path):
        raise KafkaStorageError(f"{path} is set as a log directory, but it is a file")
    _logger.info("Log directory %s not found, creating it.", path)
    missing = [path]
    while not files.exists(parent := parent_dir(missing[-1])):
        missing.append(parent)
    files.make_dir(path)
    for made in reversed(missing):
        files.sync_dir(parent_dir(made))


class LogDirLock:
    """The ``.lock`` of a data directory. Apache Kafka and Ottla respect each other's."""

    __slots__ = ("_files", "_lock", "path")

    def __init__(self, files: Files, path: str, lock: Lock) -> None:
        self._files = files
        self.path = path
        self._lock = lock

    @classmethod
    def acquire(cls, files: Files, log_dir: str) -> "LogDirLock":
        """Lock the directory; LogDirLockedError when another process or another node in this one has it."""
        path = f"{log_dir}/{LOCK_FILE}"
        lock = files.lock(path)
        if lock is None:
            raise LogDirLockedError(
                f"Failed to acquire lock on file {LOCK_FILE} in {log_dir}. A Kafka or Ottla node is using this "
                f"directory; stop it, or give this node a log.dirs of its own."
            )
        return cls(files, path, lock)

    def release(self) -> None:
        """Remove the file, as Apache Kafka does, and give up the lock."""
        try:
            self._files.remove(self.path)
        except FileNotFoundError:
            _logger.warning("%s was removed while it was locked", self.path)
        finally:
            self._lock.release()
