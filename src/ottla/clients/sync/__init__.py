"""The clients for plain code: the same names and methods as in :mod:`ottla.clients`, without ``await``.

They run on one event loop in a thread of its own; any thread may call them. Loaded when first used.
"""

from importlib import import_module

TYPE_CHECKING = False  # typing is not worth its price here

if TYPE_CHECKING:
    from ottla.clients.sync.admin import Admin as Admin
    from ottla.clients.sync.consumer import Consumer as Consumer
    from ottla.clients.sync.producer import Producer as Producer

_HOMES = {
    "Admin": "ottla.clients.sync.admin",
    "Consumer": "ottla.clients.sync.consumer",
    "Producer": "ottla.clients.sync.producer",
}

__all__ = ["Admin", "Consumer", "Producer"]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(home), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
