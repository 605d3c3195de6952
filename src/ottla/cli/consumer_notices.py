"""What people are told of a consumer at work, on standard error: how much it has read, or why it has nothing to show.

Such as: a topic or partition that there is not, or a want of rights.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

from ottla.cli.progress import Progress, counting

if TYPE_CHECKING:
    from ottla.clients import Consumer

PATIENCE_S: Final = 2.0
_TOLD: Final = (
    "NOT_AUTHORIZED",
    "TOPIC_MISSING",
    "NO_LEADER",
    "FETCH_ERROR",
    "BEHIND_TRANSACTION",
    "NO_ASSIGNMENT",
)
"""The states of a consumer's health that do not pass by themselves, and that no other notice tells."""


@asynccontextmanager
async def explained(consumer: "Consumer[bytes, bytes]", *, counts: bool = True) -> AsyncIterator[Progress]:
    """Within, each reason is told once; a reading that ends early is explained at its end.

    What it gives is told of records that were read; that is shown if they go elsewhere than to the terminal.
    """
    notices = _Notices(consumer)
    task = asyncio.ensure_future(notices.watch())
    try:
        with counting("read", wanted=counts and not sys.stdout.isatty()) as read:
            yield read
        notices.look()
    finally:
        task.cancel()


class _Notices:
    """Looks at the consumer's health now and then."""

    def __init__(self, consumer: "Consumer[bytes, bytes]") -> None:
        self._consumer = consumer
        self._told: set[str] = set()

    async def watch(self) -> None:
        """Look until it is cancelled."""
        while True:
            await asyncio.sleep(PATIENCE_S)
            self.look()

    def look(self) -> None:
        """Tell what is wrong, unless that was told."""
        health = self._consumer.health()
        if health.state.name in _TOLD and health.reason not in self._told:
            self._told.add(health.reason)
            with suppress(OSError):
                sys.stderr.write(f"% {health.reason}\n")
                sys.stderr.flush()
