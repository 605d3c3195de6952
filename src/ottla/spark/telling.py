"""Work that takes long, told to whoever waits: what is done, and every ten seconds that it still goes on."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ottla.spark.jars import Say

_EVERY_S: Final = 10.0


@contextmanager
def telling(say: Say, what: str, *, every_s: float = _EVERY_S) -> Iterator[None]:
    """Say ``what`` at once, and for how long it goes on already as long as it does."""
    say(what)
    began = time.monotonic()
    done = threading.Event()

    def repeat() -> None:
        while not done.wait(every_s):
            say(f"{what}: {time.monotonic() - began:.0f} s so far")

    thread = threading.Thread(target=repeat, name="telling", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
