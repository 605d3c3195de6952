"""The rounds that end offsets and groups which nobody has needed for long."""

from ottla.config.sections import GroupCoordinatorConfig
from ottla.coordinator.timers import Timers
from ottla.group.expiration import OFFSETS_PER_SLICE, TIMER_KEY, GroupExpiration
from tests.group.offsets_world import RETENTION_MS, OffsetsWorld, commit_request

INTERVAL_MS = RETENTION_MS // 2


class _Rounds:
    """A world whose timers are run."""

    def __init__(self) -> None:
        self.world = OffsetsWorld()
        self.monotonic_ms = 0
        self.timers = Timers(lambda: self.monotonic_ms)
        self.expiration = GroupExpiration(
            config=GroupCoordinatorConfig(offsets_retention_check_interval_ms=INTERVAL_MS),
            timers=self.timers,
            groups=self.world.groups,
            offsets=self.world.manager.offsets,
            removal=self.world.removal,
        )

    def commit(self, group_id: str, partition: int) -> None:
        self.world.write(self.world.manager.commit_offset(commit_request(group_id, "t", partition), 10, 0))

    def run_until(self, now_ms: int) -> list[int]:
        """How many records each slice up to a time has written; no slice runs in the turn of the one before."""
        written = []
        while (deadline_ms := self.timers.next_deadline_ms) is not None and deadline_ms <= now_ms:
            self.monotonic_ms = deadline_ms
            due = self.timers.pop_due(deadline_ms)
            assert due is not None
            result = due[1](deadline_ms)
            assert not result.is_atomic
            assert self.timers.pop_due(deadline_ms) is None
            self.world.write(result)
            written.append(len(result.records))
        return written


def test_a_round_begins_at_every_interval() -> None:
    rounds = _Rounds()
    rounds.commit("g", 0)
    rounds.expiration.start()
    assert rounds.run_until(INTERVAL_MS - 1) == []
    assert rounds.run_until(INTERVAL_MS) == [0]
    assert rounds.run_until(INTERVAL_MS * 3) == [2, 0]
    assert not rounds.world.groups.groups


def test_a_round_comes_in_slices() -> None:
    rounds = _Rounds()
    num_partitions = OFFSETS_PER_SLICE // 4
    for group in range(10):
        for partition in range(num_partitions):
            rounds.commit(f"g{group}", partition)
    rounds.monotonic_ms = INTERVAL_MS
    rounds.expiration.start()
    a_group = num_partitions + 1
    assert rounds.run_until(INTERVAL_MS * 2 + 10) == [4 * a_group, 4 * a_group, 2 * a_group]
    assert not rounds.world.committed()
    assert rounds.timers.is_scheduled(TIMER_KEY)


def test_groups_may_come_and_go_during_a_round() -> None:
    rounds = _Rounds()
    for group in range(3):
        for partition in range(OFFSETS_PER_SLICE):
            rounds.commit(f"g{group}", partition)
    rounds.monotonic_ms = RETENTION_MS
    first = rounds.expiration.cleanup_group_metadata(RETENTION_MS)
    rounds.world.write(first)
    assert sorted(rounds.world.groups.groups) == ["g0", "g1"]
    rounds.world.delete_group("g0")
    rounds.commit("new", 0)
    rounds.run_until(RETENTION_MS + 10)
    assert list(rounds.world.groups.groups) == ["new"]


def test_nothing_happens_after_the_end() -> None:
    rounds = _Rounds()
    rounds.expiration.start()
    rounds.expiration.stop()
    assert not rounds.timers.is_scheduled(TIMER_KEY)
