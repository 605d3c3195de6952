"""How every delta applies its changes to the mapping of its image."""

from collections.abc import Mapping
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def applied(base: Mapping[K, V], changes: Mapping[K, V | None]) -> dict[K, V]:
    """A copy of ``base`` with ``changes``; None takes a key away."""
    result = dict(base)
    for key, value in changes.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = value
    return result


def mark_missing(base: Mapping[K, V], changes: dict[K, V | None]) -> None:
    """After a snapshot: what it did not mention is gone."""
    for key in base:
        changes.setdefault(key, None)
