"""The pure parts of receiving: frames, the memory pool, the mute states, idle connections, thread counts."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.common.errors import InvalidConfigError
from ottla.network.config import SocketServerConfig, validate_thread_count
from ottla.network.frames import MIN_GROWTH_BYTES, FrameBuffer, InvalidReceiveError
from ottla.network.idle_expiry import IdleExpiryManager
from ottla.network.memory_pool import MemoryPool, NoMemoryPool
from ottla.network.mute_state import TRANSITIONS, MuteEvent, MuteState, after, mute, unmute
from ottla.network.network_metrics import IDLE_WINDOW_NS, IdleRatio


@given(st.lists(st.binary(max_size=40), max_size=12), st.data())
def test_frames_come_out_however_the_bytes_come_in(payloads: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(struct.pack(">i", len(payload)) + payload for payload in payloads)
    frames = FrameBuffer(100)
    out: list[bytes] = []
    position = 0
    while position < len(stream):
        count = data.draw(st.integers(1, len(stream) - position))
        received = memoryview(stream)[position : position + count]
        if data.draw(st.booleans()):
            frames.append(received)
        elif (frame := frames.feed(received)) is not None:
            out.append(bytes(frame))
        assert len(frames._buffer) <= frames.buffered_bytes + 44 * len(payloads)
        position += count
        while (size := frames.size()) >= 0:
            assert frames.missing(size) <= 0 or not frames.has_frame()
            frame = frames.take(size)
            if frame is None:
                assert not frames.has_frame()
                break
            out.append(bytes(frame))
    assert out == payloads
    assert frames.buffered_bytes == 0


def test_a_stream_that_never_stops_in_between_does_not_pile_up() -> None:
    frames = FrameBuffer(100)
    for _ in range(1000):
        frames.append(memoryview(b"\0\0\0\5abcde\0\0"))
        assert frames.take(frames.size()) is not None
        frames.append(memoryview(b"\0\5abcde\0\0\0\5a"))
        assert frames.take(frames.size()) is not None
        frames.append(memoryview(b"bcde"))
        assert frames.take(frames.size()) is not None
        assert len(frames._buffer) < 50
        frames.append(memoryview(b"\0\0\0"))
        frames.append(memoryview(b"\1a\0"))
        assert bytes(frames.take(frames.size()) or b"") == b"a"
        frames.append(memoryview(b"\0\0\0"))
        empty = frames.take(frames.size())
        assert empty is not None
        assert len(empty) == 0


def test_a_taken_frame_is_nobody_elses() -> None:
    frames = FrameBuffer(100)
    frames.append(memoryview(b"\0\0\0\2ab\0\0\0\2cd"))
    first = frames.take(2)
    assert first is not None
    first[:] = b"XY"
    assert bytes(frames.take(2) or b"") == b"cd"
    frames.append(memoryview(b"\0\0\0\2ef"))
    assert bytes(first) == b"XY"


@pytest.mark.parametrize("size", [-1, -(2**31), 101, 2**31 - 1])
def test_absurd_sizes(size: int) -> None:
    frames = FrameBuffer(100)
    frames.append(memoryview(struct.pack(">i", size)))
    assert frames.has_frame(), "somebody must look at it"
    with pytest.raises(InvalidReceiveError, match=str(size)):
        frames.size()


def test_a_large_frame_is_received_in_place_and_grows_by_doubling() -> None:
    size = 10 * MIN_GROWTH_BYTES
    frames = FrameBuffer(size)
    frames.append(memoryview(struct.pack(">i", size) + b"x" * 100))
    received = 104
    windows = []
    while received < size + 4:
        with frames.window(size) as window:
            windows.append(len(window))
            assert len(window) <= max(received, MIN_GROWTH_BYTES)
            count = len(window)
            window[:] = b"y" * count
        frames.filled(count)
        received += count
    frame = frames.take(size)
    assert frame is not None
    assert bytes(frame) == b"x" * 100 + b"y" * (size - 100)
    assert len(windows) < 8


def test_a_frame_that_may_be_believed_has_one_window() -> None:
    size = 300_000
    frames = FrameBuffer(1 << 20, at_once_bytes=size)
    frames.append(memoryview(struct.pack(">i", size) + b"x" * 100))
    with frames.window(size) as window:
        assert len(window) == size - 100
        window[:] = b"y" * len(window)
    frames.filled(size - 100)
    assert bytes(frames.take(size) or b"") == b"x" * 100 + b"y" * (size - 100)


def test_a_frame_beyond_belief_gets_memory_as_it_arrives() -> None:
    frames = FrameBuffer(1 << 20, at_once_bytes=100_000)
    frames.append(memoryview(struct.pack(">i", 300_000) + b"x" * 100))
    with frames.window(300_000) as window:
        assert len(window) == MIN_GROWTH_BYTES


@pytest.mark.parametrize("at_once_bytes", [0, 1 << 20])
def test_a_window_behind_other_frames(at_once_bytes: int) -> None:
    frames = FrameBuffer(1 << 20, at_once_bytes)
    frames.append(memoryview(b"\0\0\0\1a" + struct.pack(">i", 200_000) + b"bb"))
    assert bytes(frames.take(1) or b"") == b"a"
    assert frames.missing(200_000) == 199_998
    with frames.window(200_000) as window:
        window[:3] = b"ccc"
    frames.filled(3)
    assert frames.missing(200_000) == 199_995
    frames.clear()
    assert frames.size() == -1


def test_the_pool_is_not_strict() -> None:
    """As Apache's: any free byte lets one request in, so that a large one is not starved."""
    pool = MemoryPool(100)
    assert pool.try_allocate(99, 1)
    assert pool.is_low()
    assert not pool.is_out_of_memory()
    assert pool.try_allocate(500, 2)
    assert (pool.available_bytes, pool.used_bytes) == (-499, 599)
    assert pool.is_out_of_memory()
    assert not pool.try_allocate(1, 10)
    assert not pool.try_allocate(1, 20)
    pool.release(500, 30)
    assert pool.depleted_time_ns == 20, "from the first refusal on"
    assert pool.try_allocate(1, 40)
    with pytest.raises(AssertionError):
        pool.release(1000, 50)


def test_without_a_limit_there_is_always_memory() -> None:
    pool = NoMemoryPool()
    assert pool.try_allocate(1 << 40, 0)
    assert not pool.is_low()
    assert not pool.is_out_of_memory()
    pool.release(1 << 40, 0)


def test_the_mute_states_are_apaches() -> None:
    """Every event in every state: the six transitions of KafkaChannel.handleChannelMuteEvent, and no others."""
    legal = 0
    for state in MuteState:
        for event in MuteEvent:
            if (state, event) in TRANSITIONS:
                assert after(state, event) is TRANSITIONS[state, event]
                legal += 1
            else:
                with pytest.raises(AssertionError, match="cannot transition"):
                    after(state, event)
    assert legal == 6
    for state in MuteState:
        assert mute(state) is (MuteState.MUTED if state is MuteState.NOT_MUTED else state)
        assert unmute(state) is (MuteState.NOT_MUTED if state is MuteState.MUTED else state)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 50)), max_size=40), st.integers(0, 60))
def test_idle_expiry_against_a_model(events: list[tuple[int, int]], max_idle_ms: int) -> None:
    manager: IdleExpiryManager[int] = IdleExpiryManager(max_idle_ms)
    last: dict[int, int] = {}
    now_ms = 0
    for connection, passed_ms in events:
        now_ms += passed_ms
        while (expired := manager.poll_expired(now_ms)) is not None:
            assert now_ms - last[expired] > max_idle_ms
            assert last[expired] == min(last.values())
            del last[expired]
        assert all(now_ms - active <= max_idle_ms for active in last.values())
        manager.touch(connection, now_ms)
        last[connection] = now_ms
        assert len(manager) == len(last)
    if last:
        oldest = manager.least_recently_used()
        assert oldest is not None
        assert last[oldest] == min(last.values())
        assert manager.next_expiry_ms() == last[oldest] + max_idle_ms
        manager.remove(oldest)
        assert len(manager) == len(last) - 1


@pytest.mark.parametrize(
    ("new", "current", "allowed"),
    [
        (3, 3, True),
        (6, 3, True),
        (7, 3, False),
        (1, 3, True),
        (4, 8, True),
        (3, 8, False),
        (0, 1, False),
        (16, 8, True),
    ],
)
def test_dynamic_thread_counts_are_clamped(new: int, current: int, allowed: bool) -> None:
    """Seed 004, gotcha: not below half and not beyond double in one step."""
    if allowed:
        validate_thread_count("num.network.threads", new, current)
    else:
        with pytest.raises(InvalidConfigError, match="Dynamic thread count update validation failed"):
            validate_thread_count("num.network.threads", new, current)


def test_network_threads_are_per_listener() -> None:
    """Seed 004, gotcha: num.network.threads counts for each listener."""
    config = SocketServerConfig(num_network_threads=4)
    assert config.network_threads("ANY") == 4


def test_the_idle_ratio_looks_back_one_to_two_windows() -> None:
    second = 1_000_000_000
    ratio = IdleRatio(0)
    assert ratio.read(0, 0) == 1.0
    assert ratio.read(second // 2, second) == 0.5
    assert ratio.read(second // 2, IDLE_WINDOW_NS) == pytest.approx(1 - 0.5 / 30)
    assert ratio.read(second // 2 + 15 * second, 2 * IDLE_WINDOW_NS) == pytest.approx(0.5)
    assert ratio.read(10**18, 2 * IDLE_WINDOW_NS + 1) == 0.0
