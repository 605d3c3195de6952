"""Kafka's 128-bit ids: topic ids, directory ids, cluster ids.

They are written as 22 characters of URL-safe base64 without padding. Chance is an argument: whoever makes
an id brings the random source.
"""

import base64
import binascii
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

_ENCODED_LENGTH_MAX = 24


@dataclass(frozen=True, slots=True, order=True)
class Uuid:
    """An immutable id of sixteen bytes."""

    bytes: bytes

    def __post_init__(self) -> None:
        if len(self.bytes) != 16:
            raise ValueError(f"a Uuid has 16 bytes, not {len(self.bytes)}")

    def __str__(self) -> str:
        return base64.urlsafe_b64encode(self.bytes).rstrip(b"=").decode("ascii")

    @classmethod
    def from_string(cls, text: str) -> "Uuid":
        """Parse the base64 form; raises ValueError with the offending text."""
        if len(text) > _ENCODED_LENGTH_MAX:
            raise ValueError(f"{text!r} is too long to be a base64 Uuid")
        try:
            raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError) as error:
            raise ValueError(f"{text!r} is not a base64 Uuid") from error
        if len(raw) != 16:
            raise ValueError(f"{text!r} decodes to {len(raw)} bytes; a Uuid has 16")
        return cls(raw)

    @classmethod
    def from_halves(cls, most_significant: int, least_significant: int) -> "Uuid":
        """Build from two unsigned or signed 64-bit halves, as Java's Uuid does."""
        mask = (1 << 64) - 1
        return cls(((most_significant & mask) << 64 | (least_significant & mask)).to_bytes(16, "big"))

    @classmethod
    def random(cls, rng: "Random") -> "Uuid":
        """Draw a version 4 id that is not reserved and does not begin with a dash in its text form."""
        while True:
            raw = bytearray(rng.randbytes(16))
            raw[6] = raw[6] & 0x0F | 0x40
            raw[8] = raw[8] & 0x3F | 0x80
            uuid = cls(bytes(raw))
            if uuid not in RESERVED and not str(uuid).startswith("-"):
                return uuid


ZERO_UUID = Uuid(bytes(16))
METADATA_TOPIC_ID = Uuid.from_halves(0, 1)
RESERVED = frozenset(Uuid.from_halves(0, low) for low in range(100))
