"""The ``ssl.*`` keys that a TLS context is made of, and the rules between them."""

import ssl
from dataclasses import dataclass
from typing import Final

from ottla.common.errors import InvalidConfigError
from ottla.config.values import Password

PEM: Final = "PEM"
PROTOCOLS: Final = {
    "TLSv1": ssl.TLSVersion.TLSv1,
    "TLSv1.1": ssl.TLSVersion.TLSv1_1,
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsConfig:
    """Fields are Kafka's keys without ``ssl.``, with Kafka's defaults. Making one checks the rules between them."""

    protocol: str = "TLSv1.3"
    """The newest version that may be used, whatever is enabled; a name without a version sets no bound."""
    enabled_protocols: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")
    cipher_suites: tuple[str, ...] = ()
    """Names of IANA's or OpenSSL's; empty leaves the choice to OpenSSL."""
    keystore_type: str = "JKS"
    keystore_location: str | None = None
    keystore_password: Password | None = None
    keystore_key: Password | None = None
    keystore_certificate_chain: Password | None = None
    key_password: Password | None = None
    truststore_type: str = "JKS"
    truststore_location: str | None = None
    truststore_password: Password | None = None
    truststore_certificates: Password | None = None
    endpoint_identification_algorithm: str | None = "https"

    def __post_init__(self) -> None:
        for name in self.enabled_protocols:
            if name not in PROTOCOLS:
                raise InvalidConfigError(f"ssl.enabled.protocols names {name}, which is none of {', '.join(PROTOCOLS)}")
        if (self.endpoint_identification_algorithm or "").lower() not in ("", "https"):
            raise InvalidConfigError(
                "ssl.endpoint.identification.algorithm is either https or empty, which leaves host names unchecked"
            )
        for broken, why in self._rules():
            if broken:
                raise InvalidConfigError(why)

    @property
    def versions(self) -> list[ssl.TLSVersion]:
        """What may be offered, oldest first."""
        newest = PROTOCOLS.get(self.protocol, ssl.TLSVersion.TLSv1_3)
        return sorted(version for name in self.enabled_protocols if (version := PROTOCOLS[name]) <= newest)

    @property
    def checks_host_names(self) -> bool:
        """Whether a server must show a certificate for the name that it was called by."""
        return bool(self.endpoint_identification_algorithm)

    def _rules(self) -> tuple[tuple[bool, str], ...]:
        key, chain = self.keystore_key is not None, self.keystore_certificate_chain is not None
        keystore, truststore = self.keystore_location is not None, self.truststore_location is not None
        certificates = self.truststore_certificates is not None
        pem_keys, pem_trust = self.keystore_type.upper() == PEM, self.truststore_type.upper() == PEM
        keystore_password = self.keystore_password is not None
        truststore_password = self.truststore_password is not None
        return (
            (key and not pem_keys, "ssl.keystore.key is PEM text and needs ssl.keystore.type=PEM"),
            (key and not chain, "ssl.keystore.key needs ssl.keystore.certificate.chain"),
            (chain and not key, "ssl.keystore.certificate.chain needs ssl.keystore.key"),
            (key and keystore, "ssl.keystore.key and ssl.keystore.location exclude each other"),
            (
                pem_keys and keystore_password,
                "ssl.keystore.password does not go with PEM; ssl.key.password opens an encrypted private key",
            ),
            (keystore_password and not keystore, "ssl.keystore.password is set, and ssl.keystore.location is not"),
            (
                certificates and not pem_trust,
                "ssl.truststore.certificates is PEM text and needs ssl.truststore.type=PEM",
            ),
            (
                certificates and truststore,
                "ssl.truststore.certificates and ssl.truststore.location exclude each other",
            ),
            (pem_trust and truststore_password, "ssl.truststore.password does not go with PEM"),
            (
                truststore_password and not truststore,
                "ssl.truststore.password is set, and ssl.truststore.location is not",
            ),
        )
