"""From a client's ``security.protocol``, ``sasl.*`` and ``ssl.*`` keys to what its connections need."""

import ssl
from collections.abc import Callable
from dataclasses import fields
from typing import Final, NamedTuple

from ottla.clients.security.bearer_login import TokenProvider
from ottla.clients.security.sasl_login import sasl_login
from ottla.config.client_configs import ClientConfig
from ottla.network.authenticator import Authenticator, PlaintextAuthenticator
from ottla.network.sasl_authenticator import SaslAuthenticator
from ottla.runtime.port import Runtime
from ottla.security.tls.tls_config import TlsConfig
from ottla.security.tls.tls_context import ReloadingTlsContext, client_tls_context

__all__ = ["ClientSecurity", "TokenProvider", "client_security"]


class _Layers(NamedTuple):
    tls: bool
    sasl: bool


SECURITY_PROTOCOLS: Final = {
    "PLAINTEXT": _Layers(tls=False, sasl=False),
    "SSL": _Layers(tls=True, sasl=False),
    "SASL_PLAINTEXT": _Layers(tls=False, sasl=True),
    "SASL_SSL": _Layers(tls=True, sasl=True),
}


class ClientSecurity(NamedTuple):
    """What a NetworkClient takes: ``NetworkClient(…, **security._asdict())``."""

    authenticator: Authenticator
    tls_context: Callable[[], ssl.SSLContext | None]
    """Asked at each connection; certificates whose files have changed take effect."""


def client_security(
    config: ClientConfig, runtime: Runtime, token_provider: TokenProvider | None = None
) -> ClientSecurity:
    """Read stores, check logins; InvalidConfigError says in one sentence what to change. Nothing is sent yet.

    ``token_provider`` gives OAUTHBEARER its tokens, in place of the keys.
    """
    layers = SECURITY_PROTOCOLS[config.security_protocol]
    authenticator: Authenticator = PlaintextAuthenticator()
    if layers.sasl:
        authenticator = SaslAuthenticator(sasl_login(config, runtime, token_provider), runtime)
    tls_context = ReloadingTlsContext(tls_config(config), client_tls_context) if layers.tls else _no_tls
    return ClientSecurity(authenticator, tls_context)


def tls_config(config: ClientConfig) -> TlsConfig:
    """The ``ssl.*`` keys; InvalidConfigError if they contradict each other."""
    return TlsConfig(**{field.name: getattr(config, f"ssl_{field.name}") for field in fields(TlsConfig)})


def _no_tls() -> ssl.SSLContext | None:
    return None
