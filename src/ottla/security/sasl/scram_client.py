"""The client's side of SCRAM: the password never leaves, and the server must prove that it knows it, too."""

import hmac
from collections.abc import Mapping
from enum import Enum, auto
from typing import Final

from ottla.security.sasl.mechanism import SaslError
from ottla.security.sasl.scram import (
    MIN_ITERATIONS,
    ScramKeys,
    ScramMechanism,
    client_proof,
    salted_password,
    scram_keys,
    server_signature,
)
from ottla.security.sasl.scram_messages import (
    GS2_HEADER,
    client_final,
    client_final_without_proof,
    client_first_bare,
    parse_server_final,
    parse_server_first,
)

ITERATIONS_BOUND: Final = 1 << 20
"""Apache's client takes any number; a second of hashing is all that a server may ask of us."""
TOKEN_AUTH: Final = {"tokenauth": "true"}
"""The extension that says: name and password are the id and the HMAC of a delegation token."""


class _State(Enum):
    START = auto()
    FIRST_SENT = auto()
    FINAL_SENT = auto()
    COMPLETE = auto()
    FAILED = auto()


class ScramClient:
    """START → FIRST_SENT → FINAL_SENT → COMPLETE, and FAILED from any of them.

    COMPLETE is reached only by a server whose signature shows that it has the keys of our password. ``nonce`` must be
    fresh and unpredictable, of printable ASCII without commas. Answering the first challenge takes milliseconds of
    hashing, without the GIL: let a thread do it.
    """

    __slots__ = ("_auth_message", "_first_bare", "_keys", "_mechanism", "_nonce", "_password", "_state")

    def __init__(
        self,
        mechanism: ScramMechanism,
        username: str,
        password: str,
        nonce: str,
        extensions: Mapping[str, str] | None = None,
    ) -> None:
        """SaslError if an extension cannot be sent."""
        self._mechanism = mechanism
        self._password = password
        self._nonce = nonce
        self._first_bare = client_first_bare(username, nonce, extensions or {})
        self._keys: ScramKeys
        self._auth_message = b""
        self._state = _State.START

    @property
    def mechanism(self) -> str:
        """See SaslClient."""
        return self._mechanism.name

    @property
    def is_complete(self) -> bool:
        """See SaslClient."""
        return self._state is _State.COMPLETE

    def respond(self, challenge: bytes) -> bytes | None:
        """See SaslClient."""
        state, self._state = self._state, _State.FAILED  # until this step has gone well
        assert state in (_State.START, _State.FIRST_SENT, _State.FINAL_SENT), f"a SCRAM client in {state} was asked"
        if state is _State.START:
            if challenge:
                raise SaslError("The server began SCRAM with a challenge, and the client begins")
            self._state = _State.FIRST_SENT
            return (GS2_HEADER + self._first_bare).encode()
        if state is _State.FIRST_SENT:
            final = self._prove(challenge)
            self._state = _State.FINAL_SENT
            return final
        self._verify(challenge)
        self._state = _State.COMPLETE
        return None

    def _prove(self, challenge: bytes) -> bytes:
        mechanism = self._mechanism
        first = parse_server_first(challenge)
        if not first.nonce.startswith(self._nonce):
            raise SaslError("The server's SCRAM nonce does not continue ours: it answers somebody else")
        if not MIN_ITERATIONS <= first.iterations <= ITERATIONS_BOUND:
            raise SaslError(
                f"The server asks for {first.iterations} iterations of {mechanism.name}; "
                f"between {MIN_ITERATIONS} and {ITERATIONS_BOUND} are accepted"
            )
        salted = salted_password(mechanism, self._password, first.salt, first.iterations)
        self._keys = scram_keys(mechanism, salted)
        without_proof = client_final_without_proof(first.nonce)
        self._auth_message = ",".join((self._first_bare, first.text, without_proof)).encode()
        return client_final(without_proof, client_proof(mechanism, self._keys, self._auth_message))

    def _verify(self, challenge: bytes) -> None:
        final = parse_server_final(challenge)
        if final.error is not None:
            raise SaslError(f"{self.mechanism} was refused: {final.error}")
        expected = server_signature(self._mechanism, self._keys, self._auth_message)
        if not hmac.compare_digest(final.signature, expected):
            raise SaslError("The server's SCRAM signature is wrong: it does not know the password")
