"""The child process behind ``Runtime.work``: ``python -m ottla.runtime.worker NICENESS``.

Frames are pickles behind an eight-byte length. The parent sends a job (a byte and a frame: a generator function and its
arguments), and then one byte for each item it wants; the child answers each of those with a frame of its own: an item,
the end, or an error. The next job takes the place of the one before, wherever that stands. When the parent goes away,
or closes the pipe because it wants no more, the child ends at once: two generations of workers never write into one
directory.

The standard library's multiprocessing is not used because its children import the ``__main__`` of their parent.
"""

import os
import pickle
import signal
import struct
import sys
import traceback
from collections.abc import Callable, Iterator
from enum import IntEnum
from queue import SimpleQueue
from threading import Thread
from typing import BinaryIO, NamedTuple

LENGTH = struct.Struct(">Q")
WANT_ITEM = b"\x01"
JOB = b"\x02"


class Kind(IntEnum):
    """What a frame from the child holds."""

    ITEM = 0
    END = 1
    ERROR = 2


class WorkerFailure(NamedTuple):
    """An exception in the child: itself pickled, if it can be, and the traceback as text."""

    pickled: bytes | None
    text: str


def frame(content: object) -> bytes:
    """Pickle behind a length."""
    data = pickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(data)) + data


def call(function: Callable[..., object], args: tuple[object, ...]) -> Iterator[object]:
    """The job that is one call of a function."""
    yield function(*args)


def main() -> None:
    """Serve jobs on the standard streams, until the parent closes them."""
    os.nice(int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides what it means
    requests, answers = _private_streams()
    asked: SimpleQueue[bytes | None] = SimpleQueue()
    Thread(target=_listen, args=(requests, asked), daemon=True).start()
    items: Iterator[object] = iter(())
    while True:
        job = asked.get()
        if job is not None:
            items = _items(job)
            continue
        answer = _advance(items)
        sys.stdout.flush()
        answers.write(answer)
        answers.flush()


def _private_streams() -> tuple[BinaryIO, BinaryIO]:
    """Move the pipes away from descriptors 0 and 1, so that a stray print, also of C code, goes to stderr."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return requests, answers


def _read_or_exit(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        os._exit(0)
    return data


def _listen(requests: BinaryIO, asked: "SimpleQueue[bytes | None]") -> None:
    """Pass jobs on, and None for each item that is wanted.

    The thread sleeps in read, without the GIL; at the end of the stream it ends the process.
    """
    while True:
        if _read_or_exit(requests, len(WANT_ITEM)) == WANT_ITEM:
            asked.put(None)
        else:
            (length,) = LENGTH.unpack(_read_or_exit(requests, LENGTH.size))
            asked.put(_read_or_exit(requests, length))


def _items(job: bytes) -> Iterator[object]:
    """What the function yields. Also its import waits until the first item is wanted, so that all errors go one way."""
    function, args = pickle.loads(job)  # noqa: S301  our parent wrote it
    yield from function(*args)


def _advance(items: Iterator[object]) -> bytes:
    """Work until the next item, and frame it."""
    try:
        return frame((Kind.ITEM, next(items)))
    except StopIteration:
        return frame((Kind.END, None))
    except BaseException as error:  # noqa: BLE001  whatever it is, it is the parent's to raise
        return frame((Kind.ERROR, _failure(error)))


def _failure(error: BaseException) -> WorkerFailure:
    text = "".join(traceback.format_exception(error))
    try:
        pickled = pickle.dumps(error)
        pickle.loads(pickled)  # noqa: S301  some exceptions can be written but not read
    except Exception:  # noqa: BLE001  any class may fail in its own way; the text still tells the story
        return WorkerFailure(None, text)
    return WorkerFailure(pickled, text)


if __name__ == "__main__":
    # Pickle names a class by its module, and the parent knows these by another name than __main__.
    import ottla.runtime.worker  # noqa: PLW0406

    ottla.runtime.worker.main()
