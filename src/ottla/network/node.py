"""A node of a cluster, as one who connects to it knows it."""

from typing import NamedTuple


class Node(NamedTuple):
    """Where a node is reached. One that is known by its address alone (bootstrap) has a negative id of its own."""

    id: int
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port} (id: {self.id})"
