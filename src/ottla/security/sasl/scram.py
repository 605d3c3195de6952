"""SCRAM (RFC 5802, RFC 7677): the mechanisms that Kafka has, and the formulas that both sides compute.

Passwords and names are taken as their UTF-8 bytes, without SASLprep, as Apache takes them.
"""

import hashlib
import hmac
from typing import Final, NamedTuple

MIN_ITERATIONS: Final = 4096
"""Fewer are refused by both sides: a password hashed so cheaply is guessed."""
MAX_ITERATIONS: Final = 16384
"""More are refused by Apache when a credential is made."""


class ScramMechanism(NamedTuple):
    """A mechanism: its registered name, Kafka's number for it, and the hash that it is built on."""

    name: str
    type: int
    hash_name: str


SCRAM_SHA_256: Final = ScramMechanism("SCRAM-SHA-256", 1, "sha256")
SCRAM_SHA_512: Final = ScramMechanism("SCRAM-SHA-512", 2, "sha512")
SCRAM_MECHANISMS: Final = {mechanism.name: mechanism for mechanism in (SCRAM_SHA_256, SCRAM_SHA_512)}


class ScramKeys(NamedTuple):
    """What is derived from a password, for one salt and one number of iterations."""

    client_key: bytes
    """Known to whoever knows the password; the server sees it once a login, behind the proof."""
    stored_key: bytes
    """Its hash: what a server keeps to recognise the client."""
    server_key: bytes
    """What a server signs with, to be recognised in turn."""


def salted_password(mechanism: ScramMechanism, password: str, salt: bytes, iterations: int) -> bytes:
    """The RFC's Hi: slow on purpose, and it releases the GIL."""
    return hashlib.pbkdf2_hmac(mechanism.hash_name, password.encode(), salt, iterations)


def scram_keys(mechanism: ScramMechanism, salted: bytes) -> ScramKeys:
    """The keys of a salted password."""
    client_key = sign(mechanism, salted, b"Client Key")
    stored_key = hashlib.new(mechanism.hash_name, client_key).digest()
    return ScramKeys(client_key, stored_key, sign(mechanism, salted, b"Server Key"))


def sign(mechanism: ScramMechanism, key: bytes, message: bytes) -> bytes:
    """The HMAC of a message."""
    return hmac.digest(key, message, mechanism.hash_name)


def client_proof(mechanism: ScramMechanism, keys: ScramKeys, auth_message: bytes) -> bytes:
    """The client key, behind a signature that only a holder of the stored key can take away."""
    signature = sign(mechanism, keys.stored_key, auth_message)
    return bytes(a ^ b for a, b in zip(keys.client_key, signature, strict=True))


def server_signature(mechanism: ScramMechanism, keys: ScramKeys, auth_message: bytes) -> bytes:
    """What proves to the client that the server has the user's keys."""
    return sign(mechanism, keys.server_key, auth_message)
