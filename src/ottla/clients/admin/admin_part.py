"""What every part of the admin client stands on."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from ottla.clients.admin.ask import (
    Anywhere,
    Ask,
    GroupCoordinator,
    Target,
    TransactionCoordinator,
    each_broker,
    one,
)
from ottla.clients.admin.results import checked
from ottla.common.errors import KafkaError
from ottla.network.node import Node
from ottla.protocol.message import Message

K = TypeVar("K")
V = TypeVar("V")


class Caller(Protocol):
    """Who asks: finds the nodes, sends, retries until the time is up."""

    @property
    def uses_controllers(self) -> bool:
        """Whether controllers are asked (``bootstrap.controllers``) and no brokers are known."""

    @property
    def request_timeout_ms(self) -> int:
        """``request.timeout.ms``."""

    async def ask(self, ask: Ask[K, V], timeout_ms: int | None) -> dict[K, V | KafkaError]:
        """The result or the error of each key, in the order of the keys; ``timeout_ms`` None is the client's own."""

    async def ask_every_node(
        self, ask: Callable[[Sequence[int]], Ask[int, V]], timeout_ms: int | None
    ) -> dict[int, V | KafkaError]:
        """The answers of all nodes that are up; when one goes meanwhile all are asked again."""

    async def coordinator(self, target: GroupCoordinator | TransactionCoordinator, timeout_ms: int | None) -> Node:
        """The broker that coordinates a group or a transactional id, as last asked for."""


class AdminPart:
    """Some of the admin client's methods; ``Admin`` has all parts."""

    __slots__ = ("_caller",)

    _caller: Caller

    async def _ask(self, ask: Ask[K, V], timeout_ms: int | None, raise_errors: bool) -> dict[K, V | KafkaError]:
        return checked(await self._caller.ask(ask, timeout_ms), raise_errors=raise_errors)

    async def _ask_all(self, ask: Ask[K, V], timeout_ms: int | None) -> dict[K, V]:
        """All results; raises the first error."""
        return _without_errors(await self._caller.ask(ask, timeout_ms))

    async def _ask_every_node(
        self, request: Message, read: Callable[[Any], V], timeout_ms: int | None, min_version: int = 0
    ) -> dict[int, V]:
        """What all nodes that are up say, by their ids; raises the first error."""
        return _without_errors(
            await self._caller.ask_every_node(
                lambda node_ids: each_broker(node_ids, request, read, min_version), timeout_ms
            )
        )

    async def _ask_one(
        self,
        request: Callable[[int], Message],
        read: Callable[[Any], V],
        timeout_ms: int | None,
        target: Target = Anywhere.ANY_NODE,
        max_version: int | None = None,
    ) -> V:
        return (await self._ask_all(one(target, request, read, max_version), timeout_ms))[None]


def _without_errors(results: Mapping[K, V | KafkaError]) -> dict[K, V]:
    found: dict[K, V] = {}
    for key, result in results.items():
        if isinstance(result, KafkaError):
            raise result
        found[key] = result
    return found
