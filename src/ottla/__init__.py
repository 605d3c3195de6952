"""Ottla: Apache Kafka, implemented in Python.

``ottla.Producer``, ``ottla.Consumer`` and ``ottla.Admin`` are the clients for asyncio (:mod:`ottla.clients`); they are
loaded when they are first used.
"""

TYPE_CHECKING = False  # typing is not worth its price here

if TYPE_CHECKING:
    from ottla.clients import Admin as Admin
    from ottla.clients import Consumer as Consumer
    from ottla.clients import KafkaError as KafkaError
    from ottla.clients import Producer as Producer
    from ottla.clients import TopicPartition as TopicPartition

__version__ = "0.1.0.dev0"

_CLIENTS = frozenset({"Admin", "Consumer", "KafkaError", "Producer", "TopicPartition"})


def __getattr__(name: str) -> object:
    if name in _CLIENTS:
        from ottla import clients

        return getattr(clients, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_CLIENTS})
