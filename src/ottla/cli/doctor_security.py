"""What a doctor finds about TLS and SASL: what a listener wants beside what the client has, and what to change."""

import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ottla.cli.findings import Finding, fail, ok
from ottla.common.error_words import in_words

if TYPE_CHECKING:
    from ottla.config.client_configs import ClientConfig

_FILE: Final = "in the file of --command-config"
_TRUST: Final = f"it goes {_FILE.replace('in', 'into', 1)}, with ssl.truststore.type=PEM if it is a PEM file"
_HINTS: Final = (
    ("issuer is not trusted", _TRUST),
    ("is signed by itself", _TRUST),
    ("has expired", "have the broker's certificate renewed, and look at this machine's clock"),
    ("is not valid yet", "look at this machine's clock"),
    (
        "is not for this",
        "connect by a name that is in the certificate, or have one made with this name as subjectAltName",
    ),
    (
        "our certificate",
        f"set ssl.keystore.location {_FILE} to a certificate that the broker's ssl.truststore.location trusts",
    ),
    ("no cipher suite in common", f"compare ssl.cipher.suites {_FILE} with the broker's"),
    ("ssl.enabled.protocols", f"compare ssl.enabled.protocols {_FILE} with the broker's"),
    (
        "username or password",
        f"check user name and password in sasl.jaas.config {_FILE}, and user_NAME in that of the broker's listener",
    ),
    (
        "invalid credentials",
        f"check user name and password in sasl.jaas.config {_FILE}; has somebody added the user's credentials for this "
        "mechanism (`ottla configs --alter --entity-type users --add-config SCRAM-SHA-…`)?",
    ),
    ("closed before the response was read", "the broker's log tells why; is this the listener for clients?"),
)
_OTHERWISE: Final = f"check security.protocol, sasl.* and ssl.* {_FILE}"
_CERTIFICATE_REFUSED: Final = "refused our certificate"


class SecureSide:
    """The client's side of TLS and SASL."""

    __slots__ = ("_tls_context", "config")

    def __init__(self, config: "ClientConfig", tls_context: ssl.SSLContext | None) -> None:
        self.config = config
        self._tls_context = tls_context

    @classmethod
    def of(cls, settings: Mapping[str, str]) -> "SecureSide":
        """What settings give; InvalidConfigError if no client can be made of them, or stores cannot be read."""
        from ottla.clients.security import client_security
        from ottla.config.admin_keys import ADMIN_CONFIG
        from ottla.config.client_configs import AdminConfig
        from ottla.runtime.live import AsyncioRuntime

        config = AdminConfig.parse({key: value for key, value in settings.items() if key in ADMIN_CONFIG}).common
        runtime = AsyncioRuntime(blocking_threads=1)
        try:
            return cls(config, client_security(config, runtime).tls_context())
        finally:
            runtime.close()

    async def login_finding(self, host: str, port: int) -> Finding | None:
        """Whether the listener wants a login as the client is configured for one; None if it does not say."""
        from ottla.cli import probe

        try:
            offered = await probe.sasl_mechanisms(host, port, self._tls_context)
        except OSError:  # ssl.SSLError and TimeoutError among them: the client's own attempt tells it better
            return None
        config = self.config
        if offered is None:
            return None
        return compare_login(f"{host}:{port}", offered, config.security_protocol, config.sasl_mechanism)

    def refusal_finding(self, error: BaseException) -> Finding:
        """Why the cluster has not let us in, and what to do about that."""
        message = in_words(error)
        if _CERTIFICATE_REFUSED in message and not self._has_certificate:
            message = message.replace(_CERTIFICATE_REFUSED, "wants a certificate of ours, and we have none")
            return fail(f"The cluster refuses us: {message}", f"set ssl.keystore.location {_FILE}")
        hint = next((hint for text, hint in _HINTS if text in message), _OTHERWISE)
        return fail(f"The cluster refuses us: {message}", hint)

    @property
    def _has_certificate(self) -> bool:
        return bool(self.config.ssl_keystore_location or self.config.ssl_keystore_certificate_chain)


def compare_login(place: str, offered: list[str], protocol: str, mechanism: str) -> Finding:
    """The mechanisms that a listener offers (none: it wants no login) beside what the client is configured for."""
    transport = "SSL" if protocol.endswith("SSL") else "PLAINTEXT"
    if not protocol.startswith("SASL_"):
        if not offered:
            return ok(f"{place} wants no login")
        return fail(
            f"{place} wants a login (SASL by {', '.join(offered)}), but security.protocol is {protocol}",
            f"set security.protocol to SASL_{transport}, sasl.mechanism and sasl.jaas.config {_FILE}",
        )
    if not offered:
        return fail(
            f"{place} wants no login, but security.protocol is {protocol}",
            f"set security.protocol to {transport} {_FILE}, or use the port of a listener with SASL",
        )
    if mechanism not in offered:
        return fail(
            f"{place} does not offer sasl.mechanism {mechanism}, but {', '.join(offered)}",
            f"set sasl.mechanism to one of these {_FILE}, or add yours to sasl.enabled.mechanisms of the broker",
        )
    return ok(f"{place} offers a login by {mechanism}")


def configuration_finding(error: BaseException) -> Finding:
    """A configuration that no client can be made of; the message says what to change."""
    return fail(f"The configuration cannot be used: {in_words(error)}", f"change that {_FILE}")
