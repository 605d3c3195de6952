"""A command that waits for brokers that are down says so after a moment: once, and on standard error."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ottla.testing import Broker
from tests.cli.terminal import command, heed_ctrl_c, run_in_terminal, run_inside
from tests.readiness import readable

BOUND_S = 60
NOBODY = "localhost:1"
LINES = {
    "topics": ["--list"],
    "console-consumer": ["--topic", "t"],
    "console-producer": ["--topic", "t"],
    "cat": ["-C", "-t", "t"],
    "producer-perf-test": ["--topic", "t", "--num-records", "1", "--throughput", "1", "--record-size", "1"],
    "e2e-latency": ["--topic", "t", "--num-records", "1", "--producer-acks", "1", "--record-size", "1"],
}
NOTICE = re.compile(rb"^% Connection to node localhost:1 .* Connection refused; trying for 5\d s more$", re.MULTILINE)


@contextmanager
def running(*arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A command of ours, ended in any case."""
    process = subprocess.Popen(
        command(*arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=heed_ctrl_c,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def read_until(process: "subprocess.Popen[bytes]", stream: int, text: bytes) -> bytes:
    """What comes up to the text."""
    seen = b""
    while re.search(text, seen, re.MULTILINE) is None:
        assert readable([stream], BOUND_S), seen
        more = os.read(stream, 1 << 16)
        assert more, (seen, process.wait())
        seen += more
    return seen


@pytest.mark.parametrize("name", LINES)
def test_what_was_refused_is_said_once(name: str) -> None:
    with running(name, *LINES[name], "-b" if name == "cat" else "--bootstrap-server", NOBODY) as process:
        assert process.stderr is not None
        seen = read_until(process, process.stderr.fileno(), NOTICE.pattern)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=BOUND_S)
        assert process.returncode == 130
    assert len(NOTICE.findall(seen + err)) == 1
    assert b"Connection" not in out


def test_in_a_terminal_it_stands_above_the_bar() -> None:
    screen = run_in_terminal("topics", "--list", "--bootstrap-server", NOBODY, typed=[("s more", b"\x03")])
    assert screen.code == 130
    assert NOTICE.search(screen.text.encode()) is not None, screen.text


def test_brokers_that_go_and_come_again() -> None:
    """A consumer that runs does not end, and says why nothing comes."""
    with Broker() as broker:
        server = ("--bootstrap-server", broker.bootstrap_servers)

        def send(text: str) -> None:
            sent = run_inside("verifiable-producer", "--topic", "t", "--max-messages", "1", "--value-prefix", text,
                              *server)  # fmt: skip
            assert '"acked":1' in sent.stdout

        send("1")
        with running("console-consumer", "--topic", "t", "--from-beginning", *server) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            read_until(process, process.stdout.fileno(), rb"^1\.0$")
            broker.kill()
            read_until(process, process.stderr.fileno(), rb"^% .*; trying until somebody answers$")
            broker.start()
            read_until(process, process.stderr.fileno(), rb"^% The cluster answers$")
            send("2")
            read_until(process, process.stdout.fileno(), rb"^2\.0$")
