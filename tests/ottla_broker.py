"""Ottla's server in a process of its own, as a user runs it."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.apache.properties import Ports
from tests.node import Node

FORMAT_BOUND_S = 30
_SESSION = "broker.session.timeout.ms"


class OttlaBroker(Node):
    """`python -m ottla server server.properties`; its standard output and error are in `server_log`."""

    ready_text = "Ottla is ready"

    def __init__(self, directory: Path, properties: Mapping[str, str], ports: Ports | None = None) -> None:
        is_alone = "," not in properties.get("controller.quorum.voters", "")
        if is_alone and _SESSION in properties:
            # Apache's lets a killed broker in again when its session is over, so tests shorten that. Ours knows by
            # its lock that the last one is gone, and must not be fenced because the machine was busy for a second.
            properties = {**properties, _SESSION: "30000"}
        super().__init__(directory, properties, ports)

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
