"""A Java trust store with the certificate authorities that this machine's Python trusts.

A Java that comes from PyPI brings its own authorities and knows nothing of those that the machine's owner added (a
company's proxy, say), so a download that works for pip would fail for Ivy.
"""

import hashlib
import ssl
import struct
from pathlib import Path

_MAGIC = 0xFEEDFEED
_VERSION = 2
_TRUSTED_CERTIFICATE = 2
_PASSWORD = "changeit"  # noqa: S105 - Java's own default; the store holds nothing secret
_DIGEST_SALT = b"Mighty Aphrodite"  # part of the JKS format: its integrity digest is salted with these words


def write_trust_store(path: Path) -> list[str]:
    """Write the trust store and return the JVM arguments that use it; none when Python names no authorities."""
    authorities = ssl.create_default_context().get_ca_certs(binary_form=True)
    if not authorities:
        return []
    parts = [struct.pack(">III", _MAGIC, _VERSION, len(authorities))]
    for number, certificate in enumerate(authorities):
        parts.append(struct.pack(">I", _TRUSTED_CERTIFICATE) + _utf(f"ca{number}") + struct.pack(">q", 0))
        parts.append(_utf("X.509") + struct.pack(">I", len(certificate)) + certificate)
    store = b"".join(parts)
    digest = hashlib.sha1(_PASSWORD.encode("utf-16-be") + _DIGEST_SALT + store, usedforsecurity=False).digest()
    path.write_bytes(store + digest)
    return [f"-Djavax.net.ssl.trustStore={path}", f"-Djavax.net.ssl.trustStorePassword={_PASSWORD}"]


def _utf(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()
