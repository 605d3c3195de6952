"""Signals as requests to stop."""

import os
import signal
import threading
import time

import pytest

from ottla.spark.pipeline.stop_request import StopRequest


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_wait_and_handlers_are_given_back(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with StopRequest() as stop:
        assert not stop.wait(0.001)
        threading.Timer(0.05, os.kill, (os.getpid(), number)).start()
        assert stop.wait(60)
        assert stop.is_set
        assert stop.exit_code == 128 + number
    assert signal.getsignal(number) is before


def test_a_second_interrupt_is_an_order() -> None:
    with StopRequest() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.wait(60)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)
        os.kill(os.getpid(), signal.SIGTERM)  # asks for what is under way
        assert stop.exit_code == 130


def test_a_signal_that_does_not_interrupt_the_wait_ends_it_all_the_same() -> None:
    """As one that comes between the last look at signals and the wait; here another thread takes it."""
    main_thread, in_time = threading.main_thread().ident, threading.Event()
    assert main_thread is not None
    rescued = []

    def interrupt() -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        if not in_time.wait(20):
            rescued.append(True)
            signal.pthread_kill(main_thread, signal.SIGINT)

    with StopRequest() as stop:
        other = threading.Timer(0.05, interrupt)
        other.start()
        assert stop.wait(60)
        in_time.set()
        other.join()
        assert not rescued


def test_other_signals_do_not_end_a_wait_and_do_not_make_the_next_one_short() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, _frame: seen.append(number))
    try:
        with StopRequest() as stop:
            for _ in range(3):
                os.kill(os.getpid(), signal.SIGUSR1)
            assert not stop.wait(0.001)
            assert seen == [signal.SIGUSR1] * 3
            assert stop._readable.poll(0) == [], "what woke it was taken"
            assert not stop.wait(0.001)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_signals_at_any_moment_of_a_wait_never_hang_it() -> None:
    for delay_us in range(300):
        with StopRequest() as stop:
            before = signal.signal(signal.SIGALRM, lambda number, frame: stop._asked(number, frame))
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0005)
                deadline = time.monotonic() + 60
                while not stop.wait(0.000001 * delay_us):
                    assert time.monotonic() < deadline
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, before)
