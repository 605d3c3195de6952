"""Our commands that read standard input or print for long, beside Apache's tools, each in a process of its own."""

import os
import signal
import subprocess
import time
from collections.abc import Callable

from tests.apache.jvm import Finished
from tests.cli.terminal import BOUND_S, Piped, command, heed_ctrl_c, run_piped
from tests.oracle import Oracle

_TOOLS = "org.apache.kafka.tools"
TOOLS = {
    "console-producer": f"{_TOOLS}.ConsoleProducer",
    "console-consumer": f"{_TOOLS}.consumer.ConsoleConsumer",
    "producer-perf-test": f"{_TOOLS}.ProducerPerformance",
    "consumer-perf-test": f"{_TOOLS}.ConsumerPerformance",
    "e2e-latency": f"{_TOOLS}.EndToEndLatency",
    "verifiable-producer": f"{_TOOLS}.VerifiableProducer",
    "verifiable-consumer": f"{_TOOLS}.VerifiableConsumer",
}


class Streams:
    """Runs our command and Apache's tool of that name against one cluster."""

    def __init__(self, bootstrap: str, oracle: Oracle) -> None:
        self.bootstrap = bootstrap
        self._oracle = oracle

    def ours(self, name: str, *arguments: str, stdin: str = "") -> Piped:
        """Our command, through pipes."""
        return run_piped(name, "--bootstrap-server", self.bootstrap, *arguments, stdin=stdin)

    def theirs(self, name: str, *arguments: str, stdin: str = "") -> Finished:
        """Apache's tool, in a JVM of its own: most keep what they did in statics."""
        server = ("--bootstrap-server", self.bootstrap)
        return self._oracle.run(TOOLS[name], *server, *arguments, stdin=stdin, fresh=True)

    def both(self, name: str, *arguments: str, stdin: str = "") -> tuple[Piped, Finished]:
        """The same to both, which have to end with the same code."""
        ours, theirs = self.ours(name, *arguments, stdin=stdin), self.theirs(name, *arguments, stdin=stdin)
        assert ours.code == theirs.returncode, f"ours {ours}\n\ntheirs {theirs}"
        return ours, theirs

    def refused(self, text: str, name: str, *arguments: str) -> None:
        """Both refuse a line with the same code and for the same reason; ours in one line."""
        ours, theirs = self.both(name, *arguments)
        assert ours.code == 1
        assert text in " ".join((theirs.stdout + theirs.stderr).split()), theirs
        assert ours.stderr.startswith(f"ottla {name}: "), ours
        assert ours.stderr.count("\n") == 1, ours
        assert text in ours.stderr


def signalled(
    *arguments: str,
    number: signal.Signals,
    after: Callable[[str], bool],
    stdin: str = "",
    prepare: Callable[[], object] = heed_ctrl_c,
) -> Piped:
    """Run our command, and send it a signal when it has printed what ``after`` waits for.

    Its standard input has ``stdin``, and no end. ``prepare`` runs in the process before the command.
    """
    process = subprocess.Popen(
        command(*arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=prepare,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(stdin.encode())
    process.stdin.flush()
    os.set_blocking(process.stdout.fileno(), False)
    seen = b""
    deadline = time.monotonic() + BOUND_S
    try:
        while not after(seen.decode()):
            assert time.monotonic() < deadline, f"it printed only {seen!r}"
            assert process.poll() is None, process.stderr.read()
            seen += process.stdout.read() or b""
            time.sleep(0.01)
        process.send_signal(number)
        os.set_blocking(process.stdout.fileno(), True)
        rest, errors = process.communicate(timeout=BOUND_S)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    return Piped(process.returncode, (seen + rest).decode(), errors.decode())
