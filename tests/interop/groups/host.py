"""Processes that run members of groups, as tests see them."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.interop.groups.member_spec import MemberSpec, Partition
from tests.oracle import Oracle

JAVA_SOURCE = Path(__file__).parents[2] / "java" / "GroupMembers.java"
BOUND_S = 60
"""Nothing that a group does takes longer, on however busy a machine."""
_ROOT = Path(__file__).parents[3]

changed = threading.Condition()
"""Notified at every event of any member; what members know is read and written under it."""

Event = dict[str, Any]


@dataclass
class Member:
    """What is known of a member from its events."""

    name: str
    spec: MemberSpec
    host: "Host"
    events: list[Event] = field(default_factory=list)
    owned: set[Partition] = field(default_factory=set)
    processed: list[tuple[str, int, int]] = field(default_factory=list)
    generation: int = -1
    member_id: str = ""
    closed: bool = False

    def hear(self, event: Event) -> None:
        """Take an event in."""
        self.events.append(event)
        partitions = {(topic, partition) for topic, partition in event.get("partitions", ())}
        match event["event"]:
            case "assigned":
                self.owned |= partitions
            case "revoked" | "lost":
                self.owned -= partitions
            case "records":
                self.processed += [(topic, partition, offset) for topic, partition, offset in event["records"]]
            case "closed":
                self.closed = True
        if event.get("generation", -1) >= 0:
            self.generation, self.member_id = event["generation"], event["member_id"]

    def note(self, event: str) -> None:
        """Write down what the test did to the member."""
        self.hear({"event": event, "at_ns": time.monotonic_ns()})

    def stop_polling(self) -> None:
        """Let it go on living without polling, and wait till it does."""
        seen = len(self.events)
        self.host.command("stop_polling", self.name)
        await_until(lambda: "stalled" in self.kinds(seen), f"{self.name} polls no more", [self])

    def poll_again(self) -> None:
        """End `stop_polling`."""
        self.host.command("poll_again", self.name)

    def begin_to_leave(self) -> None:
        """Close the consumer, without waiting."""
        self.host.command("leave", self.name)

    def leave(self) -> None:
        """Close the consumer and wait."""
        self.begin_to_leave()
        await_until(lambda: self.closed, f"{self.name} has left", [self])

    def abandon(self) -> None:
        """Close the consumer without leaving the group (Java's only)."""
        self.host.command("abandon", self.name)
        await_until(lambda: self.closed, f"{self.name} is closed", [self])

    def crash(self) -> None:
        """Kill its process, and with it all members of that host."""
        self.host.kill()

    def status(self) -> tuple[int, str]:
        """Ask for generation and member id."""
        seen = len(self.events)
        self.host.command("status", self.name)
        await_until(lambda: any(event["event"] == "status" for event in self.events[seen:]), "status", [self])
        return self.generation, self.member_id

    def kinds(self, start: int = 0) -> list[str]:
        """The kinds of events since `start`."""
        return [event["event"] for event in self.events[start:]]

    def __str__(self) -> str:
        tail = [{key: value for key, value in event.items() if key != "records"} for event in self.events[-12:]]
        return (
            f"{self.name} ({self.spec.library} {self.spec.protocol}) owns {sorted(self.owned)}, processed "
            f"{len(self.processed)}\n    " + "\n    ".join(map(str, tail))
        )


class Host:
    """One process. `frozen` between freeze() and thaw(); gone after kill()."""

    def __init__(self, command: list[str]) -> None:
        self.members: dict[str, Member] = {}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=_ROOT, text=True, bufsize=1
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def join(self, name: str, bootstrap: str, spec: MemberSpec) -> Member:
        """Let a member join."""
        member = Member(name, spec, self)
        with changed:
            self.members[name] = member
        self._write({"command": "join", "member": name, "bootstrap": bootstrap, "spec": spec.to_json()})
        return member

    def command(self, command: str, member: str) -> None:
        """Tell a member what to do."""
        self._write({"command": command, "member": member})

    def freeze(self) -> None:
        """Stop the whole process: no polls, no heartbeats."""
        self._process.send_signal(signal.SIGSTOP)
        with changed:
            for member in self.members.values():
                member.note("stalled")

    def thaw(self) -> None:
        """End `freeze`."""
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()
        self._process.wait()
        self._reader.join(BOUND_S)
        with changed:
            for member in self.members.values():
                member.note("crashed")
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def _write(self, command: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event = json.loads(line)
            with changed:
                self.members[event["member"]].hear(event)
                changed.notify_all()


def python_host() -> Host:
    """A process of Python's."""
    return Host([sys.executable, "-m", "tests.interop.groups.member_host"])


def java_host(oracle: Oracle) -> Host:
    """A JVM. It does not warn: a broker that is away is what tests are about, and failures must stay readable."""
    return Host(oracle.source_command(JAVA_SOURCE, jvm_args=("-Xmx512m", "-Dottla.log.level=error")))


def await_until(
    predicate: Callable[[], bool], what: str, members: "list[Member] | None" = None, bound_s: float = BOUND_S
) -> None:
    """Wait for `predicate`, which is asked at each event; a member that fails ends the wait."""
    deadline = time.monotonic() + bound_s
    with changed:
        while not predicate():
            for member in members or ():
                assert member.host.alive or "crashed" in member.kinds(), f"the process of {member.name} ended"
                failures = [event for event in member.events if event["event"] == "failed"]
                assert not failures, f"{member.name} failed: {failures[0]['error']}"
            left = deadline - time.monotonic()
            if left <= 0:
                raise AssertionError("\n".join([f"not within {bound_s} s: {what}", *map(str, members or ())]))
            changed.wait(min(left, 1.0))
