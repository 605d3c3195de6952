"""Which failed directories end a node, and the sentence that it says."""

import errno
import os

import pytest

from ottla.common.errors import KafkaStorageError
from ottla.server.disk_faults import fatal_disk_fault


def disk_error(code: int = errno.EIO) -> OSError:
    return OSError(code, os.strerror(code))


def test_a_node_lives_on_with_the_metadata_and_one_directory_that_works() -> None:
    assert fatal_disk_fault({"/a": None}, "/a") is None
    assert fatal_disk_fault({"/a": None, "/b": disk_error(), "/c": disk_error()}, "/a") is None


def test_the_metadata_is_one_directory_too_few() -> None:
    fault = fatal_disk_fault({"/a": disk_error(), "/b": None}, "/a")
    assert str(fault) == (
        "The log directory with the metadata has failed (/a: [Errno 5] Input/output error); check the disk and start "
        "the node again"
    )


def test_all_of_them() -> None:
    fault = fatal_disk_fault({"/a": disk_error(errno.ENOSPC), "/b": KafkaStorageError("a copy")}, "/a")
    assert str(fault) == (
        "All log directories have failed (/a: [Errno 28] No space left on device, /b: a copy); make room, check the "
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
    fault = fatal_disk_fault({"/a": disk_error(code)}, "/a")
    assert f"; {advice} and start" in str(fault)
