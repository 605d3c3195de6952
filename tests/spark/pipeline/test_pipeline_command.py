"""``ottla pipeline`` and ``ottla demo`` as they are typed: lines that cannot be meant, and a demo without Spark."""

from pathlib import Path
from typing import Any

import pytest

from ottla.cli.main import main
from tests.apache.properties import free_ports
from tests.cli.terminal import Screen, run_in_terminal

CTRL_C = b"\x03"
SERVERS = ("--bootstrap-server", "127.0.0.1:1")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["run", "x.py"], 'Missing required argument "[bootstrap-server]"'),
        (["run", "no-such-file.py", *SERVERS], "there is no file no-such-file.py"),
        (["run", "x.py", *SERVERS, "--name", "a b"], "--name takes letters, digits, dots"),
        (["run", "x.py", *SERVERS, "--conf", "executor.memory=1g"], "--conf takes spark.KEY=VALUE"),
        (["run", "x.py", *SERVERS, "--conf", "spark.executor.memory"], "--conf takes spark.KEY=VALUE"),
        (["land", *SERVERS, "--topic", "t"], 'Missing required argument "[to]"'),
        (["land", *SERVERS, "--to", "d"], 'Missing required argument "[topic]"'),
        (["land", *SERVERS, "--topic", "t", "--to", "d", "--value", "avro"], "--value avro needs --schema"),
        (["land", *SERVERS, "--topic", "t", "--to", "d", "--value", "raw", "--schema", "n int"], "has no --schema"),
        (["land", *SERVERS, "--topic", "t", "--to", "d", "--value", "raw", "--time-field", "at"], "--time-field names"),
        (["land", *SERVERS, "--topic", "t", "--to", "d", "--schema", "@no-such"], "no-such: No such file"),
        (["land", *SERVERS, "--topic", "t", "--to", "d", "--format", "csv"], "invalid choice: 'csv'"),
        (["no-such"], "invalid choice: 'no-such'"),
    ],
)
def test_a_line_that_cannot_be_meant_is_refused_in_one(
    capfd: pytest.CaptureFixture[str], line: list[str], words: str
) -> None:
    assert main(["pipeline", *line]) == 1
    said = capfd.readouterr()
    assert words in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_brokers_that_do_not_answer_are_told_before_spark_starts(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    properties = tmp_path / "client.properties"
    properties.write_text("default.api.timeout.ms=300\nrequest.timeout.ms=300\n")
    line = ["--topic", "t", "--to", str(tmp_path / "t"), "--command-config", str(properties)]
    assert main(["pipeline", "land", *SERVERS, *line]) == 1
    said = capfd.readouterr().err
    assert said.startswith("ottla pipeline: ")
    assert "`ottla doctor` finds out" in said
    assert not (tmp_path / "t").exists()


def demo(directory: Path, *typed: tuple[str, bytes], **more: Any) -> Screen:
    ports = free_ports()
    address = f"localhost:{ports.broker}"
    listeners = f"listeners=PLAINTEXT://{address},CONTROLLER://localhost:{ports.controller}"
    line = ("server", "--log-level", "ERROR", "--demo", "--override", listeners)
    return run_in_terminal(*line, directory=directory, typed=typed, **more)


def test_a_node_with_a_demo_that_cannot_run_says_why_and_serves_on(tmp_path: Path) -> None:
    (tmp_path / "path" / "pyspark").mkdir(parents=True)
    (tmp_path / "path" / "pyspark" / "__init__.py").write_text("raise ImportError('not here')\n")
    environment = {"PYTHONPATH": str(tmp_path / "path")}
    screen = demo(tmp_path, ("pipelines do not run", CTRL_C), environment=environment)
    assert screen.code == 0
    assert "Ottla is ready" in screen.text
    assert "the demo's pipelines do not run: PySpark is not installed: " in screen.text
    assert "-m pip install -e '" in screen.text
    assert "Traceback" not in screen.text


@pytest.mark.spark_full
def test_the_demo_runs_until_ctrl_c_and_goes_on_when_it_is_started_again(tmp_path: Path) -> None:
    for start in range(2):
        screen = demo(tmp_path, ("visits: batch " + str(6 * (start + 1)), CTRL_C), bound_s=900)
        assert screen.code == 0, screen.text
        assert "Traceback" not in screen.text
        assert "ottla console-consumer --bootstrap-server localhost" in screen.text
        assert "page_counts: batch" in screen.text
    (table,) = (tmp_path / "ottla-demo").glob("*/visits")
    assert list(table.glob("*.parquet"))
    logs = sorted((table / "_delta_log").glob("*.json"))
    assert len(logs) > 1
