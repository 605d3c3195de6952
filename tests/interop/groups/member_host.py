"""A process that runs members of groups with Python's libraries: commands come in by lines of JSON, events go out.

Commands: {"command": "join", "member", "bootstrap", "spec"}, and "stop_polling", "poll_again", "status", "leave" of a
"member". Events: {"member", "event", "at_ns", …} with at_ns of the machine's monotonic clock: assigned, revoked, lost
(partitions, generation, member_id), records, refused (a commit), error, status, stalled, leaving, closed, failed.
tests/java/GroupMembers.java does the same with Apache's consumer. At the end of the input the process ends, and nobody
leaves a group.
"""

import importlib
import json
import logging
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

from tests.interop.groups.member_spec import CommitRefusedError, GroupConsumer, MemberSpec, Partition

_ADAPTERS = {
    "confluent": ("confluent_member", "ConfluentMember"),
    "kafka-python": ("kafka_python_member", "KafkaPythonMember"),
    "aiokafka": ("aiokafka_member", "AiokafkaMember"),
}
_output = threading.Lock()


class Member(threading.Thread):
    """One consumer in a thread of its own; see member_spec.Listener."""

    def __init__(self, name: str, bootstrap: str, spec: MemberSpec) -> None:
        super().__init__(name=name, daemon=True)
        self.commands: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._servers = bootstrap
        self._spec = spec
        self._consumer: GroupConsumer | None = None
        self._positions: dict[Partition, int] = {}  # read and not committed
        self._polling = True
        self._closing = False

    def run(self) -> None:
        """Until it is told to leave."""
        try:
            module, name = _ADAPTERS[self._spec.library]
            adapter = getattr(importlib.import_module(f"tests.interop.groups.{module}"), name)
            self._consumer = adapter(self._servers, self._spec, self)
            self._serve(self._consumer)
        except BaseException:  # noqa: BLE001 # the test has to hear of it
            self._tell("failed", error=traceback.format_exc())

    def _serve(self, consumer: GroupConsumer) -> None:
        while not self._closing:
            while not self.commands.empty():
                self._obey(consumer, self.commands.get())
            if not self._polling:
                consumer.idle()
                continue
            if records := consumer.poll():
                for topic, partition, offset in records:
                    self._positions[topic, partition] = offset + 1
                self._tell("records", records=records)
            if offsets := self.uncommitted():
                try:
                    consumer.commit(offsets)
                    self.committed(offsets)
                except CommitRefusedError as error:
                    self.refused(error)
        self._tell("leaving")
        consumer.close()
        self._tell("closed")

    def _obey(self, consumer: GroupConsumer, command: str) -> None:
        if command == "stop_polling":
            self._polling = False
            self._tell("stalled")
        elif command == "poll_again":
            self._polling = True
        elif command == "leave":
            self._closing = True
        elif command == "status":
            self._tell_with_membership("status")
        else:
            raise AssertionError(command)

    def uncommitted(self) -> dict[Partition, int]:
        return dict(self._positions)

    def committed(self, offsets: Mapping[Partition, int]) -> None:
        for partition, offset in offsets.items():
            if self._positions.get(partition) == offset:
                del self._positions[partition]

    def refused(self, error: Exception) -> None:
        self._tell("refused", error=str(error))

    def assigned(self, partitions: Sequence[Partition]) -> None:
        self._tell_with_membership("assigned", partitions=list(partitions))

    def revoked(self, partitions: Sequence[Partition]) -> None:
        self._give_up(partitions)
        self._tell_with_membership("revoked", partitions=list(partitions))

    def lost(self, partitions: Sequence[Partition]) -> None:
        self._give_up(partitions)
        self._tell_with_membership("lost", partitions=list(partitions))

    def error(self, text: str) -> None:
        self._tell("error", error=text)

    def _give_up(self, partitions: Sequence[Partition]) -> None:
        for topic, partition in partitions:
            self._positions.pop((topic, partition), None)

    def _tell_with_membership(self, event: str, **details: Any) -> None:
        generation, member_id = (-1, "") if self._consumer is None else self._consumer.membership()
        self._tell(event, generation=generation, member_id=member_id, **details)

    def _tell(self, event: str, **details: Any) -> None:
        line = json.dumps({"member": self.name, "event": event, "at_ns": time.monotonic_ns(), **details})
        with _output:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()


def main() -> None:
    """Obey until the input ends."""
    logging.disable(logging.CRITICAL)  # what matters comes as an event
    members: dict[str, Member] = {}
    for line in sys.stdin:
        command = json.loads(line)
        name = command["member"]
        if command["command"] == "join":
            members[name] = Member(name, command["bootstrap"], MemberSpec.from_json(command["spec"]))
            members[name].start()
        else:
            members[name].commands.put(command["command"])
    os._exit(0)  # without the goodbyes that libraries say at exit


if __name__ == "__main__":
    main()
