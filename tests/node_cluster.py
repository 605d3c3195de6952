"""Several nodes that are one cluster: each a broker and a voter of the metadata quorum, in a process of its own."""

from collections.abc import Sequence
from typing import Self

from tests.node import Node


class NodeCluster:
    """As a context manager its nodes are started, all at once, and killed. Their ids are 1, 2, …

    A test may kill, stop and pause ``nodes``; ``start`` brings back those that do not run.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = dict(enumerate(nodes, 1))
        self.bootstrap = ",".join(node.bootstrap for node in nodes)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes.values():
            node.kill()

    def start(self) -> None:
        """Start the nodes that do not run and return when they serve, which takes a majority of the voters."""
        try:
            started = [(node, node.spawn()) for node in self.nodes.values() if not node.is_running]
            for node, seen in started:
                node.await_started(seen)
        except BaseException:
            self.__exit__()
            raise
