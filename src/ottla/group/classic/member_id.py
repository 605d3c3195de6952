"""Ids for new members."""

from typing import Protocol


class Randomness(Protocol):
    """Where ids come from: ``random.Random``, or a test's."""

    def randbytes(self, n: int, /) -> bytes:
        """That many random bytes."""


def generate_member_id(client_id: str, group_instance_id: str | None, rng: Randomness) -> str:
    """``<instance or client id>-<random UUID>``, the UUID as Java writes it."""
    raw = bytearray(rng.randbytes(16))
    raw[6] = raw[6] & 0x0F | 0x40  # version 4
    raw[8] = raw[8] & 0x3F | 0x80  # its variant
    text = raw.hex()
    uuid = f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
    return f"{client_id if group_instance_id is None else group_instance_id}-{uuid}"
