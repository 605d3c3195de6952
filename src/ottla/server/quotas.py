"""Client quotas: the port, and the manager that every node has until quotas exist."""

from typing import Protocol

from ottla.network.request import Request


class Quotas(Protocol):
    """Counts what clients use and says how long they have to wait; 0 is not at all."""

    def record_produce(self, request: Request) -> int:
        """A produce of ``request.size_bytes`` is about to be answered; the time to throttle its client in ms."""

    def record_fetch(self, request: Request, response_bytes: int) -> int:
        """A fetch is about to be answered with so many bytes; the time to throttle its client in ms."""


class Unlimited:
    """The quotas of a node that has none."""

    def record_produce(self, request: Request) -> int:  # noqa: ARG002
        """Nobody waits."""
        return 0

    def record_fetch(self, request: Request, response_bytes: int) -> int:  # noqa: ARG002
        """Nobody waits."""
        return 0
