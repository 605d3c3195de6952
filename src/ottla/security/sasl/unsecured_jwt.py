"""Tokens that nobody signs, made from JAAS options: for trying things out, as Apache's default login makes them.

Options: ``unsecuredLoginStringClaim_NAME``, ``…NumberClaim_NAME``, ``…ListClaim_NAME`` (the value's first character
separates), ``unsecuredLoginPrincipalClaimName`` (sub), ``…ScopeClaimName`` (scope), ``…LifetimeSeconds`` (3600) and
``unsecuredLoginExtension_NAME``.
"""

import base64
import json
from collections.abc import Callable, Mapping
from typing import Final

from ottla.common.errors import InvalidConfigError
from ottla.security.sasl.bearer_token import SCOPE_CLAIM, SUBJECT_CLAIM, OAuthBearerToken, parse_jwt
from ottla.security.sasl.mechanism import SaslError

_PREFIX: Final = "unsecuredLogin"
_EXTENSION: Final = f"{_PREFIX}Extension_"
_RESERVED: Final = ("iat", "exp")
_LIFETIME_S: Final = 3600


def _list(text: str) -> list[str]:
    return text[1:].split(text[0]) if len(text) > 1 else []


_CLAIMS: Final[Mapping[str, Callable[[str], object]]] = {
    f"{_PREFIX}StringClaim_": str,
    f"{_PREFIX}NumberClaim_": float,
    f"{_PREFIX}ListClaim_": _list,
}


def is_unsecured_login(options: Mapping[str, str]) -> bool:
    """Whether JAAS options ask for a token of this kind."""
    return any(name.startswith(_PREFIX) and not name.startswith(_EXTENSION) for name in options)


def unsecured_extensions(options: Mapping[str, str]) -> dict[str, str]:
    """The SASL extensions among the options."""
    return {name.removeprefix(_EXTENSION): value for name, value in options.items() if name.startswith(_EXTENSION)}


def unsecured_token(options: Mapping[str, str], now_ms: int) -> OAuthBearerToken:
    """A token that begins now; InvalidConfigError if the options make none."""
    claims: dict[str, object] = {}
    for name, value in options.items():
        for prefix, convert in _CLAIMS.items():
            claim = name.removeprefix(prefix)
            if claim != name and claim:
                if claim in _RESERVED:
                    raise InvalidConfigError(f"The JAAS option {name} must not set the claim {claim!r}")
                claims[claim] = _number_or(name, value, convert)
    lifetime = options.get(f"{_PREFIX}LifetimeSeconds", str(_LIFETIME_S))
    lifetime_s = _number_or(f"{_PREFIX}LifetimeSeconds", lifetime, int)
    assert isinstance(lifetime_s, int)
    claims |= {"iat": now_ms / 1000, "exp": now_ms / 1000 + lifetime_s}
    value = f"{_encoded({'alg': 'none'})}.{_encoded(claims)}."
    subject_claim = options.get(f"{_PREFIX}PrincipalClaimName", "").strip() or SUBJECT_CLAIM
    scope_claim = options.get(f"{_PREFIX}ScopeClaimName", "").strip() or SCOPE_CLAIM
    try:
        return parse_jwt(value, subject_claim=subject_claim, scope_claim=scope_claim)
    except SaslError as error:
        raise InvalidConfigError(f"The JAAS options {_PREFIX}… make no token: {error}") from None


def _number_or(name: str, value: str, convert: Callable[[str], object]) -> object:
    try:
        return convert(value)
    except ValueError:
        raise InvalidConfigError(f"The JAAS option {name} must be a number") from None


def _encoded(content: Mapping[str, object]) -> str:
    text = json.dumps(content, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(text).decode("ascii").rstrip("=")
