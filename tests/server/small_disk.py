"""A file system of a few megabytes in memory, in a mount namespace of its own, and a broker in there.

No mount of this machine changes, root is needed only where others may have no user namespaces, and nothing is left.
"""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import pytest

from tests.server.faulty_disk import FaultyBroker

_MOUNT = 'mount -t tmpfs -o size="$1" tmpfs "$0" && echo mounted && exec cat'


class SmallDisk:
    """Mounted at ``path`` for whoever is ``inside``; from ``outside`` the files are seen below another one."""

    def __init__(self, path: Path, holder: int) -> None:
        self.path = path
        self.outside = Path(f"/proc/{holder}/root{path}")
        namespaces = ["mnt"] if os.geteuid() == 0 else ["user", "mnt"]
        options = {"mnt": "--mount", "user": "--user"}
        self.inside = ["nsenter", *(f"{options[name]}=/proc/{holder}/ns/{name}" for name in namespaces)]
        if "user" in namespaces:
            self.inside.append("--preserve-credentials")

    @classmethod
    @contextmanager
    def mounted(cls, path: Path, size: str) -> Iterator[Self]:
        """Until the end; skips the test where nobody may mount."""
        path.mkdir(parents=True)
        unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
        try:
            holder = subprocess.Popen(
                [*unshare, "sh", "-c", _MOUNT, str(path), size],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        except FileNotFoundError as error:
            pytest.skip(f"no file system can be mounted here: {error}")
        with holder:
            assert holder.stdout is not None
            assert holder.stderr is not None
            if holder.stdout.readline() != "mounted\n":
                pytest.skip(f"no file system can be mounted here: {holder.stderr.read().strip()}")
            yield cls(path, holder.pid)
            holder.kill()

    def grow(self, size: str) -> None:
        """Make room."""
        subprocess.run([*self.inside, "mount", "-o", f"remount,size={size}", str(self.path)], check=True)


class SmallDiskBroker(FaultyBroker):
    """A broker whose only log directory is on a small disk."""

    def __init__(self, directory: Path, disk: SmallDisk) -> None:
        super().__init__(directory)
        self._disk = disk
        self.log_dir = disk.outside / "data"
        self.directories = [self.log_dir]
        self._properties["log.dirs"] = f"{disk.path}/data"

    def command(self, properties: Path) -> list[str]:
        return [*self._disk.inside, *super().command(properties)]

    def format_storage(self, arguments: Sequence[str]) -> None:
        command = [*self._disk.inside, *super().command(Path())[:4], "storage", "format", *arguments]
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=self.environment(), check=True)
