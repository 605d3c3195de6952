"""Bearer tokens: what a client must know of one, and how that is read from a JWT without checking its signature."""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ottla.security.sasl.mechanism import SaslError

SCOPE_CLAIM: Final = "scope"
SUBJECT_CLAIM: Final = "sub"


@dataclass(frozen=True, slots=True)
class OAuthBearerToken:
    """A token and its life. For an opaque token (no JWT) whoever provides it says when it ends."""

    value: str
    expires_at_ms: int | None = None
    """Since the epoch; None never ends."""
    principal_name: str = ""
    issued_at_ms: int | None = None
    scope: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"OAuthBearerToken([hidden], principal {self.principal_name!r}, expires at {self.expires_at_ms})"


def parse_jwt(value: str, *, subject_claim: str = SUBJECT_CLAIM, scope_claim: str = SCOPE_CLAIM) -> OAuthBearerToken:
    """A JWT's principal, scope and times. The broker checks the signature; SaslError if it could only refuse."""
    claims = _claims(value)
    subject = claims.get(subject_claim)
    if not isinstance(subject, str) or not subject.strip():
        raise SaslError(f"The JWT has no claim {subject_claim!r} that names a principal")
    expires_at_ms = _time_ms(claims, "exp")
    if expires_at_ms is None:
        raise SaslError("The JWT has no claim 'exp': it does not say when it ends")
    return OAuthBearerToken(
        value, expires_at_ms, subject.strip(), _time_ms(claims, "iat"), _scope(claims.get(scope_claim))
    )


def _claims(value: str) -> Mapping[str, Any]:
    parts = value.split(".")
    if len(parts) != 3:
        raise SaslError(f"The token is no JWT: it has {len(parts)} parts instead of 3")
    payload = parts[1]
    try:
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (binascii.Error, ValueError) as error:
        raise SaslError(f"The token is no JWT: {error}") from None
    if not isinstance(claims, dict):
        raise SaslError("The token is no JWT: its claims are no object")
    return claims


def _time_ms(claims: Mapping[str, Any], name: str) -> int | None:
    seconds = claims.get(name)
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < 1e12:
        raise SaslError(f"The JWT's claim {name!r} is no time in seconds")
    return int(seconds * 1000)


def _scope(claim: object) -> frozenset[str]:
    words = claim.split() if isinstance(claim, str) else claim if isinstance(claim, list) else ()
    return frozenset(str(word).strip() for word in words if str(word).strip())
