"""Running the commands that get the oracle, and the one error that says it cannot be had."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

Say = Callable[[str], None]
"""Tells whoever waits what takes so long."""


class OracleUnavailableError(Exception):
    """Java or Apache Kafka's jars are not here and could not be fetched; the message says what was tried."""


def run_or_unavailable(command: Sequence[str], *, timeout_s: float, env: Mapping[str, str] | None = None) -> str:
    """Run `command` and return its stdout; OracleUnavailableError with the end of its output when it fails."""
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=timeout_s,
            env={**os.environ, **(env or {})},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise OracleUnavailableError(f"{Path(command[0]).name}: {error}") from error
    if done.returncode != 0:
        tail = "\n".join(done.stdout.strip().splitlines()[-8:])
        raise OracleUnavailableError(f"{' '.join(command[:4])} … ended with {done.returncode}:\n{tail}")
    return done.stdout


def pip(*arguments: str, timeout_s: float = 900) -> None:
    """Run this interpreter's pip with the user's own pip settings."""
    run_or_unavailable([sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments], timeout_s=timeout_s)
