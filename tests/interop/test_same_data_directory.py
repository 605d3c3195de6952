"""One data directory, served in turn by Ottla and by Apache Kafka.

Each turn starts a node on what the last one left, sees what was there, works on, looks again and ends, by SIGTERM or by
SIGKILL. What clients see (ids, partitions, configs, offsets, records) has to be the same on both sides of every turn.
With OTTLA_APACHE_HALF=1 Apache also takes all turns, which shows that the story asks for nothing but Kafka.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.apache import driver
from tests.apache.driver import ConsumedRecord
from tests.apache.properties import Ports, free_ports, static_voters
from tests.node import Node
from tests.oracle import Oracle
from tests.ottla_broker import OttlaBroker

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PROPERTIES = {
    "log.retention.check.interval.ms": "3600000",
    "log.segment.delete.delay.ms": "100",
    "metadata.log.max.record.bytes.between.snapshots": "2000",  # so that each reads the other's snapshots, too
    "broker.heartbeat.interval.ms": "200",
    "broker.session.timeout.ms": "1000",
}
ISOLATIONS = ("read_uncommitted", "read_committed")
COMPLAINT = re.compile(
    r"^\[[^]]*\] (ERROR|FATAL) "
    r"|^\[[^]]*\] WARN .*\((kafka\.log|org\.apache\.kafka\.(storage|raft|image|metadata|controller))"
)
NOT_A_COMPLAINT = (  # Apache says these about its own directories as well
    "Performing controller activation.",
    "to exist, but it was missing. Creating...",  # of a partition that was added
    "Exceptionally slow controller event",  # the machine was busy
    "Non-monotonic update of high watermark",  # after a kill, where records were deleted
)


class Turn(NamedTuple):
    """Whose turn it is, and how it ends."""

    player: str
    end: str


@dataclass(frozen=True)
class Seen:
    """What clients see of a cluster."""

    cluster: dict[str, Any]
    features: dict[str, Any]
    topics: dict[str, dict[str, Any]]
    configs: dict[str, dict[str, str]]
    offsets: dict[str, list[tuple[int, int]]]
    records: dict[tuple[str, int, str], list[ConsumedRecord]]


RELAYS = {
    # Ottla's own cluster: it restarts on it, Apache goes on with it, Ottla takes what Apache left.
    "ottla-standalone": [
        ("ottla", "stop"),
        ("ottla", "kill"),
        ("apache", "stop"),
        ("ottla", "stop"),
        ("apache", "kill"),
    ],
    # Clusters that Apache's tool has formatted.
    "apache-standalone": [("ottla", "kill"), ("apache", "kill"), ("ottla", "stop")],
    "apache-static": [("apache", "stop"), ("ottla", "stop"), ("apache", "stop"), ("ottla", "kill")],
}
ALONE = os.environ.get("OTTLA_APACHE_HALF") == "1"


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """In memory where the machine has such."""
    if not Path("/dev/shm").is_dir():
        yield tmp_path
        return
    path = Path(tempfile.mkdtemp(prefix="ottla-directory-", dir="/dev/shm"))
    yield path
    shutil.rmtree(path)


@pytest.mark.parametrize("relay", RELAYS)
@pytest.mark.parametrize("alone", [False, True] if ALONE else [False], ids=lambda alone: "apache" if alone else "both")
def test_a_relay_on_one_directory(oracle: Oracle, directory: Path, relay: str, alone: bool) -> None:
    ports = free_ports()
    formatter, voters = relay.split("-")
    properties = PROPERTIES | (static_voters(ports) if voters == "static" else {})
    node("apache" if alone else formatter, oracle, directory, properties, ports).format()
    before: Seen | None = None
    for number, (name, end) in enumerate(RELAYS[relay]):
        turn = Turn("apache" if alone else name, end)
        place = f"turn {number} of {relay}, {turn.player}'s"
        with node(turn.player, oracle, directory, properties, ports) as broker:
            if before is not None:
                assert_same(look(oracle, broker), before, place)
            work(oracle, broker, number)
            before = look(oracle, broker)
            getattr(broker, turn.end)()
        if turn.player == "apache":
            found = complaints(broker)
            assert not found, "\n".join([place, *found])
        broker.server_log.unlink()
        assert_dumps(oracle, broker, place)
    assert_producer_ids_differ(oracle, broker, turns=len(RELAYS[relay]))


def node(player: str, oracle: Oracle, directory: Path, properties: dict[str, str], ports: Ports) -> Node:
    if player == "apache":
        return oracle.broker(directory, properties, ports)
    return OttlaBroker(directory, properties, ports)


def work(oracle: Oracle, broker: Node, number: int) -> None:
    """Write to old topics and new ones, change configs, delete records and topics."""
    own, doomed, again = f"turn-{number}", f"doomed-{number}", "again"
    operations = []
    if number == 0:
        operations += [driver.create_topic("kept", 2, {"retention.ms": "-1", "segment.bytes": "1048576"})]
        operations += [driver.create_topic("compacted", 1, {"cleanup.policy": "compact", "segment.ms": "3600000"})]
    else:
        operations += [driver.delete_topic(again), driver.create_partitions("kept", number + 2)]
    operations += [
        driver.create_topic(again),  # the name lives on, the topic does not
        driver.create_topic(own, 2, {"max.message.bytes": str(100_000 + number), "compression.type": "producer"}),
        driver.create_topic(doomed),
        driver.alter_configs("kept", ("SET", "retention.bytes", str(10**9 + number)), ("SET", "flush.ms", "5000")),
        driver.alter_configs("kept", ("DELETE", "flush.ms", "")),
        driver.alter_configs("", ("SET", "log.retention.ms", str(10**9 + number)), resource_type="BROKER"),
    ]
    for codec in CODECS:
        producer = f"{codec}-{number}"
        operations += [driver.open_producer(producer, compression=codec, idempotent=codec in ("none", "lz4"))]
        for topic, partition in (("kept", number % 2), (own, 0), ("compacted", 0), (doomed, 0)):
            key = b"%d" % number
            headers = (("turn", b"%d" % number), ("none", None))
            operations += [driver.send(producer, topic, codec.encode(), key=key, headers=headers, partition=partition)]
            operations += [driver.send(producer, topic, b"x" * 500, key=codec.encode(), partition=partition)]
        operations += [driver.flush(producer), driver.close_producer(producer)]
    operations += [
        driver.delete_records("kept", 3 * (number + 1), number % 2) if number < 2 else driver.delete_records(own, 4),
        driver.delete_topic(doomed),
    ]
    answers = driver.drive(oracle, broker.bootstrap, operations)
    assert all(all(offset >= 0 for offset in answer.get("offsets", ())) for answer in answers)


def look(oracle: Oracle, broker: Node) -> Seen:
    """Ask everything, with Apache's clients."""

    def ask(*operations: driver.Operation) -> list[dict[str, Any]]:
        return driver.drive(oracle, broker.bootstrap, operations)

    cluster, features, listed, of_broker = ask(
        driver.describe_cluster(),
        driver.describe_features(),
        driver.list_topics(),
        driver.describe_configs("1", "BROKER"),
    )
    names = listed["topics"]
    topics = dict(zip(names, ask(*map(driver.describe_topic, names)), strict=True))
    configs = dict(zip(names, map(altered, ask(*map(driver.describe_configs, names))), strict=True))
    partitions = [(name, each["partition"]) for name in names for each in topics[name]["partitions"]]
    specs = ("earliest", "latest", "max_timestamp")
    offsets = ask(*(driver.list_offset(name, spec, index) for name, index in partitions for spec in specs))
    found = [(answer["offset"], answer["timestamp"]) for answer in offsets]
    reads = [(name, index, isolation) for name, index in partitions for isolation in ISOLATIONS]
    answers = ask(*(driver.consume(name, index, isolation=isolation) for name, index, isolation in reads))
    return Seen(
        cluster,
        features,
        topics,
        configs | {"broker": altered(of_broker)},
        {
            f"{name}-{index}": found[number * len(specs) : (number + 1) * len(specs)]
            for number, (name, index) in enumerate(partitions)
        },
        dict(zip(reads, map(driver.consumed, answers), strict=True)),
    )


def altered(configs: dict[str, Any]) -> dict[str, str]:
    """What was set, and not what follows from defaults and server.properties."""
    return {key: entry["value"] for key, entry in configs.items() if entry["source"].startswith("DYNAMIC")}


def assert_same(after: Seen, before: Seen, place: str) -> None:
    for part in Seen.__dataclass_fields__:
        assert getattr(after, part) == getattr(before, part), f"{part} at the start of {place}"


def complaints(broker: Node) -> list[str]:
    """What Apache's broker did not like about what it found."""
    return [
        line
        for line in broker.log_lines()
        if COMPLAINT.search(line) and not any(text in line for text in NOT_A_COMPLAINT)
    ]


def assert_dumps(oracle: Oracle, broker: Node, place: str) -> None:
    """Apache's DumpLogSegments reads all of the metadata log."""
    directory = broker.log_dir / "__cluster_metadata-0"
    files = [path for path in directory.iterdir() if path.suffix in (".log", ".checkpoint")]
    assert any(path.suffix == ".checkpoint" and int(path.name.partition("-")[0]) > 0 for path in files), place
    dumped = oracle.dump_log(files, deep=False, extra=["--cluster-metadata-decoder"])
    assert dumped.complaints == [], place


def assert_producer_ids_differ(oracle: Oracle, broker: Node, turns: int) -> None:
    """No turn gave out a producer id that another had given."""
    batches = [
        batch
        for partition in broker.log_dir.glob("turn-*-0")
        for batch in oracle.dump_directory(partition).batches
        if batch.producer_id >= 0
    ]
    assert len({batch.producer_id for batch in batches}) == len(batches) >= turns
