"""What a server says at its start to be pasted: every line is run as it is printed."""

import os
import shutil
import sys
import sysconfig
from pathlib import Path

import pytest

from ottla.cli.own_command import own_command
from tests.cli.pasting import calls, decoy, hints, paste, program
from tests.cli.terminal import command
from tests.cli.test_server_command import listeners, running
from tests.oracle import Oracle


def test_the_lines_for_ottla_and_kcat(tmp_path: Path) -> None:
    """The ``ottla`` of the PATH is another one; a machine without kcat has ours under its name."""
    path = decoy(tmp_path / "bin")
    kcat = shutil.which("kcat")
    program(tmp_path / "bin" / "kcat", calls([kcat] if kcat else command("cat")))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with running(
        tmp_path, "--override", f"listeners={listeners()[0]}", environment={**os.environ, "PATH": path}
    ) as lines:
        offered = hints("\n".join(lines))
        assert list(offered) == ["produce", "consume", "look", "others", "stop"]
        assert paste(offered["produce"][0], elsewhere, path) == ""
        assert "hello" in paste(offered["consume"][0], elsewhere, path, until="hello\n")
        assert "fail" not in paste(offered["look"][0], elsewhere, path)
        assert paste(offered["others"][0], elsewhere, path) == ""
        assert "hello" in paste(offered["others"][1], elsewhere, path, until="hello\nhello\n")


def test_the_line_for_apaches_tools(tmp_path: Path, oracle: Oracle) -> None:
    path = decoy(tmp_path / "bin")
    consumer = "org.apache.kafka.tools.consumer.ConsoleConsumer"
    java = oracle.command(consumer, log4j="tools-log4j2.properties")
    program(tmp_path / "bin" / "kafka-console-consumer.sh", calls(java))
    with running(tmp_path, "--override", f"listeners={listeners()[0]}") as lines:
        offered = hints("\n".join(lines))
        paste(offered["produce"][0], tmp_path, os.environ["PATH"])
        assert "hello" in paste(offered["others"][2], tmp_path, path, until="hello\n")


def test_how_this_ottla_is_called(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    scripts = sysconfig.get_path("scripts")
    monkeypatch.setenv("PATH", f"{scripts}:{os.defpath}")
    assert own_command() == "ottla"
    monkeypatch.setenv("PATH", os.defpath)
    assert own_command() == f"{scripts}/ottla"
    monkeypatch.setenv("PATH", decoy(tmp_path / "bin"))
    assert own_command() == f"{scripts}/ottla"
    link = tmp_path / "link"
    link.mkdir()
    (link / "ottla").symlink_to(f"{scripts}/ottla")
    monkeypatch.setenv("PATH", str(link))
    assert own_command() == "ottla"
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path / "with no scripts"))
    assert own_command() == f"{sys.executable} -m ottla"
