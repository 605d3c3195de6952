"""Memory in turn."""

from hypothesis import given
from hypothesis import strategies as st

from ottla.clients.producer.buffer_pool import BufferPool, MemoryWaiter

happenings = st.lists(
    st.tuples(st.sampled_from(["try", "wait", "release", "cancel"]), st.integers(1, 100)), max_size=100
)


@given(happenings)
def test_nobody_overtakes_nothing_is_lost_and_the_bound_holds(history: list[tuple[str, int]]) -> None:
    pool = BufferPool(100)
    taken: list[int] = []
    waiting: list[MemoryWaiter] = []
    for what, size in history:
        if what in ("try", "wait"):
            if pool.try_take(size):
                assert not waiting
                taken.append(size)
            elif what == "wait":
                waiting.append(pool.wait(size, lambda: None))
        elif what == "release" and taken:
            pool.release(taken.pop(size % len(taken)))
        elif what == "cancel" and waiting:
            pool.cancel(waiting.pop(size % len(waiting)))
        while waiting and waiting[0].is_granted:
            taken.append(waiting.pop(0).size_bytes)
        assert not any(waiter.is_granted for waiter in waiting), "in the order of asking"
        assert pool.available_bytes == 100 - sum(taken) >= 0
        assert pool.waiting_count == len(waiting)
        assert not waiting or waiting[0].size_bytes > pool.available_bytes, "nobody waits for what is there"


def test_memory_that_was_granted_and_not_wanted_goes_to_the_next() -> None:
    pool = BufferPool(10)
    assert pool.try_take(10)
    granted: list[str] = []
    first = pool.wait(10, lambda: granted.append("first"))
    pool.wait(10, lambda: granted.append("second"))
    pool.release(10)
    assert granted == ["first"]
    pool.cancel(first)
    assert granted == ["first", "second"]
    assert pool.available_bytes == 0
