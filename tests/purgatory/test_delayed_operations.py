"""The contract of delayed operations and of the purgatory (seed 004), and its safety when its own callbacks call it."""

import pytest

from ottla.purgatory import purgatory as purgatory_module
from tests.purgatory.purgatory_story import Story, Waiting


def test_an_operation_completes_exactly_once() -> None:
    operation = Waiting()
    assert operation.force_complete()
    assert not operation.force_complete()
    operation.ready = True
    assert not operation.try_complete()
    operation.run()
    assert operation.calls == ["complete"]


def test_completing_from_within_on_complete_does_not_complete_twice() -> None:
    operation = Waiting()
    answers: list[bool] = []
    operation.then = lambda: answers.append(operation.force_complete())
    assert operation.force_complete()
    assert answers == [False]
    assert operation.calls == ["complete"]


def test_an_operation_that_can_complete_is_never_watched() -> None:
    story = Story()
    operation = Waiting(ready=True)
    assert story.purgatory.try_complete_else_watch(operation, ["a", "b"])
    assert operation.calls == ["complete"]
    assert (operation.tries, story.purgatory.watched, story.purgatory.num_delayed) == (1, 0, 0)


def test_an_operation_that_cannot_complete_watches_all_keys_and_waits() -> None:
    story = Story()
    operation = story.watch("a", "b")
    assert (operation.tries, story.purgatory.watched, story.purgatory.num_delayed) == (2, 2, 1)


def test_an_event_between_watching_and_the_second_try_is_not_missed() -> None:
    """The event comes after the first try and before any key is watched: the second try sees it."""
    story = Story()

    class Late(Waiting):
        __slots__ = ()

        def try_complete(self) -> bool:
            done = super().try_complete()
            self.ready = True
            return done

    operation = Late()
    assert story.purgatory.try_complete_else_watch(operation, ["a"])
    assert operation.calls == ["complete"]
    assert story.purgatory.num_delayed == 0  # no timeout was started


def test_an_event_in_the_second_try_finds_the_operation_on_every_list() -> None:
    story = Story()

    class Provoking(Waiting):
        __slots__ = ()

        def try_complete(self) -> bool:
            if self.tries == 1:
                self.tries += 1
                self.ready = True
                return story.purgatory.check_and_complete("b") > 5
            return super().try_complete()

    operation = Provoking()
    assert not story.purgatory.try_complete_else_watch(operation, ["a", "b"])  # completed, but not by this caller
    assert operation.calls == ["complete"]
    assert story.purgatory.num_delayed == 0


def test_check_and_complete_tries_only_the_watchers_of_its_key() -> None:
    story = Story()
    first, second, other = story.watch("a"), story.watch("a", "b"), story.watch("b")
    second.ready = True
    assert story.purgatory.check_and_complete("a") == 1
    assert (first.is_completed, second.is_completed) == (False, True)
    assert (first.tries, other.tries) == (3, 2)
    assert story.purgatory.check_and_complete("nobody") == 0
    assert story.purgatory.num_delayed == 2


def test_completed_entries_are_removed_on_the_walk_and_empty_keys_with_them() -> None:
    story = Story()
    operation = story.watch("a", "b")
    operation.ready = True
    story.purgatory.check_and_complete("a")
    assert (story.purgatory.watched, story.purgatory.watched_keys) == (1, 1)
    assert story.purgatory.check_and_complete("b") == 0  # found completed, swept
    assert (story.purgatory.watched, story.purgatory.watched_keys) == (0, 0)
    assert operation.tries == 3


def test_the_timeout_forces_completion_and_then_tells_of_expiration() -> None:
    story = Story()
    operation = story.watch("a", delay_ms=30)
    assert story.pass_ms(29) == 0
    assert story.pass_ms(1) == 1
    assert operation.calls == ["complete", "expire"]
    assert (story.purgatory.num_delayed, story.purgatory.expired) == (0, 1)
    assert story.pass_ms(5000) == 0


def test_completion_cancels_the_timeout() -> None:
    story = Story()
    operation = story.watch("a", delay_ms=30)
    operation.ready = True
    story.purgatory.check_and_complete("a")
    assert story.pass_ms(100) == 0
    assert operation.calls == ["complete"]
    assert story.purgatory.expired == 0


def test_an_operation_without_delay_expires_at_once() -> None:
    story = Story()
    operation = Waiting(0)
    assert not story.purgatory.try_complete_else_watch(operation, ["a"])
    assert operation.calls == ["complete", "expire"]
    assert story.purgatory.expired == 1


def test_no_key_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(AssertionError, match="can't be empty"):
        Story().purgatory.try_complete_else_watch(Waiting(), [])


def test_cancel_for_key_stops_watching_and_the_timeout_without_completing() -> None:
    story = Story()
    operation, done = story.watch("a", "b", delay_ms=10), story.watch("a", "c")
    done.force_complete()
    assert story.purgatory.cancel_for_key("a") == [operation]
    assert story.purgatory.cancel_for_key("a") == []
    story.pass_ms(1000)
    assert operation.calls == []
    operation.ready = True
    assert story.purgatory.check_and_complete("a") == 0
    assert story.purgatory.check_and_complete("b") == 1


def test_a_purge_removes_orphans_when_the_interval_is_exceeded_and_not_before() -> None:
    story = Story(purge_interval=2)
    for _ in range(2):
        story.watch("a", "b").force_complete()
    story.pass_ms(1)
    assert story.purgatory.watched == 4
    living = story.watch("b", "c")
    story.watch("a", "b").force_complete()
    assert story.purgatory.next_deadline_ms() == 0
    story.pass_ms(1)
    assert (story.purgatory.watched, story.purgatory.watched_keys) == (2, 2)
    assert not living.is_completed
    assert story.purgatory.next_deadline_ms() != 0


def test_purge_interval_zero_purges_after_each_completion() -> None:
    story = Story(purge_interval=0)
    operation = story.watch("a", "b")
    story.pass_ms(1)
    assert story.purgatory.watched == 2
    operation.ready = True
    story.woken.clear()
    story.purgatory.check_and_complete("a")
    assert story.woken == [0]  # the driver comes at once, not at the next timeout
    story.pass_ms(0)
    assert story.purgatory.watched == 0


def test_a_purge_takes_one_shard_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purgatory_module, "PURGE_SHARD_ENTRIES", 10)
    story = Story(purge_interval=0)
    for key in range(35):
        story.watch(str(key)).force_complete()
    left = []
    while story.purgatory.next_deadline_ms() == 0:
        story.pass_ms(0)
        left.append(story.purgatory.watched)
    assert left[:4] == [25, 15, 5, 0]


def test_operations_may_come_and_go_between_the_shards_of_a_purge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purgatory_module, "PURGE_SHARD_ENTRIES", 1)
    story = Story(purge_interval=0)
    for key in "abc":
        story.watch(key, delay_ms=10_000).force_complete()
    story.pass_ms(0)
    story.purgatory.cancel_for_key("b")
    living = story.watch("c", "d", delay_ms=10_000)
    while story.purgatory.next_deadline_ms() == 0:
        story.pass_ms(0)
    assert story.purgatory.watched == 2
    living.ready = True
    assert story.purgatory.check_and_complete("d") == 1


def test_on_complete_may_check_the_same_key() -> None:
    story = Story()
    operations = [story.watch("a") for _ in range(4)]
    for operation in operations:
        operation.ready = True
        operation.then = lambda: story.purgatory.check_and_complete("a")
    assert story.purgatory.check_and_complete("a") == 1  # the inner calls completed the others
    assert [operation.calls for operation in operations] == [["complete"]] * 4
    assert (story.purgatory.watched, story.purgatory.num_delayed) == (0, 0)


def test_on_complete_may_watch_the_same_key_again() -> None:
    story = Story()
    successors: list[Waiting] = []
    operation, bystander = story.watch("a"), story.watch("a")
    operation.then = lambda: successors.append(story.watch("a"))
    operation.ready = True
    assert story.purgatory.check_and_complete("a") == 1
    assert (story.purgatory.watched, story.purgatory.num_delayed) == (2, 2)
    bystander.ready = successors[0].ready = True
    assert story.purgatory.check_and_complete("a") == 2


def test_on_complete_may_watch_a_key_whose_list_is_being_emptied() -> None:
    """The inner sweep removes the key, the new operation makes a new list: the outer sweep leaves that one alone."""
    story = Story()
    successors: list[Waiting] = []
    first, second = story.watch("a"), story.watch("a")
    first.ready = second.ready = True

    def check_and_watch() -> None:
        story.purgatory.check_and_complete("a")
        successors.append(story.watch("a"))

    first.then = check_and_watch
    story.purgatory.check_and_complete("a")
    assert second.is_completed
    successors[0].ready = True
    assert story.purgatory.check_and_complete("a") == 1


def test_a_sweep_within_the_walk_makes_it_skip_nobody() -> None:
    story = Story()
    first, second = story.watch("a"), story.watch("a")
    first.ready = True

    def sweep_and_release() -> None:
        assert story.purgatory.check_and_complete("a") == 0
        second.ready = True

    first.then = sweep_and_release
    assert story.purgatory.check_and_complete("a") == 2


def test_on_complete_may_cancel_its_key() -> None:
    story = Story()
    operation, bystander = story.watch("a"), story.watch("a")
    operation.ready = bystander.ready = True
    operation.then = lambda: story.purgatory.cancel_for_key("a")
    assert story.purgatory.check_and_complete("a") == 1
    assert not bystander.is_completed
    assert story.purgatory.num_delayed == 0


def test_an_expiration_may_complete_another_that_is_due_in_the_same_turn() -> None:
    story = Story()
    first, second = story.watch("a", delay_ms=10), story.watch("a", delay_ms=10)
    second.ready = True
    first.then = lambda: story.purgatory.check_and_complete("a")
    assert story.pass_ms(10) == 1
    assert (first.calls, second.calls) == (["complete", "expire"], ["complete"])


def test_an_expiration_may_watch_anew_and_advance() -> None:
    story = Story()
    successors: list[Waiting] = []
    first, second = story.watch("a", delay_ms=10), story.watch("a", delay_ms=10)

    def again() -> None:
        successors.append(story.watch("a", delay_ms=10))
        story.purgatory.advance(story.clock.now_ms)

    first.then = again
    story.pass_ms(10)
    assert second.calls == ["complete", "expire"]
    assert not successors[0].is_completed
    story.pass_ms(10)
    assert successors[0].calls == ["complete", "expire"]
    assert story.purgatory.expired == 3
