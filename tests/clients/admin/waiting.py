"""Waiting for what a cluster does in its own time: brokers learn a little later what the controller has done."""

import time
from collections.abc import Callable, Iterator, Sequence

from ottla.clients.admin import CreatedTopic, NewTopic
from ottla.clients.sync.admin import Admin
from ottla.common.errors import KafkaError

BOUND_S = 30
_PAUSE_S = 0.02


def attempts(what: str) -> Iterator[None]:
    """Yield until the caller breaks out, with short pauses; AssertionError when it takes too long."""
    deadline = time.monotonic() + BOUND_S
    while time.monotonic() < deadline:
        yield
        time.sleep(_PAUSE_S)
    raise AssertionError(f"{what} did not happen within {BOUND_S} s")


def eventually(condition: Callable[[], object]) -> None:
    """Return when the condition holds."""
    for _ in attempts("What is waited for"):
        if condition():
            return


def create(admin: Admin, topics: Sequence[NewTopic]) -> dict[str, CreatedTopic]:
    """Create topics, and return when the broker knows them, too."""
    created = admin.create_topics(topics)
    names = [topic.name for topic in topics]

    def are_known() -> bool:
        described = admin.describe_topics(names, raise_errors=False).values()
        return not any(isinstance(each, KafkaError) for each in described)

    eventually(are_known)
    return created
