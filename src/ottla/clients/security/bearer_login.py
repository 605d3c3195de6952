"""Bearer tokens for OAUTHBEARER: where they come from, and that one is used as long as it should be and no longer."""

import inspect
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from ottla.clients.security.token_endpoint import TokenEndpoint, file_path, read_token_file, token_url
from ottla.common.errors import InvalidConfigError, KafkaError
from ottla.config.client_configs import ClientConfig
from ottla.network.client_errors import AuthenticationError
from ottla.network.sasl_authenticator import Login
from ottla.runtime.port import Runtime
from ottla.security.sasl.bearer_token import OAuthBearerToken, parse_jwt
from ottla.security.sasl.mechanism import SaslClient, SaslError
from ottla.security.sasl.oauthbearer import OAuthBearerClient
from ottla.security.sasl.token_refresh import TokenRefresh
from ottla.security.sasl.token_request import client_credentials_request
from ottla.security.sasl.unsecured_jwt import is_unsecured_login, unsecured_extensions, unsecured_token
from ottla.security.tls.tls_config import TlsConfig
from ottla.security.tls.tls_context import client_tls_context

logger = logging.getLogger(__name__)

TokenProvider = Callable[[], "OAuthBearerToken | str | Awaitable[OAuthBearerToken | str]"]
"""A function of the user's, async or not: a JWT as text, or an OAuthBearerToken that says when it ends."""
TokenSource = Callable[[], Awaitable[OAuthBearerToken]]

_EXTENSION = "extension_"


def bearer_login(
    config: ClientConfig, options: Mapping[str, str], runtime: Runtime, provider: TokenProvider | None
) -> Login:
    """Log in with the newest token; InvalidConfigError if nothing says where tokens come from.

    First come ``provider``, then ``sasl.oauthbearer.token.endpoint.url``, then tokens that nobody signs, made of the
    JAAS options ``unsecuredLogin…``.
    """
    extensions = unsecured_extensions(options) | {
        name.removeprefix(_EXTENSION): value for name, value in options.items() if name.startswith(_EXTENSION)
    }
    refresh = TokenRefresh(
        window_factor=config.sasl_login_refresh_window_factor,
        window_jitter=config.sasl_login_refresh_window_jitter,
        min_period_seconds=config.sasl_login_refresh_min_period_seconds,
        buffer_seconds=config.sasl_login_refresh_buffer_seconds,
    )
    tokens = TokenCache(_source(config, options, runtime, provider), refresh, runtime)

    async def login() -> SaslClient:
        token = await tokens.token()
        return OAuthBearerClient(token.value, extensions)

    return login


class TokenCache:
    """One token for all connections, fetched when one is needed and the last is missing or due.

    Nobody refreshes in between: a connection that is open needs no token until its session must be renewed, and asks
    then. A refresh that fails leaves the old token in use until it ends. Those who ask at once share one fetch.
    """

    __slots__ = ("_fetching", "_refresh", "_refresh_at_ms", "_runtime", "_source", "_token")

    def __init__(self, source: TokenSource, refresh: TokenRefresh, runtime: Runtime) -> None:
        self._source = source
        self._refresh = refresh
        self._runtime = runtime
        self._token: OAuthBearerToken | None = None
        self._refresh_at_ms: int | None = None
        self._fetching: Awaitable[OAuthBearerToken] | None = None

    async def token(self) -> OAuthBearerToken:
        """A token to show now; AuthenticationError if none is given, NetworkError if none can be had for now."""
        now_ms = self._runtime.clock.now_ms()
        token = self._token
        if token is not None and (self._refresh_at_ms is None or now_ms < self._refresh_at_ms):
            return token
        if self._fetching is None:
            self._fetching = self._runtime.spawn(self._fetch())
        try:
            return await self._fetching
        except KafkaError as error:
            if token is None or token.expires_at_ms is None or token.expires_at_ms <= now_ms:
                raise
            logger.warning("The bearer token could not be refreshed, the old one is used until it ends: %s", error)
            return token

    async def _fetch(self) -> OAuthBearerToken:
        try:
            token = await self._source()
            now_ms = self._runtime.clock.now_ms()
            if token.expires_at_ms is not None and token.expires_at_ms <= now_ms:
                raise AuthenticationError("The bearer token that came has ended already: compare the clocks")
            self._token = token
            self._refresh_at_ms = self._refresh.refresh_at_ms(token, now_ms, self._runtime.rng)
            return token
        except SaslError as error:
            raise AuthenticationError(str(error)) from error
        finally:
            self._fetching = None


def _source(
    config: ClientConfig, options: Mapping[str, str], runtime: Runtime, provider: TokenProvider | None
) -> TokenSource:
    parse = partial(
        parse_jwt,
        subject_claim=config.sasl_oauthbearer_sub_claim_name,
        scope_claim=config.sasl_oauthbearer_scope_claim_name,
    )
    if provider is not None:
        return partial(_provided, provider, parse)
    if config.sasl_oauthbearer_token_endpoint_url is not None:
        return _endpoint_source(config, options, runtime, parse)
    if is_unsecured_login(options):
        unsecured_token(options, runtime.clock.now_ms())  # so that what is wrong with them is said at once

        async def unsecured() -> OAuthBearerToken:
            return unsecured_token(options, runtime.clock.now_ms())

        return unsecured
    raise InvalidConfigError(
        "sasl.mechanism=OAUTHBEARER needs tokens: set sasl.oauthbearer.token.endpoint.url with a client id and secret,"
        " or give a token provider"
    )


def _endpoint_source(
    config: ClientConfig, options: Mapping[str, str], runtime: Runtime, parse: Callable[[str], OAuthBearerToken]
) -> TokenSource:
    assert config.sasl_oauthbearer_token_endpoint_url is not None
    url = token_url(config.sasl_oauthbearer_token_endpoint_url)
    if url.scheme == "file":

        async def from_file() -> OAuthBearerToken:
            return parse(await read_token_file(file_path(url), runtime))

        return from_file
    secret = config.sasl_oauthbearer_client_credentials_client_secret
    endpoint = TokenEndpoint(
        url=url,
        request=client_credentials_request(
            config.sasl_oauthbearer_client_credentials_client_id or options.get("clientId"),
            options.get("clientSecret") if secret is None else secret.value,
            config.sasl_oauthbearer_scope or options.get("scope"),
            urlencode=config.sasl_oauthbearer_header_urlencode,
        ),
        tls_context=partial(_endpoint_tls, options),
        connect_timeout_ms=config.sasl_login_connect_timeout_ms,
        read_timeout_ms=config.sasl_login_read_timeout_ms,
        retry_backoff_ms=config.sasl_login_retry_backoff_ms,
        retry_backoff_max_ms=config.sasl_login_retry_backoff_max_ms,
    )

    async def from_endpoint() -> OAuthBearerToken:
        return parse(await endpoint.fetch(runtime))

    return from_endpoint


def _endpoint_tls(options: Mapping[str, str]) -> ssl.SSLContext:
    """The endpoint's trust is the system's, or the PEM file that the JAAS option ``ssl.truststore.location`` names."""
    location = options.get("ssl.truststore.location")
    return client_tls_context(TlsConfig(truststore_type="PEM", truststore_location=location))


async def _provided(provider: TokenProvider, parse: Callable[[str], OAuthBearerToken]) -> OAuthBearerToken:
    try:
        provided = provider()
        if inspect.isawaitable(provided):
            provided = await provided
    except KafkaError:
        raise
    except Exception as error:
        # Whatever a user's function raises is the reason why nobody could log in.
        raise AuthenticationError(f"The token provider failed: {error!r}") from error
    if isinstance(provided, str):
        return parse(provided)
    if not isinstance(provided, OAuthBearerToken):
        raise AuthenticationError(f"The token provider gave {type(provided).__name__}, not a token")
    return provided
