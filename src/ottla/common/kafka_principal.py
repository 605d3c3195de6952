"""Who is on the other end of a connection."""

from typing import Final, NamedTuple


class KafkaPrincipal(NamedTuple):
    """A kind of identity, for people always ``User``, and a name."""

    principal_type: str
    name: str

    def __str__(self) -> str:
        return f"{self.principal_type}:{self.name}"


ANONYMOUS: Final = KafkaPrincipal("User", "ANONYMOUS")
"""Everybody on a listener that does not authenticate."""
