"""``ottla server`` as somebody runs it who has read nothing: no file, no format, one command; and what it takes."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from ottla.cli.server_properties import DEFAULTS
from ottla.cli.service_notice import READY, tell_service_manager
from ottla.config.broker_keys import BROKER_CONFIG
from tests.apache.properties import free_port, free_ports
from tests.cli.terminal import run_piped
from tests.node import CLUSTER_ID

BOUND_S = 30


@contextmanager
def running(directory: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> Iterator[list[str]]:
    """A server of its own; gives what it says, up to where clients are served, and with hints up to their last line."""
    command = [sys.executable, "-m", "ottla", "server", "--log-level", "WARNING", *arguments]
    process = subprocess.Popen(
        command, cwd=directory, stdout=subprocess.PIPE, text=True, env=None if environment is None else {**environment}
    )
    assert process.stdout is not None
    last = "Ottla is ready" if "--environment" in arguments or arguments[0].endswith(".properties") else "  stop  "
    try:
        lines: list[str] = []
        while not lines or not lines[-1].startswith(last):
            line = process.stdout.readline()
            assert line, f"the server ended after saying {lines}"
            lines.append(line.rstrip("\n"))
        yield lines
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(BOUND_S) == 0
        process.stdout.close()


def listeners() -> tuple[str, str]:
    ports = free_ports()
    address = f"localhost:{ports.broker}"
    return f"PLAINTEXT://{address},CONTROLLER://localhost:{ports.controller}", address


def _two_ports() -> int:
    """A free port whose next one is free, too."""
    while True:
        port = free_port()
        with suppress(OSError, OverflowError):
            free_port(port + 1)
            return port


def test_the_first_lines_say_how_to_use_it(tmp_path: Path) -> None:
    where, address = listeners()
    for start in range(2):
        with running(tmp_path, "--override", f"listeners={where}") as lines:
            ready = next(number for number, line in enumerate(lines) if line.startswith("Ottla is ready"))
            assert (ready == 0) == (start > 0), "only the first start has a directory to format"
            assert lines[ready].endswith(f"on {address}")
            hints = lines[ready + 1 :]
            assert [line.split()[0] for line in hints if not line.startswith(" " * 12)] == [
                "produce",
                "consume",
                "look",
                "others",
                "stop",
            ]
            assert all(address in line for line in hints[:-1])
            assert hints[-1].endswith(f"{tmp_path}/ottla-data")
            _produce_and_consume(address, b"%d" % start, start)


def test_another_port(tmp_path: Path) -> None:
    """Also for a directory that was formatted with other ports."""
    with running(tmp_path, "--override", f"listeners={listeners()[0]}"):
        pass
    port = _two_ports()
    with running(tmp_path, "--port", str(port)) as lines:
        assert lines[0].endswith(f"on localhost:{port}")
        _produce_and_consume(f"localhost:{port}", b"0", 0)
        with socket.create_connection(("localhost", port + 1)):
            pass
        taken = run_piped("server", "--port", str(port), "--override", f"log.dirs={tmp_path}/other")
    assert taken.code == 1
    assert re.fullmatch(
        rf"ottla server: Socket server failed to bind to localhost:({port}|{port + 1}): Address already in use; give "
        "the node another port with --port, or stop what listens there",
        taken.stderr.splitlines()[-1],
    )


def test_a_listener_on_all_interfaces_is_told_by_the_machines_name(tmp_path: Path) -> None:
    """As Apache's node tells it: an address without a host is nowhere."""
    ports = free_ports()
    with running(
        tmp_path, "--override", f"listeners=PLAINTEXT://:{ports.broker},CONTROLLER://:{ports.controller}"
    ) as lines:
        assert f"on {socket.getfqdn()}:{ports.broker}" in "\n".join(lines)
        for side, port in (("server", ports.broker), ("controller", ports.controller)):
            listed = run_piped("cluster", "list-endpoints", f"--bootstrap-{side}", f"localhost:{port}", "--json")
            (endpoint,) = json.loads(listed.stdout)
            assert (endpoint["host"], endpoint["port"]) == (socket.getfqdn(), port)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["--override", "log.retenton.ms=5"],
            "--override: Unknown broker config name: log.retenton.ms (did you mean log.retention.ms?)",
        ),
        (
            ["--override", "listener.name.internal.max.conections=5"],
            "--override: Unknown broker config name: max.conections (did you mean max.connections?) (in "
            "listener.name.internal.max.conections)",
        ),
        (["--override", "log.retention.ms"], "--override takes key=value, not 'log.retention.ms'"),
        (["--override", "log.retention.ms=soon"], "Invalid value soon for configuration log.retention.ms"),
        (["--port", "65535"], "--port takes 1 to 65534, not 65535: the controller gets the next one"),
        (
            ["--port", "9192", "--override", "listeners=PLAINTEXT://:9292"],
            "--port 9192 and --override listeners both say where the node listens; use one of them",
        ),
        (["--port", "9192", "--environment"], "--port 9192 and --environment both say where the node listens"),
        (["/dev/null", "--port", "9192"], "--port 9192 and a FILE both say where the node listens"),
    ],
)
def test_a_line_that_is_wrong(tmp_path: Path, arguments: list[str], says: str) -> None:
    done = run_piped("server", *arguments, "--override", f"log.dirs={tmp_path}/none")
    assert done.code == 1
    assert done.stderr.startswith(f"ottla server: {says}")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "none").exists()


def test_an_override_without_effect_warns_without_a_file(tmp_path: Path) -> None:
    """The listener that cannot be bound ends the start."""
    overrides = {
        "num.io.threads": "4",
        "log.dirs": f"{tmp_path}/data",
        "listeners": "PLAINTEXT://localhost:0,CONTROLLER://no.such.host.invalid:0",
    }
    done = run_piped("server", *(text for key in overrides for text in ("--override", f"{key}={overrides[key]}")))
    assert done.code == 1
    assert "WARNING The broker config num.io.threads=4 has no effect: " in done.stderr


def test_the_sample_starts(tmp_path: Path) -> None:
    """As printed, but for ports and a directory that a test may use; nothing in it is passed over."""
    sample = run_piped("server", "--sample").stdout
    where, address = listeners()
    file = tmp_path / "server.properties"
    changed = re.sub(r"(?m)^listeners=.*$", f"listeners={where}", sample)
    changed = re.sub(r"(?m)^log.dirs=.*$", f"log.dirs={tmp_path}/data", changed)
    file.write_text(changed)
    formatted = run_piped("storage", "format", "--standalone", "-t", CLUSTER_ID, "-c", str(file))
    assert formatted.code == 0
    examined = run_piped("doctor", "--server-config", str(file))
    assert examined.stdout.startswith("ok    A server accepts the configuration\nok    The log directory")
    with running(tmp_path, str(file)) as lines:
        assert lines == [f"Ottla is ready: node 1 of cluster {CLUSTER_ID} on {address}"]


@pytest.mark.parametrize("commented", [True, False])
def test_every_line_of_the_sample_is_a_key(commented: bool) -> None:
    lines = run_piped("server", "--sample").stdout.splitlines()
    pattern = r"#([a-z][a-z.]*)=" if commented else r"([a-z][a-z.]*)="
    keys = [match[1] for line in lines if (match := re.match(pattern, line))]
    assert len(keys) >= 3
    assert all(key in BROKER_CONFIG for key in keys)


def test_the_environment_of_apaches_image(tmp_path: Path) -> None:
    where, address = listeners()
    environment = {
        "PATH": "/usr/bin:/bin",
        "CLUSTER_ID": CLUSTER_ID,
        "KAFKA_LISTENERS": where,
        "KAFKA_LOG_DIRS": str(tmp_path / "data"),
        "KAFKA_NUM_PARTITIONS": "3",
        "KAFKA_HEAP_OPTS": "-Xmx1g",
        "KAFKA_BROKER_ID": "5",
    }
    for _ in range(2):
        with running(tmp_path, "--environment", environment=environment) as lines:
            assert lines[-1] == f"Ottla is ready: node 5 of cluster {CLUSTER_ID} on {address}"
    with running(tmp_path, "--environment", environment={**environment, "CLUSTER_ID": "another"}) as lines:
        assert lines[0] == f"{tmp_path}/data stays with the cluster {CLUSTER_ID}, not another"


def test_the_environment_goes_before_a_file_and_an_override_before_both(tmp_path: Path) -> None:
    where, address = listeners()
    file = tmp_path / "server.properties"
    other = {"listeners": "PLAINTEXT://:1,CONTROLLER://:2", "log.dirs": f"{tmp_path}/no", "node.id": "2"}
    file.write_text("".join(f"{key}={value}\n" for key, value in {**DEFAULTS, **other}.items()))
    environment = {"KAFKA_LISTENERS": where, "KAFKA_NODE_ID": "3", "KAFKA_LOG_DIRS": f"{tmp_path}/data"}
    line = (str(file), "--environment", "--override", "node.id=4")
    with running(tmp_path, *line, environment=environment) as lines:
        assert lines[-1].startswith("Ottla is ready: node 4 of cluster ")
        assert lines[-1].endswith(address)


def test_the_environment_is_asked_for(tmp_path: Path) -> None:
    wrong = {"KAFKA_LOG_RETENTON_MS": "5", "KAFKA_LOG_DIRS": f"{tmp_path}/none"}
    done = run_piped("server", "--environment", environment=wrong)
    assert (done.code, done.stderr) == (
        1,
        "ottla server: Unknown in the environment: KAFKA_LOG_RETENTON_MS (did you mean KAFKA_LOG_RETENTION_MS?)\n",
    )
    with running(tmp_path, "--override", f"listeners={listeners()[0]}", environment={**os.environ, **wrong}) as lines:
        assert lines[-1].endswith(f"{tmp_path}/ottla-data")


def test_a_service_manager_is_told(tmp_path: Path) -> None:
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        manager.settimeout(BOUND_S)
        environment = {**os.environ, "NOTIFY_SOCKET": path}
        with running(tmp_path, "--override", f"listeners={listeners()[0]}", environment=environment):
            assert manager.recv(64) == b"READY=1"
        assert manager.recv(64) == b"STOPPING=1"


def test_a_service_manager_in_the_abstract_namespace(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("Linux's")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0{tmp_path}")
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{tmp_path}")
        tell_service_manager(READY)
        assert manager.recv(64) == b"READY=1"


def test_a_service_manager_that_is_gone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "gone"))
    tell_service_manager(READY)


def _produce_and_consume(address: str, value: bytes, offset: int) -> None:
    producer = Producer({"bootstrap.servers": address})
    producer.produce("demo", value)
    assert producer.flush(BOUND_S) == 0
    consumer = Consumer({"bootstrap.servers": address, "group.id": "nobody", "enable.auto.commit": False})
    consumer.assign([TopicPartition("demo", 0, offset)])
    message = consumer.poll(BOUND_S)
    consumer.close()
    assert message is not None
    assert message.value() == value


def test_a_file_that_is_not_there() -> None:
    done = run_piped("server", "/no/such.properties")
    assert (done.code, done.stderr) == (1, "ottla server: /no/such.properties: No such file or directory\n")
