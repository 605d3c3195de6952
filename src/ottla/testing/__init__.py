"""Brokers for tests: real ones, in this process, ready in a few hundredths of a second."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ottla.testing.broker import Broker

__all__ = ["Broker"]


def __getattr__(name: str) -> Any:
    """Import the broker when it is asked for: pytest imports this package, for its fixtures, in every run."""
    if name != "Broker":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ottla.testing.broker import Broker

    return Broker
