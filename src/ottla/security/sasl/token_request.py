"""The client credentials grant of OAuth (RFC 6749): what is asked of a token endpoint, and what it answers."""

import base64
import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final, NamedTuple
from urllib.parse import quote_plus

from ottla.common.errors import InvalidConfigError
from ottla.security.sasl.mechanism import SaslError

_HOPELESS: Final = frozenset((400, 401, 402, 403, 404, 405, 406, 407, 409, 410, 411, 412, 413, 414, 415, 501, 505))
"""Statuses after which asking again brings the same."""
_TOKENS: Final = ("access_token", "id_token")
_ERRORS: Final = (("error", "error_description"), ("errorCode", "errorSummary"))


class TokenEndpointError(Exception):
    """An answer without a token, of a kind that may change: ask again."""


class TokenRequest(NamedTuple):
    """A POST."""

    headers: Mapping[str, str]
    body: bytes


def client_credentials_request(
    client_id: str | None, client_secret: str | None, scope: str | None = None, *, urlencode: bool = False
) -> TokenRequest:
    """Ask for a token by id and secret; InvalidConfigError if one of them is missing."""
    client_id, client_secret, scope = (text.strip() if text else "" for text in (client_id, client_secret, scope))
    if not client_id or not client_secret:
        raise InvalidConfigError(
            "The token endpoint needs sasl.oauthbearer.client.credentials.client.id and"
            " sasl.oauthbearer.client.credentials.client.secret, or clientId and clientSecret in sasl.jaas.config"
        )
    if urlencode:
        client_id, client_secret, scope = quote_plus(client_id), quote_plus(client_secret), quote_plus(scope)
    basic = base64.b64encode(f"{client_id}:{client_secret}".encode()).decode("ascii")
    headers = {
        "Accept": "application/json",
        "Authorization": f"Basic {basic}",
        "Cache-Control": "no-cache",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    body = "grant_type=client_credentials" + (f"&scope={scope}" if scope else "")
    return TokenRequest(headers, body.encode())


def parse_token_response(status: int, body: bytes) -> str:
    """The token in an answer; SaslError if the endpoint refused for good, TokenEndpointError if not for good."""
    content = _json(body)
    if status in (HTTPStatus.OK, HTTPStatus.CREATED):
        for name in _TOKENS:
            token = content.get(name)
            if isinstance(token, str) and token.strip():
                return token.strip()
        raise SaslError("The token endpoint's answer has no access_token")
    message = f"The token endpoint answered {status}{_explanation(content)}"
    if status in _HOPELESS:
        raise SaslError(message)
    raise TokenEndpointError(message)


def _json(body: bytes) -> Mapping[str, object]:
    try:
        content = json.loads(body)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _explanation(content: Mapping[str, object]) -> str:
    """An error's name and description hold no secrets, by the RFC."""
    for name, description in _ERRORS:
        if name in content:
            said = [str(content[key])[:200] for key in (name, description) if content.get(key)]
            return f" ({': '.join(said)})"
    return ""
