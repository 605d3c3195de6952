"""What a client says while nobody answers: little, in time, and for as long as it was asked to wait."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest

from ottla import Admin, Consumer, Producer
from ottla.clients.cluster.outage import PATIENCE_MS, WORTH_TELLING_MS, Outage
from ottla.clients.errors import KafkaTimeoutError

NOBODY = "127.0.0.1:1"


def test_an_outage_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    outage = Outage()
    for ms in range(0, 10_000, 100):
        outage.goes_on(ms, "a:1: refused", until_ms=60_000)
    outage.ends()
    outage.ends()
    assert caplog.messages == ["a:1: refused; trying for 58 s more", "The cluster answers"]


@pytest.mark.parametrize("until_ms", [PATIENCE_MS - 1, PATIENCE_MS, PATIENCE_MS + WORTH_TELLING_MS - 1])
def test_a_short_wait_is_not_told(caplog: pytest.LogCaptureFixture, until_ms: int) -> None:
    outage = Outage()
    for ms in range(0, until_ms + 1, 100):
        outage.goes_on(ms, "a:1: refused", until_ms)
    assert caplog.messages == []


def test_it_is_asked_again_when_there_is_something_to_tell() -> None:
    outage = Outage()
    outage.goes_on(1000, "a:1: refused", 60_000)
    assert outage.notice_after(1000) == 1000 + PATIENCE_MS
    assert outage.notice_after(1000 + PATIENCE_MS) > 1 << 60  # told by now, or not worth it: no busy waiting


CLIENTS: dict[str, Callable[[], AbstractAsyncContextManager[object]]] = {
    "producer": lambda: Producer(bootstrap_servers=NOBODY, max_block_ms=1500),
    "consumer": lambda: Consumer(bootstrap_servers=NOBODY, default_api_timeout_ms=1500),
    "admin": lambda: Admin(bootstrap_servers=NOBODY, default_api_timeout_ms=1500, request_timeout_ms=1500),
}


@pytest.mark.parametrize("kind", CLIENTS)
def test_entering_takes_the_time_asked_for_and_logs_one_line(caplog: pytest.LogCaptureFixture, kind: str) -> None:
    caplog.set_level(logging.WARNING)

    async def enter() -> None:
        async with CLIENTS[kind]():
            raise AssertionError("nobody answers")

    with pytest.raises(KafkaTimeoutError, match="within 1500 ms"):
        asyncio.run(enter())
    assert len(caplog.messages) == 1
    assert "Connection refused" in caplog.messages[0]
