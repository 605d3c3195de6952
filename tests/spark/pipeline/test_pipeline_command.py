"""``ottla pipeline`` and ``ottla demo`` as they are typed: lines that cannot be meant, and a demo without Spark."""

import os
import signal
import sys
from pathlib import Path
from subprocess import PIPE, STDOUT, Popen
from typing import Any

import pytest

from ottla.cli.main import main
from ottla.spark import installed
from ottla.spark.errors import SparkUnavailableError
from ottla.testing import Broker
from tests.apache.properties import free_ports
from tests.cli.pasting import decoy, hints, paste
from tests.cli.terminal import Screen, command, run_in_terminal, run_piped

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
        (
            ["land", *SERVERS, "--topic", "t", "--to", "d", "--value", "raw", "--rescue", "x"],
            "--rescue takes fields of",
        ),
        (["land", *SERVERS, "--topic", "t", "--to", "d", "--every", "soon"], "'soon' is no time: for example '10 sec"),
        (["land", *SERVERS, "--topic", "t", "--to", "d", "--from", "start"], "'start' is not earliest, latest or off"),
        (["land", *SERVERS, "--topic", "t", "--to", "d", "--max-offsets", "0"], "'0' is no whole number above 0"),
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


@pytest.mark.parametrize(
    "line",
    [
        ["run", "pipelines.py"],
        ["land", "--topic", "t", "--to", "table"],
        ["backfill", "--table", "d", "--topic", "t"],
        ["mirror", "--topic", "a", "--to", "b"],
        ["profile", "--topic", "a"],
        ["verify", "--topic", "a", "--with", "b"],
    ],
)
def test_without_pyspark_one_sentence_says_how_to_install_it_before_a_broker_is_asked(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pipelines.py").write_text("from pyspark.sql import DataFrame\n")
    monkeypatch.setitem(sys.modules, "pyspark", None)  # as if it were not there
    assert main(["pipeline", *line, *SERVERS]) == 1
    said = capfd.readouterr()
    assert said.err.startswith("ottla pipeline: PySpark is not installed: ")
    assert "-m pip install -e '" in said.err or "-m pip install 'ottla[spark]" in said.err
    assert said.err.count("\n") == 1


def test_what_pyspark_needs_besides_is_missed_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed, "find_spec", lambda name: None if name == "pandas" else name)
    with pytest.raises(SparkUnavailableError, match=r"PySpark needs pandas, which is not installed: .* -m pip install"):
        installed.check_installed()


@pytest.fixture
def without_spark(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine that has no PySpark."""
    (tmp_path / "path" / "pyspark").mkdir(parents=True)
    (tmp_path / "path" / "pyspark" / "__init__.py").write_text("raise ImportError('not here')\n")
    return {**os.environ, "PYTHONPATH": str(tmp_path / "path")}


def demo(directory: Path, *typed: tuple[str, bytes], **more: Any) -> Screen:
    ports = free_ports()
    address = f"localhost:{ports.broker}"
    listeners = f"listeners=PLAINTEXT://{address},CONTROLLER://localhost:{ports.controller}"
    line = ("server", "--log-level", "ERROR", "--demo", "--override", listeners)
    return run_in_terminal(*line, directory=directory, typed=typed, **more)


def test_a_node_with_a_demo_that_cannot_run_says_why_and_serves_on(
    tmp_path: Path, without_spark: dict[str, str]
) -> None:
    screen = demo(tmp_path, ("pipelines do not run", CTRL_C), environment=without_spark)
    assert screen.code == 0
    assert "Ottla is ready" in screen.text
    assert "the demo's pipelines do not run: PySpark is not installed: " in screen.text
    assert "-m pip install -e '" in screen.text or "-m pip install 'ottla[spark]" in screen.text
    assert "Traceback" not in screen.text


def started(line: tuple[str, ...], directory: Path, environment: dict[str, str], until: str) -> "Popen[str]":
    """The command, when it has said ``until``."""
    process = Popen(command(*line), cwd=directory, env=environment, stdout=PIPE, stderr=STDOUT, text=True)
    assert process.stdout is not None
    while said := process.stdout.readline():
        if until in said:
            return process
    raise AssertionError(f"it ended, and never said {until!r}")


def rest(process: "Popen[str]") -> str:
    """What it says to its end, and those say to theirs that it started."""
    assert process.stdout is not None
    with process.stdout:
        return process.stdout.read()


def test_a_demo_whose_node_is_killed_ends_with_a_sentence(tmp_path: Path, without_spark: dict[str, str]) -> None:
    """Else it would work on, beside the demo of the next node, in the same directory."""
    ports = free_ports()
    listeners = f"listeners=PLAINTEXT://localhost:{ports.broker},CONTROLLER://localhost:{ports.controller}"
    line = ("server", "--log-level", "ERROR", "--demo", "--override", listeners)
    for _ in range(2):
        node = started(line, tmp_path, without_spark, until="pipelines do not run")
        node.kill()
        said = rest(node)
        node.wait()
        assert "the node has ended, so the demo does, too; the next one goes on where this one was\n" in said
        assert "Traceback" not in said


def test_two_demos_in_a_directory(tmp_path: Path, without_spark: dict[str, str]) -> None:
    with Broker() as broker:
        line = ("demo", "--bootstrap-server", broker.bootstrap_servers, "--directory", f"{tmp_path}/demo")
        first = started(line, tmp_path, without_spark, until="pipelines do not run")
        second = run_piped(*line, environment=without_spark)
        first.send_signal(signal.SIGTERM)
        assert "Traceback" not in rest(first)
        assert first.wait() == 0
        started(line, tmp_path, without_spark, until="pipelines do not run").kill()
    assert (second.code, second.stderr) == (
        1,
        f"ottla demo: another demo works in {tmp_path}/demo: stop it, or give this one another --directory\n",
    )


def test_a_demo_that_is_stopped_while_its_broker_is_away(tmp_path: Path, without_spark: dict[str, str]) -> None:
    """Its click events wait for the broker, and must not hold up its end, nor end in a traceback."""
    with Broker(directory=tmp_path / "data") as broker:
        line = ("demo", "--bootstrap-server", broker.bootstrap_servers)
        process = started(line, tmp_path, without_spark, until="pipelines do not run")
        broker.stop()
        process.send_signal(signal.SIGTERM)
        said = rest(process)
    assert process.wait() == 0
    assert "Traceback" not in said


@pytest.mark.spark_full
def test_every_line_that_the_demo_offers(tmp_path: Path) -> None:
    """As it is printed, once its pipelines run; Spark starts for the table of visits, too."""
    offered: dict[str, list[str]] = {}
    seen: dict[str, str] = {}
    path = decoy(tmp_path / "bin")

    def paste_all(process: "Popen[bytes]", text: str) -> None:
        screen = Screen(0, text).text
        if offered or "visits: batch 1," not in screen:
            return
        offered.update(hints(screen))
        counted = r'"clicks":\d+'
        for name, until in (("counts", counted), ("letters", '"user"'), ("progress", '"pipeline"')):
            seen[name] = paste(offered[name][0], tmp_path, path, until=until)
        for name in ("visits", "program", "your own"):
            seen[name] = paste(offered[name][0], tmp_path, path)
        process.send_signal(signal.SIGINT)

    screen = demo(tmp_path, when=paste_all, environment={"PATH": path}, bound_s=900)
    assert screen.code == 0, screen.text
    assert offered.keys() - {"produce", "consume", "look", "others", "stop"} == seen.keys()
    assert "|user|clicks|" in seen["visits"].replace(" ", "")
    assert "def visits(" in seen["program"]
    assert seen["your own"].startswith("usage: ottla pipeline")
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
