"""Which failed directories a node cannot live without, and what it says when it ends.

As in Apache Kafka: all log directories, or the one with the metadata log, which may be none of them. Decision 0024 says
how the node ends.
"""

import errno
from collections.abc import Mapping
from typing import Final

from ottla.common.error_words import in_words
from ottla.common.errors import KafkaStorageError

_ADVICE: Final[Mapping[int | None, str]] = {
    errno.ENOSPC: "make room",
    errno.EDQUOT: "make room in the quota",
    errno.EROFS: "mount it for writing",
    errno.EACCES: "let the node read and write there",
    errno.EPERM: "let the node read and write there",
}
_CHECK: Final = "check the disk"


def fatal_disk_fault(
    failures: Mapping[str, Exception | None], metadata_log_dir: str, metadata_failure: Exception | None
) -> KafkaStorageError | None:
    """What ends the node; None while it can go on.

    ``failures`` names every log directory, each with what took it offline, or None while it works.
    ``metadata_failure`` is what took the directory of the metadata offline.
    """
    failed = {path: error for path, error in failures.items() if error is not None}
    if len(failed) == len(failures):
        return _fault("All log directories have failed", failed)
    if metadata_failure is not None:
        return _fault("The log directory with the metadata has failed", {metadata_log_dir: metadata_failure})
    return None


def _fault(what: str, failed: Mapping[str, Exception]) -> KafkaStorageError:
    reasons = ", ".join(f"{path}: {in_words(error)}" for path, error in failed.items())
    advice = dict.fromkeys(_advice(error) for error in failed.values())
    return KafkaStorageError(f"{what} ({reasons}); {', '.join(advice)} and start the node again")


def _advice(error: Exception) -> str:
    return _ADVICE.get(error.errno, _CHECK) if isinstance(error, OSError) else _CHECK
