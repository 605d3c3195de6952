"""Turns a disk's errors into what they mean: the data directory is offline, and everything in it with it."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ottla.common.errors import KafkaStorageError
from ottla.log.local_log import LocalLog

logger = logging.getLogger(__name__)


class DiskGuard:
    """The disk under one log: fine until ``failure`` is set, by an error here or by another log of the same
    directory.
    """

    def __init__(self, local: LocalLog, on_failure: Callable[[str, OSError], None]) -> None:
        self.failure: Exception | None = None
        self._local = local
        self._on_failure = on_failure

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Around whatever touches the disk."""
        self.check()
        try:
            yield
        except OSError as error:
            raise self.failed(what, error) from error

    def check(self) -> None:
        """Raise KafkaStorageError when the disk has failed before."""
        if self.failure is not None:
            raise KafkaStorageError(
                f"The log dir {self._data_directory} is already offline due to a previous IO exception: {self.failure}"
            )

    def failed(self, what: str, error: OSError) -> KafkaStorageError:
        """Note a failure, tell who must know, and return the error to raise."""
        if self.failure is not None:
            return KafkaStorageError(f"Error while {what} on a disk that has failed: {error}")
        message = f"Error while {what} for {self._local.topic_partition} in dir {self._data_directory}: {error}"
        logger.error(message)
        self.failure = error
        self._on_failure(self._data_directory, error)
        return KafkaStorageError(message)

    @property
    def _data_directory(self) -> str:
        return self._local.directory.rpartition("/")[0]
