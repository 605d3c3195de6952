"""A node as a process: how it starts, stops, comes back, and what it says when it cannot."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from ottla.protocol.messages.init_producer_id import InitProducerIdRequest
from ottla.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from ottla.records.builder import SimpleRecord, build_batch
from ottla.server.broker_lifecycle import BrokerState
from ottla.server.broker_server import BrokerServer
from ottla.testing import Broker
from tests.apache.properties import free_ports, server_properties
from tests.node import CLUSTER_ID
from tests.ottla_broker import OttlaBroker
from tests.server.inside import metric
from tests.server.records_on_wire import append, append_batch_on, read_values
from tests.server.wire import BOUND_S, Wire, create_topic, eventually

OTHER_CLUSTER_ID = "b3R0bGEtb3JhY2xlLTAwMg"


@pytest.fixture
def node(tmp_path: Path) -> Iterator[OttlaBroker]:
    """A node that is not started yet."""
    found = OttlaBroker(tmp_path / "node", {})
    yield found
    found.kill()


def run(*arguments: str, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """A command that ends by itself."""
    command = [sys.executable, "-m", "ottla", *arguments]
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=BOUND_S, check=False, cwd=cwd
    )


def write_properties(path: Path, **changes: str) -> Path:
    settings = {**server_properties(path.parent / "data", free_ports())}
    settings |= {key.replace("_", "."): value for key, value in changes.items()}
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return path


def clean_marker(node: OttlaBroker) -> Path:
    return node.log_dir / ".kafka_cleanshutdown"


# -- stop and come back -----------------------------------------------------------------------------------------------


def test_the_states_of_a_broker_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[BrokerState] = []

    def set_state(server: BrokerServer, state: BrokerState) -> None:
        if not seen or seen[-1] is not state:
            seen.append(state)
        server.state = state

    monkeypatch.setattr(BrokerServer, "_set_state", set_state)
    with Broker() as broker:
        assert metric(broker, "kafka_server_kafkaserver_brokerstate") == BrokerState.RUNNING
    expected = ["STARTING", "RECOVERY", "RUNNING", "PENDING_CONTROLLED_SHUTDOWN", "SHUTTING_DOWN", "NOT_RUNNING"]
    assert [state.name for state in seen] == expected


def test_a_controlled_shutdown_leaves_nothing_to_recover(node: OttlaBroker) -> None:
    node.start()
    create_topic(node.bootstrap, "t")
    append(node.bootstrap, "t", b"one", b"two")
    process = node._running()
    node.stop()
    assert process.returncode == 0
    marker = json.loads(clean_marker(node).read_text())
    assert marker["version"] == 0
    assert marker["brokerEpoch"] > 0
    log = node.log_lines()
    node.start()
    started = node.log_lines()[len(log) :]
    assert any("since clean shutdown file was found" in line for line in started)
    recovered = [line for line in started if "Recovering" in line]
    assert all("__cluster_metadata" in line for line in recovered), "whose log has no mark of its own"
    assert not clean_marker(node).exists(), "it is for one start"
    assert read_values(node.bootstrap, "t") == [b"one", b"two"]


def test_a_killed_node_is_back_at_once(node: OttlaBroker) -> None:
    """Not after its session's nine seconds: docs/decisions/0014."""
    node.start()
    create_topic(node.bootstrap, "t", partitions=3)
    append(node.bootstrap, "t", b"one", b"two")
    node.kill()
    assert not clean_marker(node).exists()
    log = node.log_lines()
    node.start()
    started = node.log_lines()[len(log) :]
    assert any("since no clean shutdown file was found" in line for line in started)
    assert not any("DUPLICATE_BROKER_REGISTRATION" in line for line in started), "refused until a session ends"
    assert read_values(node.bootstrap, "t") == [b"one", b"two"]
    append(node.bootstrap, "t", b"three")
    assert read_values(node.bootstrap, "t") == [b"one", b"two", b"three"]


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_a_retry_of_each_of_five_batches_gets_its_first_answer(node: OttlaBroker, end: str) -> None:
    """Though a snapshot has the last one only: docs/decisions/0020."""
    node.start()
    create_topic(node.bootstrap, "t")
    with Wire(node.bootstrap) as wire:
        producer_id = wire.ask(InitProducerIdRequest(transactional_id=None), 4).producer_id
        sent = [
            build_batch(
                [SimpleRecord(int(time.time() * 1000), None, b"%d" % number)] * 2,
                producer_id=producer_id,
                producer_epoch=0,
                base_sequence=2 * number,
            )
            for number in range(6)
        ]
        for number, batch in enumerate(sent[:-1]):
            assert append_batch_on(wire, "t", batch) == 2 * number
    (node.kill if end == "kill" else node.stop)()
    node.start()
    with Wire(node.bootstrap) as wire:
        assert [append_batch_on(wire, "t", batch) for batch in sent] == [0, 2, 4, 6, 8, 10]
    assert read_values(node.bootstrap, "t") == [b"%d" % (number // 2) for number in range(12)]


def test_whoever_is_let_in_finds_the_broker(node: OttlaBroker) -> None:
    """Clients that come before it is unfenced would find no broker at all; librdkafka then forgets the one it knows."""
    node.start()
    create_topic(node.bootstrap, "t", partitions=3)
    for _ in range(3):
        node.kill()
        node.spawn()
        with first_connection(node) as wire:
            answer = wire.ask(MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 12)
        assert [broker.node_id for broker in answer.brokers] == [1]
        assert [partition.leader_id for partition in answer.topics[0].partitions] == [1, 1, 1]


def first_connection(node: OttlaBroker) -> Wire:
    """The first that the node takes."""
    for _ in eventually():
        with suppress(ConnectionRefusedError):
            return Wire(node.bootstrap)
    raise AssertionError


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_both_signals_stop_it(node: OttlaBroker, signal_number: int) -> None:
    node.start()
    process = node._running()
    process.send_signal(signal_number)
    assert process.wait(BOUND_S) == 0
    assert clean_marker(node).exists()


# -- what it says when it cannot start --------------------------------------------------------------------------------


def test_one_node_a_directory(node: OttlaBroker, tmp_path: Path) -> None:
    node.start()
    other = write_properties(tmp_path / "other.properties", log_dirs=str(node.log_dir))
    done = run("server", str(other))
    assert done.returncode == 1
    assert "Failed to acquire lock on file .lock in" in done.stderr
    assert str(node.log_dir) in done.stderr
    append_and_check(node)


def append_and_check(node: OttlaBroker) -> None:
    create_topic(node.bootstrap, "undisturbed")
    append(node.bootstrap, "undisturbed", b"one")
    assert read_values(node.bootstrap, "undisturbed") == [b"one"]


def last_line(done: "subprocess.CompletedProcess[str]") -> str:
    assert done.returncode == 1
    line = done.stderr.strip().splitlines()[-1]
    assert line.startswith("ottla server: "), done.stderr
    return line


def test_a_directory_that_is_not_formatted(tmp_path: Path) -> None:
    line = last_line(run("server", str(write_properties(tmp_path / "server.properties"))))
    assert "No `meta.properties` found in" in line
    assert "ottla storage format" in line


def formatted(path: Path) -> Path:
    done = run("storage", "format", "--config", str(path), "--cluster-id", CLUSTER_ID, "--standalone")
    assert done.returncode == 0, done.stderr
    return path


def test_another_node_id(tmp_path: Path) -> None:
    path = formatted(write_properties(tmp_path / "server.properties"))
    line = last_line(run("server", str(path), "--override", "node.id=2"))
    assert "node" in line
    assert "2" in line


def test_another_cluster_id_in_one_of_two_directories(tmp_path: Path) -> None:
    directories = f"{tmp_path / 'a'},{tmp_path / 'b'}"
    path = formatted(write_properties(tmp_path / "server.properties", log_dirs=directories))
    meta = tmp_path / "b" / "meta.properties"
    meta.write_text(meta.read_text().replace(CLUSTER_ID, OTHER_CLUSTER_ID))
    line = last_line(run("server", str(path)))
    assert OTHER_CLUSTER_ID in line
    assert str(tmp_path / "b") in line


@pytest.mark.parametrize(
    ("override", "word"),
    [
        ("num.partitions=many", "num.partitions"),
        ("num.partitions", "key=value"),
        ("process.roles=broker", "broker role"),
        ("listeners=nonsense", "Unable to parse a listener name from nonsense"),
    ],
)
def test_a_bad_configuration(tmp_path: Path, override: str, word: str) -> None:
    path = write_properties(tmp_path / "server.properties")
    assert word in last_line(run("server", str(path), "--override", override))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "nowhere.properties" in last_line(run("server", str(tmp_path / "nowhere.properties")))


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    path = formatted(write_properties(tmp_path / "server.properties"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        listeners = f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:0"
        assert str(port) in last_line(run("server", str(path), "--override", listeners))


# -- without a file ---------------------------------------------------------------------------------------------------


def test_without_a_file_it_formats_and_runs(tmp_path: Path) -> None:
    ports = free_ports()
    listeners = f"PLAINTEXT://127.0.0.1:{ports.broker},CONTROLLER://127.0.0.1:{ports.controller}"
    overrides = ["--override", f"listeners={listeners}", "--override", "num.partitions=5"]
    first = start_in(tmp_path, overrides)
    assert any("Formatting" in line for line in first)
    assert (tmp_path / "ottla-data" / "meta.properties").exists()
    second = start_in(tmp_path, overrides)
    assert not any("Formatting" in line for line in second), "once"
    assert any(f"127.0.0.1:{ports.broker}" in line for line in second)


def start_in(directory: Path, overrides: Sequence[str]) -> list[str]:
    """Run `ottla server` until it is ready; returns what it wrote to its standard output."""
    command = [sys.executable, "-m", "ottla", "server", *overrides]
    output = directory / "output"
    with output.open("wb") as stream:
        process = subprocess.Popen(command, cwd=directory, stdout=stream, stderr=subprocess.DEVNULL)
    try:
        for _ in eventually():
            lines = output.read_text().splitlines()
            if any("Ottla is ready" in line for line in lines):
                break
            assert process.poll() is None
            time.sleep(0.02)
        (ready,) = [line for line in lines if "Ottla is ready" in line]
        address = ready.rpartition(" on ")[2]
        with Wire(address):
            pass
        process.send_signal(signal.SIGTERM)
        assert process.wait(BOUND_S) == 0
    finally:
        process.kill()
        process.wait()
    return lines
