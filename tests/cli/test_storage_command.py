"""``ottla storage`` beside kafka-storage.sh: the same directories, the same judgement."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.apache.jvm import Finished
from tests.cli.terminal import Piped, run_in_terminal, run_inside, run_piped
from tests.oracle import Oracle

CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAg"
TOOL = "kafka.tools.StorageTool"
Write = Callable[[str, str], str]


@pytest.fixture
def configured(tmp_path: Path, written: Write) -> Callable[..., str]:
    """Write the configuration of a node with two directories of its own, and return its path."""

    def write(name: str = "node", **more: str) -> str:
        directories = ",".join(str(tmp_path / f"{name}-{number}") for number in (1, 2))
        lines = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "log.dirs": directories,
            "listeners": "PLAINTEXT://localhost:19092,CONTROLLER://localhost:19093",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.bootstrap.servers": "localhost:19093",
            **{key.replace("_", "."): value for key, value in more.items()},
        }
        return written(f"{name}.properties", "".join(f"{key}={value}\n" for key, value in lines.items()))

    return write


def _both(oracle: Oracle, *arguments: str) -> tuple[Piped, Finished]:
    return run_piped("storage", *arguments), oracle.run(TOOL, *arguments)


def _said(output: str) -> list[str]:
    """Without the ids that chance gives, and without features: Ottla begins without those that it does not serve."""
    return sorted(
        re.sub(r"directory\.id=\S+", "directory.id=N", line)
        for line in output.splitlines()
        if not line.startswith("Bootstrap metadata: ")
    )


@pytest.mark.parametrize("apart", [False, True])
def test_format_and_info(oracle: Oracle, configured: Callable[..., str], tmp_path: Path, apart: bool) -> None:
    """The metadata log may have a directory of its own."""
    ours_path, theirs_path = (
        configured(name, **({"metadata_log_dir": str(tmp_path / f"{name}-metadata")} if apart else {}))
        for name in ("a", "b")
    )
    before, before_there = _both(oracle, "info", "-c", ours_path)
    assert before.code == before_there.returncode == 1
    assert before.stdout == before_there.stdout
    ours = run_piped("storage", "format", "-c", ours_path, "-t", CLUSTER_ID, "--standalone")
    theirs = oracle.run(TOOL, "format", "-c", theirs_path, "-t", CLUSTER_ID, "--standalone")
    assert ours.code == theirs.returncode == 0, (ours, theirs)
    assert _said(ours.stdout) == _said(theirs.stdout.replace("/b-", "/a-"))
    for path in (ours_path, theirs_path):  # each looks at what the other has formatted, too
        here, there = _both(oracle, "info", "-c", path)
        assert here.code == there.returncode == 0
        assert here.stdout == there.stdout
    document = json.loads(run_piped("storage", "info", "-c", ours_path, "--json").stdout)
    assert document["problems"] == []
    assert document["metadata"]["cluster.id"] == CLUSTER_ID
    screen = run_in_terminal("storage", "info", "-c", ours_path)
    assert screen.code == 0
    assert "Found log directories:" in screen.text


def test_formatted_already(oracle: Oracle, configured: Callable[..., str]) -> None:
    path = configured()
    arguments = ("format", "-c", path, "-t", CLUSTER_ID, "--standalone")
    assert run_piped("storage", *arguments).code == 0
    ours, theirs = _both(oracle, *arguments)
    assert ours.code == theirs.returncode == 1
    assert "is already formatted" in theirs.stderr
    assert "is already formatted" in ours.stderr
    ours, theirs = _both(oracle, *arguments, "--ignore-formatted")
    assert ours.code == theirs.returncode == 0
    assert _said(ours.stdout) == _said(theirs.stdout)


def test_what_is_wrong_with_directories(oracle: Oracle, configured: Callable[..., str], tmp_path: Path) -> None:
    path = configured()
    assert run_piped("storage", "format", "-c", path, "-t", CLUSTER_ID, "--standalone").code == 0
    meta = tmp_path / "node-2" / "meta.properties"
    good = meta.read_text()
    for bad in (good.replace(CLUSTER_ID, "BBBBBBBBBBBBBBBBBBBBBg"), good.replace("node.id=1", "node.id=2")):
        meta.write_text(bad)
        ours, theirs = _both(oracle, "info", "-c", path)
        assert ours.code == theirs.returncode == 1
        assert ours.stdout == theirs.stdout
    meta.unlink()
    ours, theirs = _both(oracle, "info", "-c", path)
    assert (ours.code, ours.stdout) == (theirs.returncode, theirs.stdout)
    (tmp_path / "node-2").joinpath("bootstrap.checkpoint").unlink(missing_ok=True)
    for left in (tmp_path / "node-2").iterdir():
        left.unlink()
    (tmp_path / "node-2").rmdir()
    (tmp_path / "node-2").write_text("a file")
    ours, theirs = _both(oracle, "info", "-c", path)
    assert (ours.code, ours.stdout) == (theirs.returncode, theirs.stdout)


@pytest.mark.parametrize(
    "arguments",
    [
        ["version-mapping"],
        ["version-mapping", "-r", "3.9"],
        ["feature-dependencies", "-f", "eligible.leader.replicas.version=1", "-f", "metadata.version=25"],
    ],
    ids=" ".join,
)
def test_levels_of_releases(oracle: Oracle, arguments: list[str]) -> None:
    ours, theirs = _both(oracle, *arguments)
    assert (ours.code, ours.stdout) == (theirs.returncode, theirs.stdout) == (0, theirs.stdout)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("", []),
        ("", ["odd"]),
        ("", ["info"]),
        ("/no/such/file", ["info", "-c", "/no/such/file"]),
        ("9.9", ["version-mapping", "-r", "9.9"]),
        ("Invalid feature format: group.version", ["feature-dependencies", "-f", "group.version"]),
        ("Invalid version format: x for feature group.version", ["feature-dependencies", "-f", "group.version=x"]),
        (
            "Feature level 9 is not supported for feature group.version",
            ["feature-dependencies", "-f", "group.version=9"],
        ),
        ("Unknown feature: odd", ["feature-dependencies", "-f", "odd=1"]),
        ("", ["format", "-c", "CONFIG"]),
        ("you must specify one of the following: --standalone", ["format", "-c", "CONFIG", "-t", CLUSTER_ID]),
        ("", ["format", "-c", "CONFIG", "-t", CLUSTER_ID, "-s", "-N"]),
        ("Unknown metadata.version '9.9'", ["format", "-c", "CONFIG", "-t", CLUSTER_ID, "-s", "-r", "9.9"]),
        ("group.version", ["format", "-c", "CONFIG", "-t", CLUSTER_ID, "-s", "-f", "group.version=9"]),
        ("equals sign not found", ["format", "-c", "CONFIG", "-t", CLUSTER_ID, "-s", "-f", "group.version"]),
    ],
)
def test_failures(oracle: Oracle, configured: Callable[..., str], text: str, arguments: list[str]) -> None:
    arguments = [configured() if argument == "CONFIG" else argument for argument in arguments]
    ours, theirs = run_inside("storage", *arguments), oracle.run(TOOL, *arguments)
    assert ours.code == theirs.returncode == 1, (ours, theirs)
    assert text in theirs.stdout + theirs.stderr
    assert text in ours.stderr
    assert ours.stderr.startswith("ottla storage: ")
    assert ours.stderr.count("\n") == 1


def test_random_ids() -> None:
    first, second = run_piped("storage", "random-uuid"), run_piped("storage", "random-uuid")
    assert first.code == 0
    assert first.stdout != second.stdout
    assert re.fullmatch(r"[A-Za-z0-9_-]{22}\n", first.stdout)
    assert len(json.loads(run_piped("storage", "random-uuid", "--json").stdout)["uuid"]) == 22
