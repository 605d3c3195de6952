"""``.kafka_cleanshutdown``: the mark of a data directory in which everything was flushed before the broker ended.

With it a start believes indexes and skips recovery. So it is written after everything else is durable, and is gone from
the disk before anything is written again: otherwise a power loss would bring it back over a directory in use.
"""

import json
import logging
from typing import Final

from ottla.runtime.atomic import write_atomically
from ottla.runtime.port import Files

CLEAN_SHUTDOWN_FILE: Final = ".kafka_cleanshutdown"
CURRENT_VERSION: Final = 0

_logger = logging.getLogger(__name__)


class CleanShutdownFile:
    """The mark of one data directory."""

    __slots__ = ("_files", "_log_dir", "path")

    def __init__(self, files: Files, log_dir: str) -> None:
        self._files = files
        self._log_dir = log_dir
        self.path = f"{log_dir}/{CLEAN_SHUTDOWN_FILE}"

    def exists(self) -> bool:
        """Whether the last shutdown was clean; what the file holds does not matter for that."""
        return self._files.exists(self.path)

    def read(self) -> int | None:
        """The epoch of the broker that shut down, None if the file is missing or does not tell."""
        if not self.exists():
            return None
        try:
            content = json.loads(self._files.read(self.path))
        except (ValueError, OSError) as error:
            _logger.debug("Failed to read the clean shutdown file %s: %s", self.path, error)
            return None
        broker_epoch = content.get("brokerEpoch") if isinstance(content, dict) else None
        return broker_epoch if type(broker_epoch) is int else None

    def write(self, broker_epoch: int) -> None:
        """Mark the directory; durable on return."""
        content = {"version": CURRENT_VERSION, "brokerEpoch": broker_epoch}
        write_atomically(self._files, self.path, json.dumps(content, separators=(",", ":")).encode())

    def delete(self) -> bool:
        """Take the mark away, durably; returns whether there was one."""
        try:
            self._files.remove(self.path)
        except FileNotFoundError:
            return False
        self._files.sync_dir(self._log_dir)
        return True
