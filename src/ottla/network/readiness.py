"""Which sockets are ready: one descriptor to wait on for many, so that an event loop makes one call a turn for all."""

import select
import selectors
from typing import Final, Protocol

READ: Final = 1
"""Readable, or in a state (hung up, broken) that reading will tell; EPOLLIN."""
WRITE: Final = 4
"""Writable; EPOLLOUT."""

MAX_EVENTS: Final = 256
"""How many are reported at a time; the kernel goes round, so that the others come next."""


class Readiness(Protocol):
    """Level-triggered readiness of descriptors; an interest of 0 is no registration at all, since the kernel reports a
    hung-up connection to whoever is registered, whatever the interest.
    """

    def fileno(self) -> int:
        """A descriptor that is readable while any registered one is ready."""

    def set_interest(self, descriptor: int, before: int, interest: int) -> None:
        """Change what is waited for; ``before`` is what the caller asked for last."""

    def poll(self) -> list[tuple[int, int]]:
        """The ready ones and how (READ, WRITE, or bits beyond: broken), without waiting."""

    def close(self) -> None:
        """Let go of the descriptor."""


class EpollReadiness:
    """Linux's, without a layer between: this is called once a request."""

    __slots__ = ("_epoll", "_poll")

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._poll = self._epoll.poll

    def fileno(self) -> int:
        """The epoll descriptor itself."""
        return self._epoll.fileno()

    def set_interest(self, descriptor: int, before: int, interest: int) -> None:
        """Register, modify or unregister."""
        if interest == 0:
            if before:
                self._epoll.unregister(descriptor)
        elif before == 0:
            self._epoll.register(descriptor, interest)
        elif before != interest:
            self._epoll.modify(descriptor, interest)

    def poll(self) -> list[tuple[int, int]]:
        """Ready descriptors and their epoll events."""
        return self._poll(0, MAX_EVENTS)

    def close(self) -> None:
        """Close the epoll descriptor."""
        self._epoll.close()


class SelectorReadiness:
    """Anywhere else (kqueue): the standard library's selector; its READ and WRITE are translated."""

    __slots__ = ("_selector",)

    def __init__(self, selector: selectors.BaseSelector | None = None) -> None:
        self._selector = selector if selector is not None else selectors.DefaultSelector()

    def fileno(self) -> int:
        """The kqueue's, or epoll's."""
        # Those of select and poll have none; they are nobody's default.
        descriptor: int = self._selector.fileno()  # type: ignore[attr-defined]
        return descriptor

    def set_interest(self, descriptor: int, before: int, interest: int) -> None:
        """Register, modify or unregister."""
        events = (selectors.EVENT_READ if interest & READ else 0) | (selectors.EVENT_WRITE if interest & WRITE else 0)
        if interest == 0:
            if before:
                self._selector.unregister(descriptor)
        elif before == 0:
            self._selector.register(descriptor, events)
        elif before != interest:
            self._selector.modify(descriptor, events)

    def poll(self) -> list[tuple[int, int]]:
        """Ready descriptors."""
        return [
            (key.fd, (READ if events & selectors.EVENT_READ else 0) | (WRITE if events & selectors.EVENT_WRITE else 0))
            for key, events in self._selector.select(0)
        ]

    def close(self) -> None:
        """Close the descriptor."""
        self._selector.close()


def default_readiness() -> Readiness:
    """The machine's best."""
    return EpollReadiness() if hasattr(select, "epoll") else SelectorReadiness()
