"""A node that may have so many open files and no more, and a look at how many it has."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ottla.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from ottla.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.ottla_broker import OttlaBroker
from tests.server.wire import BOUND_S, Wire

_TOPIC_PARTITIONS = 250
FAILURES = ("is offline", "Stopping serving logs", "Traceback", "Unexpected error")


class LimitedBroker(OttlaBroker):
    """`ulimit -n` goes before the server; ``open_files`` may be changed between a stop and a start."""

    def __init__(self, directory: Path, properties: Mapping[str, str], open_files: int) -> None:
        super().__init__(directory, properties)
        self.open_files = open_files

    def command(self, properties: Path) -> list[str]:
        return ["sh", "-c", f'ulimit -n {self.open_files}; exec "$@"', "sh", *super().command(properties)]

    def descriptors(self) -> int:
        """How many it has open now."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def failures(self) -> list[str]:
        """Lines of its log that tell of a disk or a broker that failed."""
        return [line for line in self.log_lines() if any(word in line for word in FAILURES)]

    def run_to_its_end(self) -> "subprocess.CompletedProcess[str]":
        """A start that fails."""
        command = self.command(self.write_properties())
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=BOUND_S,
            check=False,
            env=self.environment(),
        )


def try_to_create(wire: Wire, name: str, partitions: int, configs: Sequence[tuple[str, str]] = ()) -> Any:
    """Ask for a topic; returns the answer for it."""
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs],
    )
    (result,) = wire.ask(CreateTopicsRequest(topics=[topic], timeout_ms=BOUND_S * 1000), 7).topics
    return result


def create_many(wire: Wire, partitions: int) -> list[str]:
    """Topics with so many partitions altogether; returns their names."""
    names: list[str] = []
    while partitions:
        count = min(partitions, _TOPIC_PARTITIONS)
        names.append(f"many-{len(names)}")
        result = try_to_create(wire, names[-1], count)
        assert result.error_code == 0, result.error_message
        partitions -= count
    return names


def delete(wire: Wire, name: str) -> int:
    """Delete a topic; returns the error code."""
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=BOUND_S * 1000)
    (result,) = wire.ask(request, 6).responses
    code: int = result.error_code
    return code


def topic_error(wire: Wire, name: str) -> int:
    """What the metadata says of a topic."""
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
    (found,) = wire.ask(request, 12).topics
    code: int = found.error_code
    return code
