"""What went wrong with TLS, in one sentence that says what to look at."""

import ssl
from typing import Final

_REASONS: Final = {
    "WRONG_VERSION_NUMBER": "it does not speak TLS on this port; security.protocol should be PLAINTEXT or"
    " SASL_PLAINTEXT, or the port another",
    "NO_PROTOCOLS_AVAILABLE": "ssl.enabled.protocols and ssl.cipher.suites leave no version of TLS to offer",
    "TLSV1_ALERT_PROTOCOL_VERSION": "it offers none of our ssl.enabled.protocols",
    "UNSUPPORTED_PROTOCOL": "it offers none of our ssl.enabled.protocols",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "we have no cipher suite in common (ssl.cipher.suites), or it wants a client"
    " certificate (ssl.keystore.location)",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "it wants a client certificate: set ssl.keystore.location",
    "TLSV1_ALERT_UNKNOWN_CA": "it does not trust our certificate's issuer (ssl.keystore.location)",
    "SSLV3_ALERT_BAD_CERTIFICATE": "it refused our certificate (ssl.keystore.location)",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "it refused our certificate (ssl.keystore.location)",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "our certificate has expired (ssl.keystore.location)",
}
_UNTRUSTED: Final = "set ssl.truststore.location to the certificate of its issuer"
_VERIFICATION: Final = {
    10: "its certificate has expired",
    9: "its certificate is not valid yet",
    18: f"its certificate is signed by itself and not trusted: {_UNTRUSTED}",
    19: f"its certificate's issuer is not trusted: {_UNTRUSTED}",
    20: f"its certificate's issuer is not trusted: {_UNTRUSTED}",
    21: f"its certificate's issuer is not trusted: {_UNTRUSTED}",
    62: "its certificate is not for this host name",
    64: "its certificate is not for this IP address",
}
"""By OpenSSL's X509_V_ERR numbers."""


def is_tls_refusal(error: ssl.SSLError) -> bool:
    """Whether the other side said that it will not have us, rather than just ended the connection."""
    return "_ALERT_" in (error.reason or "")


def describe_tls_failure(error: ssl.SSLError) -> str:
    """Why a handshake failed, from our side's point of view."""
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = _VERIFICATION.get(error.verify_code)
        return error.verify_message if reason is None else reason
    return _REASONS.get(error.reason or "", error.reason or str(error))
