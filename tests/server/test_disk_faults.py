"""Which failed directories end a node, and the sentence that it says."""

import errno
import os
from collections.abc import Mapping

import pytest

from ottla.common.errors import KafkaStorageError
from ottla.server.disk_faults import fatal_disk_fault


def disk_error(code: int = errno.EIO) -> OSError:
    return OSError(code, os.strerror(code))


def fatal(failures: Mapping[str, Exception | None]) -> KafkaStorageError | None:
    """The metadata lies in the first."""
    first = next(iter(failures))
    return fatal_disk_fault(failures, first, failures[first])


def test_a_node_lives_on_with_the_metadata_and_one_directory_that_works() -> None:
    assert fatal({"/a": None}) is None
    assert fatal({"/a": None, "/b": disk_error(), "/c": disk_error()}) is None


def test_the_metadata_is_one_directory_too_few() -> None:
    fault = fatal({"/a": disk_error(), "/b": None})
    assert str(fault) == (
        "The log directory with the metadata has failed (/a: Input/output error); check the disk and start "
        "the node again"
    )


def test_the_metadata_may_lie_elsewhere() -> None:
    assert fatal_disk_fault({"/a": disk_error(), "/b": None}, "/m", None) is None
    fault = fatal_disk_fault({"/a": None}, "/m", disk_error())
    assert str(fault).startswith("The log directory with the metadata has failed (/m: Input/output error")
    fault = fatal_disk_fault({"/a": disk_error()}, "/m", None)
    assert str(fault).startswith("All log directories have failed (/a: Input/output error")


def test_all_of_them() -> None:
    fault = fatal({"/a": disk_error(errno.ENOSPC), "/b": KafkaStorageError("a copy")})
    assert str(fault) == (
        "All log directories have failed (/a: No space left on device, /b: a copy); make room, check the "
        "disk and start the node again"
    )


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (errno.ENOSPC, "make room"),
        (errno.EDQUOT, "make room in the quota"),
        (errno.EROFS, "mount it for writing"),
        (errno.EACCES, "let the node read and write there"),
        (errno.EIO, "check the disk"),
    ],
)
def test_what_to_do(code: int, advice: str) -> None:
    fault = fatal({"/a": disk_error(code)})
    assert f"; {advice} and start" in str(fault)
