"""Which SASL mechanism, as whom: from ``sasl.*`` keys to the clients of the mechanisms."""

import secrets
from collections.abc import Mapping
from typing import Final, NamedTuple

from ottla.clients.security.bearer_login import TokenProvider, bearer_login
from ottla.common.errors import InvalidConfigError
from ottla.config.client_configs import ClientConfig
from ottla.network.sasl_authenticator import Login
from ottla.runtime.port import Runtime
from ottla.security.jaas import LoginModule, parse_login_module
from ottla.security.sasl.mechanism import SaslClient
from ottla.security.sasl.oauthbearer import OAUTHBEARER
from ottla.security.sasl.plain import PLAIN, PlainClient
from ottla.security.sasl.scram import SCRAM_MECHANISMS, ScramMechanism
from ottla.security.sasl.scram_client import TOKEN_AUTH, ScramClient

MECHANISMS: Final = (PLAIN, *SCRAM_MECHANISMS, OAUTHBEARER)
_PASSWORD_MODULES: Final = ("PlainLoginModule", "ScramLoginModule")
_BEARER_MODULE: Final = "OAuthBearerLoginModule"
_NONCE_BYTES: Final = 24


class Credentials(NamedTuple):
    """A name and a password, or the id and HMAC of a delegation token."""

    username: str
    password: str
    is_token: bool = False

    def __repr__(self) -> str:
        return f"Credentials({self.username!r}, [hidden])"


def sasl_login(config: ClientConfig, runtime: Runtime, token_provider: TokenProvider | None) -> Login:
    """What begins each authentication; InvalidConfigError if the keys do not say enough."""
    mechanism = config.sasl_mechanism.upper()
    if mechanism not in MECHANISMS:
        known = ", ".join(MECHANISMS)
        hint = ", the default, which needs Kerberos and is not built" if mechanism == "GSSAPI" else ""
        raise InvalidConfigError(f"sasl.mechanism is {config.sasl_mechanism}{hint}; set it to one of {known}")
    module = None if config.sasl_jaas_config is None else parse_login_module(config.sasl_jaas_config.value)
    if mechanism == OAUTHBEARER:
        return bearer_login(config, _options(module, (_BEARER_MODULE,), mechanism), runtime, token_provider)
    credentials = _credentials(config, _options(module, _PASSWORD_MODULES, mechanism), mechanism)
    if mechanism == PLAIN:
        return _plain_login(credentials)
    return _scram_login(SCRAM_MECHANISMS[mechanism], credentials)


def _plain_login(credentials: Credentials) -> Login:
    async def login() -> SaslClient:
        return PlainClient(credentials.username, credentials.password)

    return login


def _scram_login(mechanism: ScramMechanism, credentials: Credentials) -> Login:
    username, password, is_token = credentials

    async def login() -> SaslClient:
        nonce = secrets.token_urlsafe(_NONCE_BYTES)
        return ScramClient(mechanism, username, password, nonce, TOKEN_AUTH if is_token else None)

    return login


def _options(module: LoginModule | None, expected: tuple[str, ...], mechanism: str) -> Mapping[str, str]:
    if module is None:
        return {}
    if module.simple_name not in expected:
        raise InvalidConfigError(
            f"sasl.jaas.config names {module.class_name}, but sasl.mechanism={mechanism} needs {' or '.join(expected)}"
        )
    return module.options


def _credentials(config: ClientConfig, options: Mapping[str, str], mechanism: str) -> Credentials:
    """``sasl.username`` and ``sasl.password``, else those of the login module."""
    password = options.get("password") if config.sasl_password is None else config.sasl_password.value
    username = config.sasl_username or options.get("username")
    if not username or not password:
        missing = "a user name" if not username else "a password"
        raise InvalidConfigError(
            f"sasl.mechanism={mechanism} needs {missing}: set sasl.username and sasl.password,"
            " or both in sasl.jaas.config"
        )
    return Credentials(username, password, options.get("tokenauth", "").lower() == "true")
