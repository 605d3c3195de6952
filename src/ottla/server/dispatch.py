"""From a request of the network to its handler, and from the handler's answer or error back.

Errors by owner: a KafkaError is an answer that the client understands; a body that cannot be read costs the client its
connection, as in Apache Kafka; anything else is our bug, which is logged in full and answered with
UNKNOWN_SERVER_ERROR.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, InvalidRequestError, KafkaError
from ottla.network.request import ClientInformation, Request
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.headers import decode_request_body, response_frame
from ottla.protocol.message import Message
from ottla.protocol.messages.api_versions import ApiVersionsRequest
from ottla.runtime.completion import Completion
from ottla.server.api import Api
from ottla.server.client_software import is_legal_software
from ottla.server.error_metrics import ErrorMetrics

logger = logging.getLogger(__name__)


class Dispatcher:
    """The handlers of one kind of listener; what the network calls with each request."""

    def __init__(self, services: object, apis: Mapping[ApiKey, Api], errors: ErrorMetrics) -> None:
        self._services = services
        self._errors = errors
        self._apis = apis
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def apis(self) -> Mapping[ApiKey, Api]:
        """What this kind of listener answers."""
        return self._apis

    def is_enabled(self, api_key: ApiKey, version: int) -> bool:
        """Whether a request may come in: one that may not costs its connection."""
        api = self._apis.get(api_key)
        if api is None:
            return False
        if api.lowest <= version <= api.highest:
            return True
        # The handler answers those, so that a client learns what to use instead.
        return api_key is ApiKey.API_VERSIONS

    def handle(self, request: Request) -> None:
        """Run a handler to completion; what it leaves waiting is answered later."""
        header = request.header
        api = self._apis[header.api_key]
        if api.raw:
            self._handle_raw(api.handle, request)
            return
        if api.short_cut is not None and self._handle_raw(api.short_cut, request) is not False:
            return
        if not api.lowest <= header.api_version <= api.highest:
            self._answer_unsupported(api, request)
            return
        version = header.api_version
        try:
            body = decode_request_body(api.key.request_class, request.body, version)
        except InvalidRequestError as error:
            self._refuse(request, error)
            return
        request.release_buffer()
        if isinstance(body, ApiVersionsRequest) and is_legal_software(body):
            request.register_client_information(
                ClientInformation(body.client_software_name, body.client_software_version)
            )
        try:
            answer = api.handle(self._services, request.context, body)
        except KafkaError as error:
            self._respond(request, api.answer_error(body, error))
        except Exception as error:  # noqa: BLE001  the one place that turns our bugs into answers
            self._answer_bug(api, request, body, error)
        else:
            if isinstance(answer, Message):
                self._respond(request, answer)
            elif isinstance(answer, Completion):
                answer.add_done_callback(lambda completion: self._answer_completion(api, request, body, completion))
            else:
                self._spawn(self._answer_later(api, request, body, answer))

    def _handle_raw(self, handle: Callable[..., object], request: Request) -> object:
        """What a handler of the hot path returns; None if it failed."""
        try:
            return handle(self._services, request)
        except InvalidRequestError as error:
            self._refuse(request, error)
        except Exception as error:
            logger.error("Unexpected error handling %s", request, exc_info=error)
            if not request.is_answered:
                request.close_connection()
        return None

    def _answer_completion(self, api: Api, request: Request, body: Message, completion: Completion[Message]) -> None:
        """Answer what a coordinator has decided, at once or when it is committed, without a task for it."""
        error = completion.error
        self._respond(request, completion.result() if error is None else api.answer_error(body, error))

    async def _answer_later(self, api: Api, request: Request, body: Message, answer: Awaitable[Message]) -> None:
        try:
            response = await answer
        except KafkaError as error:
            response = api.answer_error(body, error)
        except Exception as error:  # noqa: BLE001  as above
            self._answer_bug(api, request, body, error)
            return
        self._respond(request, response)

    def _respond(self, request: Request, response: Message) -> None:
        header = request.header
        self._errors.count_response(header.api_key, response)
        request.send(response_frame(header.api_key, header.api_version, header.correlation_id, response))

    def _answer_unsupported(self, api: Api, request: Request) -> None:
        """Only ApiVersions gets here: in version 0, so that a client of any age learns what to use instead."""
        response = api.answer_error(api.key.request_class(), ApiError(ErrorCode.UNSUPPORTED_VERSION))
        self._errors.count_response(api.key, response)
        request.send(response_frame(api.key, 0, request.header.correlation_id, response))

    @staticmethod
    def _refuse(request: Request, error: KafkaError) -> None:
        header = request.header
        logger.error(
            "Closing connection %s after a request that cannot be read (%s v%d, correlation id %d): %s",
            request.context.connection_id,
            header.api_key.api_name,
            header.api_version,
            header.correlation_id,
            error,
        )
        request.close_connection()

    def _answer_bug(self, api: Api, request: Request, body: Message, error: Exception) -> None:
        logger.error("Unexpected error handling %s from %s", api.key.api_name, request.context, exc_info=error)
        unknown = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "The server experienced an unexpected error.")
        self._respond(request, api.answer_error(body, unknown))

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def drain(self) -> None:
        """Wait for every answer that is still being made."""
        if self._tasks:
            await asyncio.wait(self._tasks)


def advertised(apis: Mapping[ApiKey, Api]) -> list[tuple[ApiKey, int, int]]:
    """What ApiVersions says: key, lowest and highest version, by key."""
    return sorted(
        (api.key, api.lowest if api.advertised_from is None else api.advertised_from, api.highest)
        for api in apis.values()
    )
