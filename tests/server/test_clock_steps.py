"""A node whose wall clock is set by hours while it works, as an administrator or NTP does."""

from collections.abc import Callable, Iterator, Mapping
from itertools import count

import pytest

from ottla.common.error_code import ErrorCode
from ottla.runtime.system_clock import SystemClock
from ottla.testing import Broker
from tests.server.group_wire import GROUP_PROPERTIES, ClassicMember, ready
from tests.server.inside import inside
from tests.server.wire import Wire

HOUR_MS = 3_600_000
_numbers = count()

Step = Callable[[int], None]


@pytest.fixture(scope="module")
def broker_properties() -> Mapping[str, str]:
    return {
        **GROUP_PROPERTIES,
        "offsets.topic.num.partitions": "1",  # one shard, so that one group's timers are in the way of another's
        "group.initial.rebalance.delay.ms": "50",
        "group.max.session.timeout.ms": str(HOUR_MS),
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": str(HOUR_MS),
        "offsets.retention.check.interval.ms": str(HOUR_MS),
    }


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch) -> Iterator[Step]:
    """Sets the wall clock of this process, its broker's included, ahead or back; at the end it is right again."""
    now_ms = SystemClock.now_ms
    ahead_ms = 0

    def set_ahead(step_ms: int) -> None:
        nonlocal ahead_ms
        ahead_ms += step_ms

    monkeypatch.setattr(SystemClock, "now_ms", lambda clock: now_ms(clock) + ahead_ms)
    yield set_ahead


@pytest.mark.parametrize("hours", [5, -5])
def test_groups_are_assigned_and_sessions_last(broker: Broker, wire: Wire, step: Step, hours: int) -> None:
    """The coordinator's timer was armed by the old time; that of a new group must not wait for it."""
    ready(wire, "steps")
    before = ClassicMember(wire, f"before-{next(_numbers)}")
    assert before.join(session_timeout_ms=HOUR_MS, rebalance_timeout_ms=HOUR_MS).error_code == ErrorCode.NONE
    assert before.sync(assignments={before.member_id: b"mine"}).error_code == ErrorCode.NONE
    epochs = _epochs(broker)

    step(hours * HOUR_MS)
    after = ClassicMember(wire, f"after-{next(_numbers)}")
    after.become_stable()  # within the bound of an answer; the timer that is armed is due in minutes

    assert before.heartbeat() == ErrorCode.NONE, "nobody's session ends"
    assert after.heartbeat() == ErrorCode.NONE
    assert _epochs(broker) == epochs, "nobody is elected, and the broker keeps its session"


def _epochs(broker: Broker) -> tuple[int, int]:
    """The leader epoch of the quorum, and the epoch that the broker is registered with."""
    controller = broker._running._controller
    assert controller is not None
    return controller.raft.leader_and_epoch.epoch, inside(broker, lambda server: server.lifecycle.broker_epoch)
