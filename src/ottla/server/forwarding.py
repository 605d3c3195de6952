"""Requests that a broker passes on to the controller, on behalf of a client or on its own.

Clients may send them to any broker. In a node that is broker and controller at once the controller is at hand, so that
no envelope is needed; ``ControllerChannel`` is the port that a channel over the network will fill.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from ottla.common.errors import KafkaError
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.message import Message
from ottla.server.api import Api, ListenerType


class ControllerChannel(Protocol):
    """The way to the active controller."""

    async def forward(self, api_key: ApiKey, body: Message, context: RequestContext) -> Message:
        """The controller's answer to a client's request; a KafkaError where there is no controller."""

    async def request(self, api_key: ApiKey, body: Message) -> Message:
        """The controller's answer to a request of this broker's own."""


class HasController(Protocol):
    """Services of a broker that knows the way."""

    controller_channel: ControllerChannel
    metadata_settled: Callable[[], Awaitable[None]]


def forwarded(
    key: ApiKey,
    lowest: int,
    highest: int,
    error_response: Callable[[Any, KafkaError], Message] | None = None,
    *,
    changes_metadata: bool = True,
) -> Api:
    """The row of an API that brokers pass on as it is.

    A change of the metadata is answered when this broker has followed it: whoever creates a topic here finds it.
    """

    async def handle(services: HasController, context: RequestContext, body: Message) -> Message:
        response = await services.controller_channel.forward(key, body, context)
        if changes_metadata:
            await services.metadata_settled()
        return response

    return Api(key, lowest, highest, handle, ListenerType.BROKER, error_response)
