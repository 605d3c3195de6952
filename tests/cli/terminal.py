"""The command as people and scripts run it: in a real pseudo-terminal, and through pipes."""

import fcntl
import io
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

from ottla.cli.main import main
from tests.readiness import readable

BOUND_S = 60
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07|[()][A-Z0-9])")


class Piped(NamedTuple):
    """What a command left behind whose output went into pipes."""

    code: int
    stdout: str
    stderr: str


class Screen(NamedTuple):
    """What a command left behind that ran in a terminal."""

    code: int
    raw: str

    @property
    def text(self) -> str:
        """What is to be read on the screen, without colours."""
        return _ESCAPES.sub("", self.raw).replace("\r\n", "\n").replace("\r", "\n")


def command(*arguments: str) -> list[str]:
    """The command line of ``ottla`` with these arguments."""
    return [sys.executable, "-m", "ottla", *arguments]


def run_piped(*arguments: str, stdin: str = "", environment: Mapping[str, str] | None = None) -> Piped:
    """Run ``ottla`` as a script does."""
    done = subprocess.run(
        command(*arguments),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
        env={**os.environ, **(environment or {})},
    )
    return Piped(done.returncode, done.stdout, done.stderr)


def run_inside(*arguments: str) -> Piped:
    """Run ``ottla`` in this process, which is quicker, with its output in strings."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(arguments)
    return Piped(code, out.getvalue(), err.getvalue())


def heed_ctrl_c() -> None:
    """Let SIGINT count in a process that is about to start: tests in the background of a shell ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _sit_down() -> None:
    """Make the terminal this process's own."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    heed_ctrl_c()


def run_in_terminal(
    *arguments: str,
    columns: int = 200,
    typed: Sequence[tuple[str, bytes]] = (),
    when: Callable[["subprocess.Popen[bytes]", str], None] | None = None,
    directory: Path | None = None,
    environment: Mapping[str, str] | None = None,
    bound_s: float = BOUND_S,
) -> Screen:
    """Run ``ottla`` as somebody at a terminal does: standard input, output and error are one pseudo-terminal.

    ``typed`` are pairs (what to wait for on the screen, what to type then). ``when`` is called with the process and the
    screen each time something new is on it.
    """
    controlling, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 60, columns, 0, 0))
    variables = {**os.environ, **(environment or {}), "TERM": "xterm-256color", "COLUMNS": str(columns)}
    variables.pop("NO_COLOR", None)
    process = subprocess.Popen(
        command(*arguments),
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=directory,
        env=variables,
        start_new_session=True,
        preexec_fn=_sit_down,
    )
    os.close(terminal)
    to_type = list(typed)
    seen = b""
    deadline = time.monotonic() + bound_s
    try:
        while True:
            if not readable([controlling], deadline - time.monotonic()):
                raise TimeoutError(f"the command did not end; the screen shows: {seen!r}")
            try:
                received = os.read(controlling, 1 << 16)
            except OSError:  # the last process has left the terminal
                break
            if not received:
                break
            seen += received
            while to_type and to_type[0][0] in Screen(0, seen.decode(errors="replace")).text:
                os.write(controlling, to_type.pop(0)[1])
            if when is not None:
                when(process, seen.decode(errors="replace"))
        return Screen(process.wait(BOUND_S), seen.decode())
    finally:
        os.close(controlling)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait()
