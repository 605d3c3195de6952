"""Made-up people who click through a made-up shop. Pure: chance and time are given."""

import json
import random
from typing import Final, NamedTuple

PAGES: Final = ("home", "search", "shoes", "hats", "cart", "pay", "help")
_WEIGHTS: Final = (30, 20, 15, 10, 6, 3, 1)
_USERS: Final = 40
_GOES: Final = 0.05
"""How often, after a click, somebody leaves; then another one comes."""
_LATE: Final = 0.02
_BROKEN: Final = 0.005
_LATE_MS: Final = 3_000


class Click(NamedTuple):
    """A record: who clicked, and what, as bytes."""

    key: bytes
    value: bytes


class Clickers:
    """Some people at a time; each click is one record, some late, a few broken."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._next_user = 0
        self._users = [self._new_user() for _ in range(_USERS)]

    def click(self, now_ms: int) -> Click:
        """The next click of somebody."""
        place = min(int(self._rng.expovariate(0.15)), _USERS - 1)  # a few are busy, most are not
        user = self._users[place]
        if self._rng.random() < _GOES:
            self._users[place] = self._new_user()
        if self._rng.random() < _BROKEN:
            return Click(user.encode(), b'{"user": "' + user.encode() + b'", "page": ')
        at_ms = now_ms - (self._rng.randrange(_LATE_MS) if self._rng.random() < _LATE else 0)
        page = self._rng.choices(PAGES, _WEIGHTS)[0]
        return Click(user.encode(), json.dumps({"user": user, "page": page, "at_ms": at_ms}).encode())

    def _new_user(self) -> str:
        self._next_user += 1
        return f"user-{self._next_user}"
