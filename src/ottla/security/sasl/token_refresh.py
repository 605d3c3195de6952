"""When a token is fetched anew, before it ends: the rules of ``sasl.login.refresh.*``."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ottla.security.sasl.bearer_token import OAuthBearerToken

if TYPE_CHECKING:
    from random import Random


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRefresh:
    """Apache's keys and defaults."""

    window_factor: float = 0.8
    """The share of a token's life after which it is refreshed,"""
    window_jitter: float = 0.05
    """and a share of chance on top, so that not all come at once."""
    min_period_seconds: int = 60
    """Not sooner than this after a token came,"""
    buffer_seconds: int = 300
    """and not later than this before it ends. A token too short-lived for both keeps neither."""

    def refresh_at_ms(self, token: OAuthBearerToken, now_ms: int, rng: "Random") -> int | None:
        """When to refresh a token that came now; None for one that never ends."""
        expires_at_ms = token.expires_at_ms
        if expires_at_ms is None:
            return None
        share = self.window_factor + self.window_jitter * rng.random()
        earliest_ms = now_ms + 1000 * self.min_period_seconds
        latest_ms = expires_at_ms - 1000 * self.buffer_seconds
        if earliest_ms > latest_ms:
            return now_ms + int((expires_at_ms - now_ms) * share)
        issued_at_ms = now_ms if token.issued_at_ms is None else token.issued_at_ms
        proposed_ms = issued_at_ms + int((expires_at_ms - issued_at_ms) * share)
        return max(earliest_ms, min(proposed_ms, latest_ms))
