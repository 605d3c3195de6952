"""What a handler states about its API: key, versions, listeners, and how to answer when something goes wrong.

A handler is a function (services, context, body) → answer: a response message, or an awaitable of one. It raises a
KafkaError to answer the whole request with that error. Two ways are for the hot path. A ``raw`` handler is a function
(services, request) that decodes and answers the network's request itself, at once or later. A ``short_cut`` is one that
does so only for plain requests, and returns False for those that it leaves, untouched, to the handler.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Flag, auto
from typing import Any

from ottla.common.errors import KafkaError
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.message import Message

Answer = Message | Awaitable[Message]


class ListenerType(Flag):
    """Who a listener serves."""

    BROKER = auto()
    CONTROLLER = auto()
    BOTH = BROKER | CONTROLLER


@dataclass(frozen=True, slots=True)
class Api:
    """One row of the API table."""

    key: ApiKey
    lowest: int
    highest: int
    handle: Callable[..., Any]
    listener: ListenerType = ListenerType.BROKER
    error_response: Callable[[Any, KafkaError], Message] | None = None
    """For responses that have no error code of their own at the top: where the error goes instead."""
    advertised_from: int | None = None
    """A lower version that is advertised but refused, for clients that insist on seeing it."""
    raw: bool = False
    """See the module."""
    short_cut: Callable[..., bool] | None = None
    """See the module."""

    def answer_error(self, body: Message, error: KafkaError) -> Message:
        """The response to a request that failed as a whole."""
        if self.error_response is not None:
            return self.error_response(body, error)
        response_class = self.key.response_class
        names = {field.name for field in response_class.schema.fields}
        assert "error_code" in names, f"{self.key.name} must say how it answers an error"
        fields: dict[str, object] = {"error_code": error.code}
        if "error_message" in names:
            fields["error_message"] = str(error) or None
        return response_class(**fields)
