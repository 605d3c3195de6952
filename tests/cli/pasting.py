"""Lines that a command prints to be pasted, run by a shell as they are printed, in another directory."""

import os
import re
import shlex
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.readiness import readable

BOUND_S = 300
_HINT = re.compile(r"  (?P<name>\w[\w ]{7}|  {7}) {2}(?P<line>\S.*)")


def hints(screen: str) -> dict[str, list[str]]:
    """The lines that are offered, by the word before the first of them."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in screen.splitlines():
        if match := _HINT.fullmatch(line):
            name = match["name"].strip() or name
            found.setdefault(name, []).append(match["line"])
    return found


def decoy(directory: Path) -> str:
    """A PATH on which ``ottla`` and ``python`` are somebody else's."""
    directory.mkdir()
    for name in ("ottla", "python", "python3"):
        program(directory / name, f"echo 'another {name}'; exit 9")
    return f"{directory}{os.pathsep}{os.environ['PATH']}"


def program(path: Path, *lines: str) -> None:
    """An executable script."""
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)


def calls(command: Sequence[str]) -> str:
    """A script's line that runs a command with the script's arguments."""
    return f'exec {shlex.join(command)} "$@"'


def paste(line: str, directory: Path, path: str, until: str | None = None) -> str:
    """Run a line until it ends, or with ``until`` until its output has that, and then Ctrl-C; returns the output.

    A line that ends by itself has to say that it worked.
    """
    shell = subprocess.Popen(
        ["/bin/bash", "-c", line],
        cwd=directory,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert shell.stdout is not None
    said = b""
    try:
        while until is None or re.search(until, said.decode(errors="replace")) is None:
            assert readable([shell.stdout.fileno()], BOUND_S), f"{line}: after {BOUND_S} s it says {said!r}"
            more = os.read(shell.stdout.fileno(), 1 << 16)
            if not more:
                assert until is None, f"{line}: it ended and says {said!r}"
                break
            said += more
        if until is None:
            assert shell.wait(BOUND_S) == 0, f"{line}: {said!r}"
    finally:
        if shell.poll() is None:
            os.killpg(shell.pid, signal.SIGKILL)
        shell.wait(BOUND_S)
        shell.stdout.close()
    return said.decode()
