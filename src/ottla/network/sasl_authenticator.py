"""SASL over Kafka's requests: SaslHandshake names the mechanism, SaslAuthenticate carries its messages."""

from collections.abc import Awaitable, Callable
from functools import partial

from ottla.common.error_code import ErrorCode
from ottla.network.authenticator import Exchange
from ottla.network.client_errors import AuthenticationError
from ottla.network.node_api_versions import NodeApiVersions
from ottla.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from ottla.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from ottla.runtime.port import Runtime
from ottla.security.sasl.mechanism import SaslClient, SaslError

Login = Callable[[], Awaitable[SaslClient]]
"""Begins an authentication; asked at each, so that a fresh token or nonce is used."""


class SaslAuthenticator:
    """ApiVersions (in version 0, on a new connection only) → SaslHandshake → SaslAuthenticate until both are done."""

    __slots__ = ("_login", "_runtime")

    def __init__(self, login: Login, runtime: Runtime) -> None:
        self._login = login
        self._runtime = runtime

    async def authenticate(self, exchange: Exchange, api_versions: NodeApiVersions | None) -> int | None:
        """See Authenticator. AuthenticationError has the node's own words where it said any."""
        try:
            client = await self._login()
            if api_versions is None:
                answer = await exchange(ApiVersionsRequest(), 0)
                assert isinstance(answer, ApiVersionsResponse)
                api_versions = NodeApiVersions(answer)
            await _handshake(exchange, client.mechanism, api_versions.latest_usable_version(SaslHandshakeRequest))
            version = api_versions.latest_usable_version(SaslAuthenticateRequest)
            return await self._converse(exchange, client, version)
        except SaslError as error:
            raise AuthenticationError(str(error)) from error

    async def _converse(self, exchange: Exchange, client: SaslClient, version: int) -> int | None:
        lifetime_ms = 0
        response = client.respond(b"")
        while response is not None:
            answer = await exchange(SaslAuthenticateRequest(auth_bytes=response), version)
            assert isinstance(answer, SaslAuthenticateResponse)
            if answer.error_code != ErrorCode.NONE:
                raise AuthenticationError(
                    answer.error_message or f"{client.mechanism} was refused with error code {answer.error_code}"
                )
            lifetime_ms = answer.session_lifetime_ms or lifetime_ms
            if client.is_complete:
                break
            response = await self._runtime.blocking(partial(client.respond, bytes(answer.auth_bytes)))
        return lifetime_ms if lifetime_ms > 0 else None


async def _handshake(exchange: Exchange, mechanism: str, version: int) -> None:
    answer = await exchange(SaslHandshakeRequest(mechanism=mechanism), version)
    assert isinstance(answer, SaslHandshakeResponse)
    if answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        enabled = ", ".join(answer.mechanisms) or "none"
        raise AuthenticationError(f"SASL mechanism {mechanism} is not enabled in the broker; enabled are: {enabled}")
    if answer.error_code == ErrorCode.ILLEGAL_SASL_STATE:
        raise AuthenticationError(
            "The broker's listener does not authenticate by SASL: security.protocol should be PLAINTEXT or SSL"
        )
    if answer.error_code != ErrorCode.NONE:
        raise AuthenticationError(f"SaslHandshake with mechanism {mechanism} failed: error code {answer.error_code}")
