"""``ottla server`` in a process of its own, on a disk that fails when it is told to.

Faults reach the process by way of a file, which it looks at before each operation.
"""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import ottla
from ottla.cli.main import main
from ottla.runtime import live
from ottla.runtime.port import Buffer
from ottla.runtime.posix import PosixFile, PosixFiles
from tests.ottla_broker import OttlaBroker
from tests.server.wire import BOUND_S

REPOSITORY = Path(__file__).parents[2]


class Fault(NamedTuple):
    """``operation`` on every file whose path matches fails: pwrite, pread, sync, open, rename, sendfile, preadv."""

    operation: str
    path: str
    errno: int = errno.EIO


class Faults:
    """Those that hold now, as the file of them says."""

    def __init__(self, file: str) -> None:
        self._file = file

    def strike(self, operation: str, path: str) -> None:
        """Raise what is to happen to this operation."""
        try:
            faults = json.loads(Path(self._file).read_text())
        except FileNotFoundError:  # healed, perhaps at this moment
            return
        for fault in (Fault(*fields) for fields in faults):
            if fault.operation == operation and fnmatchcase(path, fault.path):
                raise OSError(fault.errno, os.strerror(fault.errno))

    def strike_descriptor(self, operation: str, descriptor: int) -> None:
        """The same for what is asked of a descriptor, past the port."""
        self.strike(operation, os.readlink(f"/proc/self/fd/{descriptor}"))


class FaultyFile(PosixFile):
    """A file that may fail."""

    __slots__ = ("_faults",)

    def __init__(self, path: str, descriptor: int, faults: Faults) -> None:
        super().__init__(path, descriptor)
        self._faults = faults

    def pread(self, size: int, position: int) -> bytes:
        self._faults.strike("pread", self.path)
        return super().pread(size, position)

    def pwrite(self, data: Buffer, position: int) -> None:
        self._faults.strike("pwrite", self.path)
        super().pwrite(data, position)

    def sync(self) -> None:
        self._faults.strike("sync", self.path)
        super().sync()


class FaultyFiles(PosixFiles):
    """A file system that may fail; in a worker process it does not."""

    __slots__ = ("_faults",)

    def __init__(self, faults: Faults) -> None:
        self._faults = faults

    def __reduce__(self) -> tuple[type[PosixFiles], tuple[()]]:
        return PosixFiles, ()

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> FaultyFile:
        self._faults.strike("open", path)
        return FaultyFile(path, super().open(path, create=create, read_only=read_only).fileno(), self._faults)

    def read(self, path: str) -> bytes:
        self._faults.strike("read", path)
        return super().read(path)

    def rename(self, source: str, target: str) -> None:
        self._faults.strike("rename", source)
        super().rename(source, target)


class FaultyBroker(OttlaBroker):
    """See the module. ``directories`` are its log directories; the first one holds the metadata."""

    def __init__(self, directory: Path, properties: Mapping[str, str] | None = None, *, directories: int = 1) -> None:
        super().__init__(directory, {"log.retention.ms": "-1", **(properties or {})})
        self.directories = [self.log_dir, *(directory / f"data-{number}" for number in range(2, directories + 1))]
        self._properties["log.dirs"] = ",".join(map(str, self.directories))
        self._faults = directory / "faults.json"

    def command(self, properties: Path) -> list[str]:
        return [sys.executable, "-m", "tests.server.faulty_disk", str(self._faults), "server", str(properties)]

    def environment(self) -> dict[str, str]:
        paths = [str(REPOSITORY), str(Path(ottla.__file__).parents[1])]
        return {**super().environment(), "PYTHONPATH": os.pathsep.join(paths)}

    def fail(self, *faults: Fault) -> None:
        """Let the disk fail so from now on, and in no other way."""
        written = self._faults.with_suffix(".new")
        written.write_text(json.dumps(faults))
        written.replace(self._faults)

    def heal(self) -> None:
        """Let it work."""
        self._faults.unlink(missing_ok=True)

    def directory_of(self, topic: str, partition: int = 0) -> Path:
        """The log directory that a partition lies in."""
        (found,) = [directory for directory in self.directories if (directory / f"{topic}-{partition}").is_dir()]
        return found

    def await_end(self) -> int:
        """Its exit code, once it has ended by itself."""
        process = self._running()
        try:
            code = process.wait(BOUND_S)
        except subprocess.TimeoutExpired:
            raise AssertionError("the node lives on: " + "\n".join(self.log_lines()[-5:])) from None
        self._process = None
        return code


def serve() -> int:
    """The command line, past the file of the faults, as ``ottla`` takes it."""
    faults = Faults(sys.argv[1])
    sendfile, preadv = os.sendfile, os.preadv

    def faulty_sendfile(out: int, file: int, position: int, count: int) -> int:
        faults.strike_descriptor("sendfile", file)
        return sendfile(out, file, position, count)

    def faulty_preadv(file: int, buffers: list[bytearray], position: int, flags: int = 0) -> int:
        faults.strike_descriptor("preadv", file)
        return preadv(file, buffers, position, flags)

    with (
        patch.object(live, "PosixFiles", lambda: FaultyFiles(faults)),
        patch.object(os, "sendfile", faulty_sendfile),
        patch.object(os, "preadv", faulty_preadv),
    ):
        return main(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(serve())
