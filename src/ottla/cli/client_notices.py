"""What a client has to say while a command runs: of its log only that it waits for a cluster that does not answer."""

import logging
import sys
from contextlib import suppress
from typing import Final

OUTAGES: Final = "ottla.clients.cluster.outage"


def show_notices() -> None:
    """Show outages on standard error, and nothing else of Ottla's log: a failure is told once, by the command."""
    own = logging.getLogger("ottla")
    outages = logging.getLogger(OUTAGES)
    if not any(isinstance(handler, _Notices) for handler in outages.handlers):
        own.addHandler(logging.NullHandler())
        outages.setLevel(logging.INFO)
        outages.addHandler(_Notices())


class _Notices(logging.Handler):
    """A line on standard error, above the bar where there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write it; nobody may be there to read."""
        with suppress(OSError):
            sys.stderr.write(f"% {record.getMessage()}\n")
            sys.stderr.flush()
