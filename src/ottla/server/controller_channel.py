"""The way to a controller that lives in the same process: no socket, no envelope."""

from collections.abc import Mapping
from typing import NamedTuple

from ottla.common.endpoint import SecurityProtocol
from ottla.common.errors import KafkaError
from ottla.common.kafka_principal import ANONYMOUS, KafkaPrincipal
from ottla.network.request import UNKNOWN_CLIENT, ClientInformation, RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.headers import RequestHeader
from ottla.protocol.message import Message
from ottla.server.api import Api
from ottla.server.services import ControllerServices


class _Self(NamedTuple):
    """The broker of this process, as a peer of its controller."""

    listener_name: str
    connection_id: str = "in-process"
    client_address: str = "in-process"
    principal: KafkaPrincipal = ANONYMOUS
    security_protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    client_information: ClientInformation = UNKNOWN_CLIENT
    from_privileged_listener: bool = True


class LocalControllerChannel:
    """A :class:`ottla.server.forwarding.ControllerChannel` that calls the controller's handlers."""

    def __init__(self, services: ControllerServices, apis: Mapping[ApiKey, Api], listener_name: str) -> None:
        self._services = services
        self._apis = apis
        self._self = _Self(listener_name)

    async def forward(self, api_key: ApiKey, body: Message, context: RequestContext) -> Message:
        """Answer a client's request; its principal and version go along."""
        api = self._apis[api_key]
        try:
            answer = api.handle(self._services, context, body)
            response: Message = answer if isinstance(answer, Message) else await answer
        except KafkaError as error:
            return api.answer_error(body, error)
        return response

    async def request(self, api_key: ApiKey, body: Message) -> Message:
        """Answer a request of this broker's own, in its newest version."""
        header = RequestHeader(api_key, self._apis[api_key].highest, 0, None)
        return await self.forward(api_key, body, RequestContext(header, self._self))
