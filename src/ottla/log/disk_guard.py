"""Turns a disk's errors into what they mean: the data directory is offline, and everything in it with it.

Want of open files or memory is another matter: what was asked for is refused, and may be asked for again.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ottla.common.error_words import in_words
from ottla.common.errors import KafkaStorageError, ResourceShortageError
from ottla.log.local_log import LocalLog
from ottla.runtime.shortage import is_shortage

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
    def doing(self, what: str, *, may_be_refused: bool = True) -> Iterator[None]:
        """Around whatever touches the disk; ``may_be_refused`` says whether it can stop in the middle and begin anew.

        What cannot is not begun unless a file can be opened; all of it opens one at a time.
        """
        self.check()
        if not may_be_refused:
            with self.doing(what):
                self._local.context.runtime.files.list_dir(self._local.directory)
        try:
            yield
        except OSError as error:
            raise self.failed(what, error, may_be_refused=may_be_refused) from error

    def check(self) -> None:
        """Raise KafkaStorageError when the disk has failed before."""
        if self.failure is not None:
            raise KafkaStorageError(
                f"The log dir {self._data_directory} is already offline due to a previous IO exception: "
                f"{in_words(self.failure)}"
            )

    def failed(self, what: str, error: OSError, *, may_be_refused: bool = True) -> KafkaStorageError:
        """Note a failure, tell who must know, and return the error to raise."""
        if self.failure is not None:
            return KafkaStorageError(f"Error while {what} on a disk that has failed: {in_words(error)}")
        message = (
            f"Error while {what} for {self._local.topic_partition} in dir {self._data_directory}: {in_words(error)}"
        )
        if may_be_refused and is_shortage(error):
            self._local.context.shortages.report(message)
            return ResourceShortageError(message)
        logger.error(message)
        self.failure = error
        self._on_failure(self._data_directory, error)
        return KafkaStorageError(message)

    @property
    def _data_directory(self) -> str:
        return self._local.directory.rpartition("/")[0]
