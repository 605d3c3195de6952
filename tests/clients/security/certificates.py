"""Certificates made for a test by the openssl command: an authority, and what it signs."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

_CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
KEY_PASSWORD = "key-secret"


def openssl(*arguments: str | Path) -> None:
    command = shutil.which("openssl")
    if command is None:
        pytest.skip("no openssl to make certificates with")
    subprocess.run([command, *map(str, arguments)], check=True, capture_output=True, timeout=60)


@dataclass(frozen=True)
class Certificate:
    """A private key (PKCS8, as Java wants it) and its certificates as PEM files, and one file of both."""

    key: Path
    chain: Path
    store: Path


class Authority:
    """A certificate authority in a directory."""

    def __init__(self, directory: Path, name: str = "Test CA") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._key = directory / "ca.key"
        self.certificate = directory / "ca.pem"
        files = ("-keyout", self._key, "-out", self.certificate)
        openssl("req", "-x509", "-nodes", *_CURVE, *files, "-subj", f"/CN={name}", "-days", "2")

    def sign(self, name: str, names: str = "DNS:localhost,IP:127.0.0.1", *, days: int = 2) -> Certificate:
        """A certificate for ``names``; with -1 days it ended yesterday."""
        base = self._directory / name
        key, request, chain = (base.with_suffix(suffix) for suffix in (".key", ".csr", ".pem"))
        openssl("req", "-new", "-nodes", *_CURVE, "-keyout", key, "-out", request, "-subj", f"/CN={name}")
        extensions = base.with_suffix(".ext")
        extensions.write_text(f"subjectAltName={names}\n")
        authority = ("-CA", self.certificate, "-CAkey", self._key, "-CAcreateserial")
        openssl("x509", "-req", "-in", request, *authority, "-out", chain, "-days", str(days), "-extfile", extensions)
        store = base.with_suffix(".store.pem")
        store.write_text(key.read_text() + chain.read_text())
        return Certificate(key, chain, store)

    def encrypt(self, certificate: Certificate) -> Path:
        """A store whose private key opens with KEY_PASSWORD."""
        key = certificate.key.with_suffix(".encrypted.key")
        openssl("pkcs8", "-topk8", "-in", certificate.key, "-out", key, "-passout", f"pass:{KEY_PASSWORD}")
        store = certificate.key.with_suffix(".encrypted.pem")
        store.write_text(key.read_text() + certificate.chain.read_text())
        return store
