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


def test_signals_at_any_moment_of_a_wait_never_hang_it() -> None:
    for delay_us in range(300):
        with StopRequest() as stop:
            signal.setitimer(signal.ITIMER_REAL, 0.0005)
            before = signal.signal(signal.SIGALRM, lambda number, frame: stop._asked(number, frame))
            try:
                deadline = time.monotonic() + 60
                while not stop.wait(0.000001 * delay_us):
                    assert time.monotonic() < deadline
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, before)
