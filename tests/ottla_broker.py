"""Ottla's server in a process of its own, as a user runs it."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.node import Node

FORMAT_BOUND_S = 30


class OttlaBroker(Node):
    """`python -m ottla server server.properties`; its standard output and error are in `server_log`."""

    ready_text = "Ottla is ready"

    def command(self, properties: Path) -> list[str]:
        """Run the server from this interpreter's environment."""
        return [sys.executable, "-m", "ottla", "server", str(properties)]

    def format_storage(self, arguments: Sequence[str]) -> None:
        """Run Ottla's own storage tool."""
        command = [sys.executable, "-m", "ottla", "storage", "format", *arguments]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=FORMAT_BOUND_S, check=False
        )
        assert done.returncode == 0, f"formatting failed:\n{done.stdout}\n{done.stderr}"

    def environment(self) -> dict[str, str]:
        """Return this process's environment, but let Python keep its byte code as an installed package's is kept."""
        return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
