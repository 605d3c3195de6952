"""A network processor: what Apache has a thread for, and one reactor keeps accounts for."""

from ottla.common.endpoint import Endpoint


class Processor:
    """One of ``num.network.threads`` of a listener. Connections are dealt out among them in turn.

    It has no thread and no selector of its own. It numbers its connections, so that an id is not used again while
    requests of an old connection may still be about, and it counts what Apache's metrics show for each processor.
    """

    __slots__ = (
        "_next_connection_index",
        "busy_ns",
        "connection_count",
        "connections_closed",
        "connections_created",
        "expired_connections_killed_count",
        "id",
        "listener_name",
    )

    MAX_CONNECTION_INDEX = 2**31 - 1

    def __init__(self, processor_id: int, endpoint: Endpoint) -> None:
        self.id = processor_id
        self.listener_name = endpoint.name
        self.connection_count = 0
        self.connections_created = 0
        self.connections_closed = 0
        self.expired_connections_killed_count = 0
        self._next_connection_index = 0

    def connection_id(self, local: tuple[str, int], remote: tuple[str, int]) -> str:
        """``local:port-remote:port-processor-index``."""
        index = self._next_connection_index
        self._next_connection_index = 0 if index == self.MAX_CONNECTION_INDEX else index + 1
        return f"{local[0]}:{local[1]}-{remote[0]}:{remote[1]}-{self.id}-{index}"
