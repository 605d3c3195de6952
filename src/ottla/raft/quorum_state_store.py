"""``quorum-state``: the file, next to the metadata log, that a replica remembers elections in."""

from collections.abc import Callable
from typing import Final

from ottla.common.errors import KafkaStorageError
from ottla.raft.election_state import ElectionState
from ottla.runtime.atomic import TEMPORARY_SUFFIX, write_atomically
from ottla.runtime.port import Files

QUORUM_STATE_FILE: Final = "quorum-state"


class FileQuorumStateStore:
    """The file of one replica. KafkaStorageError if the disk fails: a vote that is not kept must not be cast."""

    __slots__ = ("_files", "_on_disk_failure", "path")

    def __init__(
        self, files: Files, directory: str, on_disk_failure: Callable[[OSError], None] = lambda _error: None
    ) -> None:
        self._files = files
        self._on_disk_failure = on_disk_failure
        self.path = f"{directory}/{QUORUM_STATE_FILE}"

    def read(self) -> ElectionState | None:
        """The latest state, None if there is none; KafkaStorageError if it makes no sense."""
        try:
            if not self._files.exists(self.path):
                return None
            return ElectionState.decode(self._files.read(self.path), self.path)
        except OSError as error:
            self._on_disk_failure(error)
            raise KafkaStorageError(f"Error while reading the Quorum status from the file {self.path}") from error

    def write(self, state: ElectionState, kraft_version: int) -> None:
        """Replace the state, in the version that goes with the kraft.version; durable on return."""
        try:
            write_atomically(self._files, self.path, state.encode(kraft_version))
        except OSError as error:
            self._on_disk_failure(error)
            raise KafkaStorageError(f"Error while writing the Quorum status to the file {self.path}") from error

    def clear(self) -> None:
        """Forget everything, as a formatter does."""
        for path in (self.path, self.path + TEMPORARY_SUFFIX):
            if self._files.exists(path):
                self._files.remove(path)
