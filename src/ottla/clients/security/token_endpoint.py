"""Tokens from an OAuth server, or from a file that somebody else keeps fresh."""

import http.client
import logging
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from ottla.common.error_words import in_words
from ottla.common.errors import InvalidConfigError
from ottla.network.client_errors import NetworkError
from ottla.runtime.port import Runtime
from ottla.security.sasl.token_request import TokenEndpointError, TokenRequest, parse_token_response

logger = logging.getLogger(__name__)

RESPONSE_BYTES_MAX: Final = 1 << 20
_DEFAULT_TIMEOUT_MS: Final = 30_000
"""Apache waits for ever unless told; nothing here does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenEndpoint:
    """An address that answers a POST with a token. Failures are tried again until ``retry_backoff_max_ms`` are over."""

    url: SplitResult
    request: TokenRequest
    tls_context: Callable[[], ssl.SSLContext]
    connect_timeout_ms: int | None = None
    read_timeout_ms: int | None = None
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 10_000

    async def fetch(self, runtime: Runtime) -> str:
        """A fresh token; SaslError if it is refused, NetworkError if none could be had."""
        clock = runtime.clock
        where = f"{self.url.scheme}://{self.url.netloc.rpartition('@')[2]}"
        end_ms = clock.monotonic_ms() + self.retry_backoff_max_ms
        wait_ms = self.retry_backoff_ms
        while True:
            try:
                status, body = await runtime.blocking(self._post)
                return parse_token_response(status, body)
            except (OSError, http.client.HTTPException, TokenEndpointError) as error:
                remaining_ms = end_ms - clock.monotonic_ms()
                failure = f"No token could be fetched from {where}: {in_words(error)}"
                if remaining_ms <= 0:
                    raise NetworkError(failure) from error
                # Said now: a connection that waits for the token may give up first, and does not know why.
                logger.warning("%s; trying again", failure)
            await runtime.sleep_ms(max(1, min(wait_ms, remaining_ms)))
            wait_ms *= 2

    def _post(self) -> tuple[int, bytes]:
        """Blocks; the interpreter is free meanwhile."""
        url = self.url
        assert url.hostname is not None, "token_url sees to that"
        connect_s = (self.connect_timeout_ms or _DEFAULT_TIMEOUT_MS) / 1000
        connection: http.client.HTTPConnection
        if url.scheme == "https":
            context = self.tls_context()
            connection = http.client.HTTPSConnection(url.hostname, url.port, timeout=connect_s, context=context)
        else:
            connection = http.client.HTTPConnection(url.hostname, url.port, timeout=connect_s)
        try:
            connection.connect()
            connection.sock.settimeout((self.read_timeout_ms or _DEFAULT_TIMEOUT_MS) / 1000)
            path = (url.path or "/") + (f"?{url.query}" if url.query else "")
            connection.request("POST", path, self.request.body, dict(self.request.headers))
            response = connection.getresponse()
            body = response.read(RESPONSE_BYTES_MAX + 1)
            if len(body) > RESPONSE_BYTES_MAX:
                raise TokenEndpointError(f"the answer has more than {RESPONSE_BYTES_MAX} bytes")
            return response.status, body
        finally:
            connection.close()


async def read_token_file(path: str, runtime: Runtime) -> str:
    """The token in a file, as it is now; NetworkError if it cannot be read, since it may be there later."""
    try:
        contents = await runtime.blocking(partial(runtime.files.read, path))
    except OSError as error:
        raise NetworkError(f"The token file {path} cannot be read: {error.strerror}") from error
    return contents.decode(errors="replace").strip()


def token_url(text: str) -> SplitResult:
    """The URL of ``sasl.oauthbearer.token.endpoint.url``, checked."""
    url = urlsplit(text.strip())
    usable = url.scheme == "file" or (url.scheme in ("http", "https") and url.hostname)
    if not usable:
        raise InvalidConfigError(f"sasl.oauthbearer.token.endpoint.url must be a https, http or file URL, not {text}")
    return url


def file_path(url: SplitResult) -> str:
    """The path of a ``file:`` URL."""
    return unquote(url.path)
