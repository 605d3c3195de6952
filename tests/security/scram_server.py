"""A server's side of SCRAM, written from the RFC alone: the other half for the client under test."""

import base64
import hashlib
import hmac
from dataclasses import dataclass, field


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@dataclass
class RfcServer:
    """Knows one user's password; ``first`` and ``final`` answer the client's two messages."""

    hash_name: str
    password: str
    salt: bytes = b"salt and pepper"
    iterations: int = 4096
    nonce: str = "3rfcNHYJY1ZVvWVs7j"
    transcript: list[str] = field(default_factory=list)

    def first(self, client_first: bytes) -> bytes:
        text = client_first.decode()
        assert text.startswith("n,,")
        bare = text[3:]
        attributes = dict(part.split("=", 1) for part in bare.split(","))
        answer = f"r={attributes['r']}{self.nonce},s={b64(self.salt)},i={self.iterations}"
        self.transcript = [bare, answer]
        return answer.encode()

    def final(self, client_final: bytes) -> bytes:
        """``v=…`` for one who knows the password, ``e=invalid-proof`` for others."""
        without_proof, _, proof = client_final.decode().rpartition(",p=")
        message = ",".join((*self.transcript, without_proof)).encode()
        salted = hashlib.pbkdf2_hmac(self.hash_name, self.password.encode(), self.salt, self.iterations)
        stored = hashlib.new(self.hash_name, self._mac(salted, b"Client Key")).digest()
        signature = self._mac(stored, message)
        client_key = bytes(a ^ b for a, b in zip(base64.b64decode(proof), signature, strict=True))
        if hashlib.new(self.hash_name, client_key).digest() != stored:
            return b"e=invalid-proof"
        return f"v={b64(self._mac(self._mac(salted, b'Server Key'), message))}".encode()

    def _mac(self, key: bytes, message: bytes) -> bytes:
        return hmac.new(key, message, self.hash_name).digest()
