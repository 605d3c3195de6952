"""Generator functions, and plain ones, that the tests send to worker processes."""

import os
import sys
import time
from collections.abc import Iterator


class UnreadableError(Exception):
    """Can be pickled, but not unpickled: its constructor wants two arguments."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(first + second)


def count(start: int, stop: int) -> Iterator[int]:
    yield from range(start, stop)


def touch_each(directory: str, number: int) -> Iterator[int]:
    for item in range(number):
        with open(f"{directory}/{item}", "w"):
            pass
        yield item


def chatter() -> Iterator[bytes]:
    print("stray output " * 1000)
    sys.stdout.flush()
    os.write(1, b"and from C\n")
    assert sys.stdin.read() == ""
    yield bytes(3_000_000)


def fail_after_one(message: str) -> Iterator[int]:
    yield 1
    raise ValueError(message)


def fail_unreadably() -> Iterator[int]:
    raise UnreadableError("one", "two")
    yield 1


def die() -> Iterator[int]:
    yield 1
    os._exit(3)


def environment() -> Iterator[tuple[int, int]]:
    yield os.getpid(), os.nice(0)


def pid_then_busy() -> Iterator[int]:
    yield os.getpid()
    while True:  # without ever letting go of the interpreter
        pass


def product(left: int, right: int) -> tuple[int, int]:
    """The product, and who has worked it out."""
    return left * right, os.getpid()


def refuse(message: str) -> None:
    raise ValueError(message)


def exit_with(status: int) -> None:
    os._exit(status)


def sleep_s(duration_s: float) -> None:
    time.sleep(duration_s)
