"""``contrib/``: what its unit and its Containerfile say is run here, but for systemd and the build of an image."""

import configparser
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from ottla.cli.server import parser
from ottla.cli.server_properties import node_properties
from ottla.config.kafka_config import KafkaConfig
from tests.apache.properties import free_port, free_ports
from tests.node import CLUSTER_ID

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "contrib" / "ottla.service"
BOUND_S = 60
OTTLA = [sys.executable, "-m", "ottla"]


def _instructions() -> dict[str, list[str]]:
    """What the Containerfile says of its last image, by the name of the instruction."""
    text = (ROOT / "contrib" / "Containerfile").read_text()
    lines = re.sub(r"\\\n\s*", "", re.sub(r"(?m)^#.*\n", "", text)).splitlines()
    last = max(number for number, line in enumerate(lines) if line.startswith("FROM "))
    found: dict[str, list[str]] = {}
    for line in lines[last:]:
        name, _, arguments = line.partition(" ")
        found.setdefault(name, []).append(arguments)
    return found


def _command(arguments: str) -> list[str]:
    """A command in JSON, run by the Ottla that is tested."""
    name, *rest = json.loads(arguments)
    assert name == "ottla"
    return [*OTTLA, *rest]


@contextmanager
def _container(directory: Path, variables: Mapping[str, str]) -> Iterator["subprocess.Popen[str]"]:
    """The entry point, in an environment as bare as a container's; gives it when it serves, and stops it."""
    process = subprocess.Popen(
        _command(_instructions()["ENTRYPOINT"][-1]),
        cwd=directory,
        env={"PATH": os.defpath, **variables},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        said = ""
        while "Ottla is ready" not in said:
            said = process.stdout.readline()
            assert said, "the entry point ended"
        yield process
    finally:
        process.send_signal(signal.Signals[_instructions()["STOPSIGNAL"][-1]])
        assert process.wait(BOUND_S) == 0
        process.stdout.close()


def test_the_container_starts_is_healthy_and_stops(tmp_path: Path) -> None:
    instructions = _instructions()
    ports = free_ports()
    variables = dict(each.split("=", 1) for each in instructions["ENV"])
    assert variables == {"KAFKA_LOG_DIRS": "/var/lib/kafka/data"}, "else this test replaces too little"
    data = tmp_path / "data"
    variables |= {
        "KAFKA_LOG_DIRS": str(data),
        "KAFKA_LISTENERS": f"PLAINTEXT://:{ports.broker},CONTROLLER://:{ports.controller}",
        "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://not.here.invalid:9092",
        "CLUSTER_ID": CLUSTER_ID,
    }
    check = instructions["HEALTHCHECK"][-1].partition(" CMD ")[2]
    assert ":9092" in check
    health = _command(check.replace(":9092", f":{ports.broker}"))
    with _container(tmp_path, variables):
        done = subprocess.run(health, capture_output=True, text=True, timeout=BOUND_S, check=False)
        assert (done.returncode, done.stdout) == (0, f"Cluster ID: {CLUSTER_ID}\n")
    assert (data / ".kafka_cleanshutdown").exists()
    with suppress(subprocess.TimeoutExpired):  # which is unhealthy, too
        assert subprocess.run(health, capture_output=True, timeout=2, check=False).returncode != 0


def test_the_image_is_nobodys_root_and_keeps_its_data() -> None:
    instructions = _instructions()
    assert instructions["USER"] == ["kafka"]
    assert instructions["VOLUME"] == ["/var/lib/kafka/data"]
    assert instructions["EXPOSE"] == ["9092"]


def test_what_an_image_without_variables_listens_on() -> None:
    options = parser().parse_args(["--environment"])
    listeners = KafkaConfig.from_props(node_properties(options, {})).listeners
    assert [(each.name, each.host, each.port) for each in listeners.endpoints] == [
        ("PLAINTEXT", None, 9092),
        ("CONTROLLER", None, 9093),
    ]
    assert [(each.host, each.port) for each in listeners.advertised_broker_endpoints] == [("localhost", 9092)]


def test_the_composition_of_the_docs_starts(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "service.md").read_text()
    variables = {name: value.strip('"') for name, value in re.findall(r"(?m)^ +(KAFKA_\w+): (.*)$", text)}
    assert len(variables) == 5
    for port in ("9092", "19092", "9093"):
        replacement = f":{free_port()}"
        for name in ("KAFKA_LISTENERS", "KAFKA_ADVERTISED_LISTENERS"):
            variables[name] = re.sub(rf":{port}\b", replacement, variables[name])
    with _container(tmp_path, variables):
        assert (tmp_path / "ottla-data" / "meta.properties").exists()


def test_the_unit_calls_what_is_there() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(UNIT)
    service = unit["Service"]
    program, command, *arguments = service["ExecStart"].split()
    assert (program, command) == ("/opt/ottla/bin/ottla", "server")
    assert parser().parse_args(arguments).file == "/etc/ottla/server.properties"
    assert service["Type"] == "notify"
    text = (ROOT / "docs" / "service.md").read_text()
    for path in (program, arguments[0], f"/var/lib/{service['StateDirectory']}", service["User"]):
        assert path in text


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze")
    program = tmp_path / "ottla"
    program.touch(mode=0o755)
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/opt/ottla/bin/ottla", str(program)))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)],
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
