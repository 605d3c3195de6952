"""The real file system, with a pause and a word to the parent where a kill is most interesting."""

import time
from collections.abc import Callable

from ottla.runtime.posix import PosixFile, PosixFiles

PAUSE_SECONDS = 0.003
STAGES = {
    ".swap": "swapping",
    ".deleted": "retiring",
    ".tmp": "checkpointing",
    ".snapshot": "snapshot",
}
"""By how a name ends that is made or renamed; ``rolling`` and ``swapped in`` are told by their record files."""


class SlowFiles(PosixFiles):
    """See the module. In a worker process it is an ordinary file system: nobody listens there."""

    __slots__ = ("_at_stage",)

    def __init__(self, at_stage: Callable[[str], None]) -> None:
        self._at_stage = at_stage

    def __reduce__(self) -> tuple[type[PosixFiles], tuple[()]]:
        return PosixFiles, ()

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> PosixFile:
        is_new = create and not self.exists(path)
        file = super().open(path, create=create, read_only=read_only)
        if is_new:
            self._pause("rolling" if path.endswith(".log") else _stage(path))
        return file

    def rename(self, source: str, target: str) -> None:
        super().rename(source, target)
        self._pause("swapped in" if source.endswith(".log.swap") else _stage(target))

    def remove(self, path: str) -> None:
        super().remove(path)
        self._pause("removing")

    def _pause(self, stage: str | None) -> None:
        if stage is not None:
            self._at_stage(stage)
            time.sleep(PAUSE_SECONDS)


def _stage(path: str) -> str | None:
    return next((stage for suffix, stage in STAGES.items() if path.endswith(suffix)), None)
