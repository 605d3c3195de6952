"""The ``Runtime`` port: all that a driver may touch of the machine.

Live code gets :class:`ottla.runtime.live.AsyncioRuntime`; tests and the simulator bring their own, so that time,
chance, crashes and lost writes are inputs. Paths are plain strings joined with ``/``. Every method may raise
``OSError``; nothing else escapes. Durability is explicit: a write is durable after ``File.sync``, a created, renamed or
removed name after ``Files.sync_dir`` of its directory (of both, for a rename between two), and neither before.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from random import Random

T = TypeVar("T")
Buffer = bytes | bytearray | memoryview


class Clock(Protocol):
    """Where time comes from."""

    def now_ms(self) -> int:
        """Milliseconds since the Unix epoch."""

    def monotonic_ms(self) -> int:
        """Milliseconds that never run backward, for measuring and waiting."""


class File(Protocol):
    """An open file, addressed by position; it has no cursor."""

    path: str
    """Where it was opened; a rename does not change it."""

    def pread(self, size: int, position: int) -> bytes:
        """Read up to ``size`` bytes; fewer only at the end of the file."""

    def pwrite(self, data: Buffer, position: int) -> None:
        """Write all of ``data``."""

    def size(self) -> int:
        """The length in bytes, holes and preallocated space included."""

    def truncate(self, size: int) -> None:
        """Cut or extend (with zeros) to ``size``."""

    def sync(self) -> None:
        """Return once contents and length are on the disk."""

    def fileno(self) -> int:
        """The descriptor, for sendfile; a simulated file has none and raises OSError."""

    def close(self) -> None:
        """Let go of the file; closing twice is harmless."""


class Lock(Protocol):
    """An exclusive lock on a file that other processes respect."""

    def release(self) -> None:
        """Give the lock up."""


class Files(Protocol):
    """The file system."""

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> File:
        """Open an existing file, or with ``create`` make it if it is missing."""

    def list_dir(self, path: str) -> list[str]:
        """The names in a directory, sorted."""

    def exists(self, path: str) -> bool:
        """Whether a file or a directory has this name."""

    def is_dir(self, path: str) -> bool:
        """Whether a directory has this name."""

    def size(self, path: str) -> int:
        """The length of a file in bytes."""

    def modified_ms(self, path: str) -> int:
        """When the file's contents last changed."""

    def set_modified_ms(self, path: str, modified_ms: int) -> None:
        """Set the time of the last change, as the cleaner does for what it rewrites."""

    def read(self, path: str) -> bytes:
        """The whole file."""

    def rename(self, source: str, target: str) -> None:
        """Rename a file or directory, replacing a file of the target's name."""

    def remove(self, path: str) -> None:
        """Remove a file; FileNotFoundError if there is none."""

    def make_dir(self, path: str) -> None:
        """Make a directory and its parents; an existing one is fine."""

    def remove_tree(self, path: str) -> None:
        """Remove a directory and all in it; a missing one is fine."""

    def sync_dir(self, path: str) -> None:
        """Return once the names in this directory are on the disk."""

    def lock(self, path: str) -> Lock | None:
        """Lock a file (made if missing) against all others, Apache Kafka included; None when somebody holds it."""


class Runtime(Protocol):
    """Everything together, as a driver receives it."""

    @property
    def clock(self) -> Clock:
        """Time."""

    @property
    def files(self) -> Files:
        """The file system."""

    @property
    def rng(self) -> "Random":
        """Chance."""

    async def blocking(self, call: Callable[[], T]) -> T:
        """Run a call that blocks and releases the GIL (fsync, a cold read) away from the reactor."""

    def work(self, function: Callable[..., Iterator[T]], /, *args: object) -> AsyncGenerator[T, None]:
        """Run a generator function in a niced worker process and receive what it yields.

        The function is importable by name and its arguments and items can be pickled. The worker goes on past a
        ``yield`` only when the next item is asked for, so the caller sets the pace; closing the iterator
        (``contextlib.aclosing``) ends the worker at once, as a crash would. An exception in the worker is raised here;
        its sudden death is a ChildProcessError, which is an OSError.
        """

    async def compute(self, function: Callable[..., T], /, *args: object) -> T:
        """Call a function that takes long in a niced worker process, and receive its result.

        Calls take turns in one process, which is kept for the next ones. As with ``work``, what goes to and fro can be
        pickled, an exception is raised here, and a sudden death is a ChildProcessError; the next call begins anew.
        """

    def spawn(self, coroutine: Coroutine[Any, Any, T]) -> Awaitable[T]:
        """Start a coroutine on its own. Any number may await the result; one that gives up does not end it."""

    async def sleep_ms(self, duration_ms: int) -> None:
        """Wait."""
