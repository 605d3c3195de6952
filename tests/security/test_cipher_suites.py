"""Names of cipher suites, as OpenSSL itself maps them."""

import shutil
import subprocess

import pytest

from ottla.security.tls.cipher_suites import TLS_1_3_SUITES, openssl_name, split_suites


def test_openssl_agrees_on_every_suite_that_java_has_too() -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to ask")
    command = [openssl, "ciphers", "-stdname", "-v", "ALL:@SECLEVEL=0"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()
    pairs = [(words[0], words[2]) for line in listed if len(words := line.split()) > 3 and words[0].startswith("TLS_")]
    # What no broker on Java offers.
    foreign = ("PSK", "SRP", "anon", "ARIA", "CAMELLIA", "NULL")
    older = [pair for pair in pairs if pair[0] not in TLS_1_3_SUITES and not any(word in pair[0] for word in foreign)]
    assert len(older) > 30
    wrong = {iana: (openssl_name(iana), name) for iana, name in older if openssl_name(iana) != name}
    assert wrong == {}


def test_suites_are_split_by_version() -> None:
    newer, older = split_suites(("TLS_AES_128_GCM_SHA256", "TLS_RSA_WITH_AES_128_CBC_SHA", "AES256-SHA"))
    assert newer == ["TLS_AES_128_GCM_SHA256"]
    assert older == ["AES128-SHA", "AES256-SHA"]
