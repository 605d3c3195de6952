"""Groups on one data directory that Ottla and Apache Kafka serve in turn, while members of the groups live on.

At the start of each turn the groups and their offsets are what they were at the end of the last one, whoever served;
members that were there go on without a rebalance. With OTTLA_APACHE_HALF=1 Apache also takes all turns.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.apache.properties import free_ports
from tests.interop.groups.conftest import PROPERTIES
from tests.interop.groups.crew import Crew, Hosts, assert_never_shared, await_processed, await_shared
from tests.interop.groups.group_admin import Described, GroupAdmin
from tests.interop.groups.kinds import (
    ALL,
    CONFLUENT_CONSUMER,
    CONFLUENT_RANGE,
    JAVA_UNIFORM,
    member,
)
from tests.interop.groups.member_spec import Partition
from tests.node import Node
from tests.oracle import Oracle
from tests.ottla_broker import OttlaBroker

RELAYS = {
    "ottla": [("ottla", "stop"), ("apache", "stop"), ("ottla", "kill"), ("apache", "kill")],
    "apache": [("apache", "kill"), ("ottla", "kill"), ("apache", "stop"), ("ottla", "stop")],
}
LIVING = [CONFLUENT_RANGE, CONFLUENT_CONSUMER, JAVA_UNIFORM]
SESSION_MS = 60_000
"""Members of the living groups outlive every change of the broker."""
COMPLAINT = re.compile(r"^\[[^]]*\] (WARN|ERROR|FATAL) .*(oordinator|consumer_offsets)")
RECORD = re.compile(r'^\| offset: \d+ .* key: \{"type":"(\d+)"')
KEY_TYPES = {"1": "OffsetCommit", "2": "GroupMetadata"} | dict.fromkeys("35678", "ConsumerGroup…")


class Seen(NamedTuple):
    """What clients see of groups."""

    groups: dict[str, tuple[str, str]]
    described: dict[str, Described]
    offsets: dict[str, dict[Partition, tuple[int, str | None]]]


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """In memory where the machine has such."""
    if not Path("/dev/shm").is_dir():
        yield tmp_path
        return
    path = Path(tempfile.mkdtemp(prefix="ottla-groups-directory-", dir="/dev/shm"))
    yield path
    shutil.rmtree(path)


@pytest.mark.parametrize("relay", RELAYS if ALL else ["ottla"])
@pytest.mark.parametrize("alone", [False, True] if ALL else [False], ids=lambda alone: "apache" if alone else "both")
def test_groups_on_one_directory(oracle: Oracle, hosts: Hosts, directory: Path, relay: str, alone: bool) -> None:
    ports = free_ports()
    before: Seen | None = None
    ends: dict[Partition, int] = {}
    marks: dict[str, int] = {}
    with Crew(f"127.0.0.1:{ports.broker}", hosts) as crew:
        for number, (name, end) in enumerate(RELAYS[relay]):
            player = "apache" if alone else name
            place = f"turn {number} of {relay}, {player}'s"
            node: Node
            if player == "apache":
                node = oracle.broker(directory, PROPERTIES, ports)
            else:
                node = OttlaBroker(directory, PROPERTIES, ports)
            with node:
                admin = GroupAdmin(node.bootstrap)
                admin.ends = ends
                if before is None:
                    settle(crew, admin)
                else:
                    admin = admin.anew(before.groups)
                    assert look(admin) == before, place
                work(crew, admin, number, marks)
                before, ends = look(admin), admin.ends
                marks = {each.name: len(each.events) for each in crew.members}
                getattr(node, end)()
            if player == "apache":
                found = [line for line in node.log_lines() if COMPLAINT.search(line)]
                assert not found, "\n".join([place, *found])
            node.server_log.unlink()
            assert_dumps(oracle, node, place)


def settle(crew: Crew, admin: GroupAdmin) -> None:
    """Topics, and the groups that live through all turns."""
    partitions = admin.create_topic("topic", 3)
    admin.create_topic("doomed", 1)
    for kind in LIVING:
        group = f"living-{kind}"
        admin.set_group_config(group, {"consumer.session.timeout.ms": str(SESSION_MS)})
        spec = member(kind, "topic", group, session_timeout_ms=SESSION_MS)
        await_shared([crew.join(spec), crew.join(spec)], partitions)


def work(crew: Crew, admin: GroupAdmin, number: int, marks: dict[str, int]) -> None:
    """The living groups read on; others come and go, are deleted, or are nothing but offsets.

    Since the events at `marks` nobody of the living has lost or got a partition.
    """
    partitions = [partition for partition in admin.ends if partition[0] == "topic"]
    admin.produce(partitions)
    ends = {partition: admin.ends[partition] for partition in partitions}
    living = [each for each in crew.members if each.spec.group.startswith("living-")]
    for kind in LIVING:
        pair = [each for each in living if each.spec.group == f"living-{kind}"]
        await_processed(pair, ends)
        await_shared(pair, partitions)
        assert_never_shared(pair)
        if number > 0:
            assert all(set(each.kinds(marks[each.name])) <= {"records", "status", "refused"} for each in pair), pair
    for kind in (CONFLUENT_RANGE, CONFLUENT_CONSUMER):
        again = crew.join(member(kind, "topic", f"again-{kind}"))
        own = crew.join(member(kind, "topic", f"turn-{number}-{kind}"))
        await_processed([again, *(each for each in crew.members if each.spec.group == again.spec.group)], ends)
        await_processed([own], ends)
        again.leave()
        own.leave()
    admin.alter_offsets(f"only-offsets-{number}", {partitions[0]: number, ("doomed", 0): 1})
    admin.alter_offsets("changed", {partitions[1]: 100 + number})
    admin.alter_offsets("deleted", {partitions[1]: 100 + number})
    admin.delete_group("deleted")
    if number == 1:
        admin.delete_topic("doomed")
    for kind in LIVING:
        admin.await_described(f"living-{kind}", lambda each: each.state == "STABLE", "stable")
        await_offsets(admin, f"living-{kind}", ends)


def await_offsets(admin: GroupAdmin, group: str, ends: dict[Partition, int]) -> None:
    everything = admin.ends
    admin.ends = ends
    admin.await_committed(group)
    admin.ends = everything


def look(admin: GroupAdmin) -> Seen:
    groups = admin.groups()
    return Seen(
        groups,
        {group: admin.describe(group) for group in groups},
        {group: admin.committed_with_metadata(group) for group in groups},
    )


def assert_dumps(oracle: Oracle, node: Node, place: str) -> None:
    """Apache's DumpLogSegments reads every record, and finds records of both protocols."""
    files = sorted(node.log_dir.glob("__consumer_offsets-*/*.log"))
    dumped = oracle.run(
        "org.apache.kafka.tools.DumpLogSegments", "--files", ",".join(map(str, files)), "--offsets-decoder"
    )
    assert dumped.returncode == 0, (place, dumped.stderr)
    lines = [line for line in dumped.stdout.splitlines() if line.startswith("| offset:") and "isControl" not in line]
    types = {found[1] for line in lines if (found := RECORD.search(line)) is not None}
    assert types == set(KEY_TYPES), place
    unread = [line for line in lines if RECORD.search(line) is None or " payload: " not in line]
    assert not unread, (place, unread[:3])
