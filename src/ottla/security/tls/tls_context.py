"""Contexts of OpenSSL made of a TlsConfig, and made anew when the files that they were made of change."""

import logging
import os
import ssl
import tempfile
from collections.abc import Callable
from typing import Final, NoReturn

from ottla.common.errors import InvalidConfigError
from ottla.config.values import Password
from ottla.security.tls.cipher_suites import TLS_1_3_SUITES, split_suites
from ottla.security.tls.tls_config import TlsConfig

logger = logging.getLogger(__name__)

_PEM_START: Final = b"-----BEGIN "
_JKS_MAGICS: Final = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")


class ReloadingTlsContext:
    """A context for each connection: the same one, until a key store or trust store has another time of change.

    A change that cannot be loaded is reported and the old context stays: a file may be seen half written.
    """

    __slots__ = ("_config", "_context", "_make", "_seen")

    def __init__(self, config: TlsConfig, make: "Callable[[TlsConfig], ssl.SSLContext]") -> None:
        """InvalidConfigError if no context can be made."""
        self._config = config
        self._make = make
        self._seen = self._times()
        self._context = make(config)

    def __call__(self) -> ssl.SSLContext:
        """The context for a connection that begins now."""
        times = self._times()
        if times != self._seen:
            self._seen = times
            try:
                self._context = self._make(self._config)
            except InvalidConfigError as error:
                logger.warning("Changed certificates cannot be used, the old ones stay: %s", error)
        return self._context

    def _times(self) -> list[int | None]:
        return [_modified_ns(path) for path in (self._config.keystore_location, self._config.truststore_location)]


def client_tls_context(config: TlsConfig) -> ssl.SSLContext:
    """A context for connections that we open; InvalidConfigError names the key that is wrong."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = config.checks_host_names
    _set_protocols(context, config)
    _set_trust(context, config)
    _set_keys(context, config)
    return context


def _set_protocols(context: ssl.SSLContext, config: TlsConfig) -> None:
    """Versions and suites. Python cannot choose among the suites of TLS 1.3, only whether there are any."""
    versions = config.versions
    newer, older = split_suites(config.cipher_suites)
    if older:
        try:
            context.set_ciphers(":".join(older))
        except ssl.SSLError:
            raise InvalidConfigError(f"OpenSSL knows none of ssl.cipher.suites: {', '.join(older)}") from None
    if config.cipher_suites and not newer:
        versions = [version for version in versions if version < ssl.TLSVersion.TLSv1_3]
    elif newer and not older:
        versions = [version for version in versions if version >= ssl.TLSVersion.TLSv1_3]
    if newer and len(newer) < len(TLS_1_3_SUITES):
        logger.info("All suites of TLS 1.3 are offered: OpenSSL's choice among them cannot be narrowed from here")
    if config.enabled_protocols and not versions:
        raise InvalidConfigError("ssl.enabled.protocols, ssl.protocol and ssl.cipher.suites leave no version of TLS")
    if versions:
        context.minimum_version, context.maximum_version = versions[0], versions[-1]


def _set_trust(context: ssl.SSLContext, config: TlsConfig) -> None:
    if config.truststore_certificates is not None:
        key, certificates = "ssl.truststore.certificates", config.truststore_certificates.value
    elif config.truststore_location is not None:
        key = "ssl.truststore.location"
        certificates = _read_pem(key, config.truststore_location, _TRUST_CONVERSION).decode("ascii", "replace")
    else:
        context.load_default_certs()
        return
    # A certificate that is trusted is trusted, whether it has signed itself or not: so it is in Java.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_verify_locations(cadata=certificates)
    except (ssl.SSLError, ValueError):
        raise InvalidConfigError(f"{key} holds no certificates that can be read as PEM") from None


def _set_keys(context: ssl.SSLContext, config: TlsConfig) -> None:
    if config.keystore_key is not None:
        assert config.keystore_certificate_chain is not None, "TlsConfig sees to that"
        text = f"{config.keystore_key.value}\n{config.keystore_certificate_chain.value}\n".encode()
        path = _written(text)
        try:
            _load_chain(context, path, "ssl.keystore.key", config.key_password)
        finally:
            os.unlink(path)
    elif config.keystore_location is not None:
        _read_pem("ssl.keystore.location", config.keystore_location, _KEY_CONVERSION)
        _load_chain(context, config.keystore_location, "ssl.keystore.location", config.key_password)


def _load_chain(context: ssl.SSLContext, path: str, key: str, password: Password | None) -> None:
    def key_password() -> str:
        if password is None:  # without this OpenSSL would ask on the terminal
            raise InvalidConfigError(f"The private key of {key} is encrypted, and ssl.key.password is not set")
        return password.value

    try:
        context.load_cert_chain(path, password=key_password)
    except ssl.SSLError as error:
        raise InvalidConfigError(
            f"{key} must hold a private key and its certificates as PEM, opened by ssl.key.password if it is"
            f" encrypted: {error.reason or error}"
        ) from None


def _written(text: bytes) -> str:
    """A file that only we can read: OpenSSL takes a private key from nowhere else."""
    descriptor, path = tempfile.mkstemp(suffix=".pem")
    with open(descriptor, "wb") as file:
        file.write(text)
    return path


_KEY_CONVERSION: Final = {
    "PKCS12": "openssl pkcs12 -in {path} -nodes -out {stem}.pem",
    "JKS": "keytool -importkeystore -srckeystore {path} -destkeystore {stem}.p12 -deststoretype PKCS12"
    " && openssl pkcs12 -in {stem}.p12 -nodes -out {stem}.pem",
}
_TRUST_CONVERSION: Final = dict.fromkeys(("PKCS12", "JKS"), "keytool -list -rfc -keystore {path} > {stem}.pem")


def _read_pem(key: str, path: str, conversion: dict[str, str]) -> bytes:
    """The file's contents if they are PEM, whatever the type says; otherwise how to make them so."""
    try:
        with open(path, "rb") as file:
            contents = file.read()
    except OSError as error:
        raise InvalidConfigError(f"{key}={path} cannot be read: {error.strerror}") from None
    if _PEM_START not in contents:
        _refuse_binary(key, path, contents, conversion)
    return contents


def _refuse_binary(key: str, path: str, contents: bytes, conversion: dict[str, str]) -> NoReturn:
    store = "JKS" if contents.startswith(_JKS_MAGICS) else "PKCS12" if contents[:1] == b"\x30" else None
    if store is None:
        raise InvalidConfigError(f"{key}={path} is not PEM")
    command = conversion[store].format(path=path, stem=os.path.splitext(path)[0])
    type_key = key.replace("location", "type")
    raise InvalidConfigError(
        f"{key}={path} is a {store} store, which only Java reads; convert it with: {command}; and set {type_key}=PEM"
    )


def _modified_ns(path: str | None) -> int | None:
    if path is None:
        return None
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None
