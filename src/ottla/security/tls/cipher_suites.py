"""``ssl.cipher.suites``: IANA's names, as Java and Kafka use them, in OpenSSL's terms."""

import re
from collections.abc import Iterable
from typing import Final

TLS_1_3_SUITES: Final = frozenset(
    (
        "TLS_AES_128_GCM_SHA256",
        "TLS_AES_256_GCM_SHA384",
        "TLS_CHACHA20_POLY1305_SHA256",
        "TLS_AES_128_CCM_SHA256",
        "TLS_AES_128_CCM_8_SHA256",
    )
)
_IANA: Final = re.compile(r"TLS_(?P<exchange>[A-Z_]+)_WITH_(?P<cipher>\w+)")
_REWRITES: Final = (
    (re.compile(r"_POLY1305_SHA256$"), "_POLY1305"),
    (re.compile(r"(AES|ARIA|CAMELLIA)_(\d+)"), r"\1\2"),
    (re.compile(r"_CBC_"), "_"),
    (re.compile(r"^3DES_EDE_"), "DES_CBC3_"),
    (re.compile(r"(CCM(?:_8)?)_SHA256$"), r"\1"),
    (re.compile(r"CCM_8$"), "CCM8"),
    (re.compile(r"_"), "-"),
)


def openssl_name(suite: str) -> str:
    """OpenSSL's name of a suite before TLS 1.3; one that is no name of IANA's is taken as OpenSSL's already."""
    match = _IANA.fullmatch(suite)
    if match is None:
        return suite
    cipher = match["cipher"]
    for pattern, replacement in _REWRITES:
        cipher = pattern.sub(replacement, cipher)
    exchange = match["exchange"].replace("_", "-")
    return cipher if exchange == "RSA" else f"{exchange}-{cipher}"


def split_suites(suites: Iterable[str]) -> tuple[list[str], list[str]]:
    """Those of TLS 1.3, and OpenSSL's names of the others."""
    suites = list(suites)
    newer = [suite for suite in suites if suite in TLS_1_3_SUITES]
    return newer, [openssl_name(suite) for suite in suites if suite not in TLS_1_3_SUITES]
