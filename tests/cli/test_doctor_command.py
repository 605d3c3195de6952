"""``ottla doctor``: what is well, what is wrong, and what to do about it."""

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from ottla.cli.doctor import clock_finding, protocol_finding
from ottla.cli.doctor_local import directory_findings, space_finding
from ottla.cli.findings import Finding, Level, has_failed
from ottla.cli.probe import Speaks, classify
from ottla.cli.server_properties import DEFAULTS, local_listeners
from ottla.runtime.inline import InlineRuntime
from tests.cli.terminal import Piped, run_in_terminal, run_piped
from tests.node import CLUSTER_ID, Node
from tests.ottla_broker import OttlaBroker


@contextlib.contextmanager
def _answering(answer: bytes) -> Iterator[str]:
    """A server that answers every connection with these bytes; gives its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(60)

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    connection.settimeout(60)
                    if connection.recv(1024) and answer:
                        connection.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(60)


def test_a_healthy_cluster(kafka: Node) -> None:
    done = run_piped("doctor", "--bootstrap-server", kafka.bootstrap)
    assert (done.code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert all(line.startswith("ok    ") for line in lines)
    for text in (
        "stands for",
        "answers",
        "lets us in",
        "can be reached from here",
        "Fetch up to version",
        "leads a quorum",
    ):
        assert any(text in line for line in lines), text
    assert lines[-1] == "ok    The clocks of this machine and of the controller agree"


def test_in_a_terminal_and_as_json(kafka: Node) -> None:
    screen = run_in_terminal("doctor", "--bootstrap-server", kafka.bootstrap)
    assert screen.code == 0
    assert "What to do" in screen.text
    documents = json.loads(run_piped("doctor", "--bootstrap-server", kafka.bootstrap, "--json").stdout)
    assert {each["level"] for each in documents} == {"ok"}


def test_an_address_that_clients_cannot_reach(tmp_path: Path) -> None:
    with OttlaBroker(tmp_path, {"advertised.listeners": "PLAINTEXT://127.0.0.1:1"}) as node:
        done = run_piped("doctor", "--bootstrap-server", node.bootstrap)
    assert done.code == 1
    last = done.stdout.splitlines()[-1]
    assert last.startswith("fail  Broker 1 tells clients to connect to 127.0.0.1:1, which cannot be reached from here")
    assert last.endswith(
        "is broker 1 running? If it is, set its advertised.listeners to an address that clients can reach"
    )


def test_nothing_there(kafka: Node) -> None:
    done = run_piped("doctor", "--bootstrap-server", f"no-such-host.invalid:1,127.0.0.1:1,{kafka.bootstrap}")
    assert done.code == 1
    failed = [line for line in done.stdout.splitlines() if line.startswith("fail")]
    assert len(failed) == 2
    assert "The name no-such-host.invalid is not known" in failed[0]
    assert failed[1].startswith("fail  Nothing listens at 127.0.0.1:1; is the server running")
    assert "lets us in" in done.stdout


def test_tls_where_there_is_none(kafka: Node, written: Callable[[str, str], str]) -> None:
    config = written("tls.properties", "security.protocol=SSL\n")
    done = run_piped("doctor", "--bootstrap-server", kafka.bootstrap, "--command-config", config)
    assert done.code == 1
    assert "speaks without TLS, but security.protocol is SSL" in done.stdout


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (b"\x15\x03\x03\x00\x02\x02\x0a", "if it is a TLS listener, set security.protocol to SSL in"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "is no Kafka: it answers with HTTP; check the port"),
        (b"220 mail.example.org ESMTP\r\n", "is no Kafka: it answers with something else; check the port"),
        (b"", "does not speak Kafka's protocol in plain text"),
    ],
)
def test_something_else_there(answer: bytes, text: str) -> None:
    with _answering(answer) as place:
        done = run_piped("doctor", "--bootstrap-server", place)
    assert done.code == 1
    assert text in done.stdout


def _sound(*directories: Path) -> dict[str, str]:
    return {**DEFAULTS, **local_listeners(9092), "log.dirs": ",".join(map(str, directories))}


def _formatted(directory: Path, node_id: int = 1, cluster_id: str = CLUSTER_ID) -> Path:
    directory.mkdir()
    (directory / "meta.properties").write_text(f"version=1\ncluster.id={cluster_id}\nnode.id={node_id}\n")
    return directory


def _examined(written: Callable[[str, str], str], properties: Mapping[str, str]) -> Piped:
    text = "".join(f"{name}={value}\n" for name, value in properties.items())
    return run_piped("doctor", "--server-config", written("server.properties", text))


def test_this_machine(tmp_path: Path, written: Callable[[str, str], str]) -> None:
    formatted, bare, missing = _formatted(tmp_path / "formatted"), tmp_path / "bare", tmp_path / "missing"
    bare.mkdir()
    done = _examined(written, _sound(formatted, bare, missing))
    assert done.code == 0
    assert "ok    A server accepts the configuration" in done.stdout
    assert f"ok    The log directory {formatted} is formatted" in done.stdout
    assert f"warn  The log directory {bare} is not formatted; it is made and formatted at the next" in done.stdout
    assert f"warn  The log directory {missing} is missing; it is made" in done.stdout
    done = _examined(written, _sound(bare))
    assert done.code == 1
    assert f"fail  The log directory {bare} is not formatted; run `ottla storage format`" in done.stdout
    assert f"fail  The log directory {missing} is missing" in _examined(written, _sound(missing)).stdout


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("authorizer.class.name", "org.example.Authorizer", "The broker config authorizer.class.name promises"),
        ("node.id", "abc", "Invalid value abc for configuration node.id"),
        ("process.roles", "brokr", "Invalid value brokr for configuration process.roles"),
        ("process.roles", "controller", "must only contain KRaft controller listeners"),
    ],
)
def test_a_configuration_that_no_server_accepts(
    tmp_path: Path, written: Callable[[str, str], str], name: str, value: str, says: str
) -> None:
    done = _examined(written, {**_sound(_formatted(tmp_path / "data")), name: value})
    assert done.code == 1
    assert "fail  A server does not start with this configuration: " in done.stdout
    assert says in done.stdout.splitlines()[0]


def test_a_role_that_is_not_built(tmp_path: Path, written: Callable[[str, str], str]) -> None:
    """Apache's node starts with it: only what starts a node of ours knows."""
    broker = {"process.roles": "broker", "listeners": "PLAINTEXT://localhost:9092"}
    done = _examined(written, {**_sound(_formatted(tmp_path / "data")), **broker})
    assert done.code == 1
    assert "process.roles=broker is not supported yet" in done.stdout.splitlines()[0]


def test_names_that_say_nothing(tmp_path: Path, written: Callable[[str, str], str]) -> None:
    inert = {"log.retenton.ms": "4", "ssl.protocol": "TLSv1.3"}
    done = _examined(written, {**_sound(_formatted(tmp_path / "data")), **inert})
    assert done.code == 0
    assert done.stdout.splitlines()[1:3] == [
        "warn  Unknown broker config name: log.retenton.ms (did you mean log.retention.ms?); it is ignored; change the "
        "file of --server-config",
        "warn  The broker config ssl.protocol=TLSv1.3 has no effect: security is not built yet; change the file of "
        "--server-config",
    ]


@pytest.mark.parametrize(
    ("metadata", "says"),
    [
        ("\xff\xfe\x00garbage", "names neither a cluster nor a node: it is damaged"),
        ("version=1\ncluster.id=c\nnode.id=many\n", "node.id is not a number: 'many'"),
        (f"version=1\ncluster.id={CLUSTER_ID}\nnode.id=7\n", "node.id is 7, but this node has node.id=1"),
    ],
)
def test_a_directory_that_no_server_takes(
    tmp_path: Path, written: Callable[[str, str], str], metadata: str, says: str
) -> None:
    directory = _formatted(tmp_path / "data")
    (directory / "meta.properties").write_text(metadata, encoding="latin-1")
    done = _examined(written, _sound(directory))
    assert done.code == 1
    assert "fail  The log directory" in done.stdout
    assert says in done.stdout
    properties = {**_sound(directory), "listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0"}
    started = run_piped("server", written("same.properties", "".join(f"{k}={v}\n" for k, v in properties.items())))
    assert started.code == 1
    assert "meta.properties" in started.stderr


def test_directories_of_two_clusters(tmp_path: Path, written: Callable[[str, str], str]) -> None:
    other = _formatted(tmp_path / "other", cluster_id="b3R0bGEtY2x1c3Rlci0wMg")
    done = _examined(written, _sound(_formatted(tmp_path / "data"), other))
    assert done.code == 1
    last = done.stdout.splitlines()[-1]
    assert last.startswith("fail  A server does not start with these directories: ")
    assert f"{other}/meta.properties: cluster.id is" in last


def test_nothing_to_look_at() -> None:
    done = run_piped("doctor")
    assert done.code == 1
    assert "Give --bootstrap-server, --server-config, or both" in done.stderr


def test_findings() -> None:
    assert clock_finding(5).level is Level.OK
    assert "1500 ms ahead of the controller's" in clock_finding(1500).line
    assert clock_finding(-120_000).level is Level.FAIL
    path = Path("/d")
    assert [space_finding(path, 100, free).level for free in (50, 5, 1)] == [Level.OK, Level.WARN, Level.FAIL]
    assert space_finding(path, 0, 0).level is Level.FAIL
    assert not has_failed([Finding(Level.WARN, "x")])
    assert [finding.level for finding in directory_findings(InlineRuntime(), Path("/no/such"))] == [Level.FAIL]
    assert protocol_finding("p", Speaks.TLS, "SASL_SSL").level is Level.OK
    assert protocol_finding("p", Speaks.HTTP, "SSL").level is Level.FAIL


def test_what_answers() -> None:
    assert classify(b"") is Speaks.NOTHING
    assert classify(b"\x00\x00\x01\x00\x00\x00\x00\x01") is Speaks.KAFKA
    assert classify(b"\x00\x00\x01\x00\x00\x00\x00\x02") is Speaks.OTHER
    assert classify(b"\x15\x03\x01") is Speaks.TLS
