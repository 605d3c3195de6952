"""``ottla metadata-shell``: the tree of a snapshot and of a log, its commands, at a prompt and in a line."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.cli.metadata_files import load_image, metadata_files
from ottla.cli.metadata_tree import REDACTED, Node, as_text, metadata_tree
from ottla.cli.shell_commands import Shell, ShellExit, columns
from ottla.metadata.image.metadata import MetadataImage
from tests.cli.terminal import run_in_terminal, run_piped
from tests.node import Node as KafkaNode

TREE: dict[str, Node] = {
    "image": {"topics": {"byName": {"a": {"id": "1", "0": "partition"}, "ab": {"id": "2"}}}, "empty": {}},
    "local": {"version": "x"},
}


@pytest.fixture(scope="module")
def directory(kafka: KafkaNode, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of a node's log directory, with a topic and a secret in its metadata."""
    server = ("--bootstrap-server", kafka.bootstrap)
    made = run_piped("topics", "--create", "--topic", "shelled", "--partitions", "2", "--config", "retention.ms=77",
                     *server)  # fmt: skip
    assert made.code == 0, made
    copied = tmp_path_factory.mktemp("shell") / "data"
    shutil.copytree(kafka.log_dir / "__cluster_metadata-0", copied / "__cluster_metadata-0")
    yield copied


class TestOfANode:
    def test_one_command(self, directory: Path) -> None:
        log = directory / "__cluster_metadata-0" / "00000000000000000000.log"
        for source in (("--snapshot", str(log)), ("--directory", str(directory)), ("-d", str(log.parent))):
            listed = run_piped("metadata-shell", *source, "ls", "/image/topics/byName/shelled")
            assert (listed.code, listed.stdout) == (0, "0\n1\nid\nname\n"), listed
        shown = run_piped("metadata-shell", *source, "cat", "/image/topics/byName/shelled/{0,name}")
        assert shown.stdout.startswith("PartitionRegistration(replicas=[1], directories=[")
        assert shown.stdout.endswith("\nshelled\n")
        tree = run_piped("metadata-shell", *source, "tree", "/image/configs/TOPIC:shelled")
        assert tree.stdout == "retention.ms:\n  77\n"
        found = run_piped("metadata-shell", *source, "find", "/image/producerIds")
        assert found.stdout == "/image/producerIds\n/image/producerIds/nextProducerId\n"

    def test_json(self, directory: Path) -> None:
        done = run_piped("metadata-shell", "-d", str(directory), "--json", "cat", "/image/features")
        assert json.loads(done.stdout)["/image/features"]["metadataVersion"] == "4.3-IV0"

    def test_at_a_prompt(self, directory: Path) -> None:
        screen = run_in_terminal(
            "metadata-shell", "-d", str(directory), columns=80,
            typed=[(">> ", b"cd /image/topics/byName/shelled\n"), ("shelled\n>> ", b"ls\n"), ("name\n>> ", b"pwd\n"),
                   ("/image/topics/byName/shelled\n>> ", b"exit\n")],
        )  # fmt: skip
        assert screen.code == 0
        assert "0     1     id    name" in screen.text or "0  1  id  name" in " ".join(screen.text.split("    "))

    def test_commands_through_a_pipe(self, directory: Path) -> None:
        typed = "cd image/cluster\nls\nhistory\nnonsense\nexit\nls\n"
        done = run_piped("metadata-shell", "-d", str(directory), stdin=typed)
        assert done.stdout.splitlines()[:2] == ["brokers", "controllers"]
        assert "   1  cd image/cluster" in done.stdout
        assert done.stdout.splitlines()[-1] == "No such command: nonsense; help shows which there are."

    def test_the_image_is_the_log_s(self, directory: Path) -> None:
        image = load_image(directory)
        assert "shelled" in image.topics.by_name
        assert image.offset > 0

    def test_a_snapshot_goes_before_the_log(self, directory: Path, tmp_path: Path) -> None:
        for name in ("00000000000000000000.log", "00000000000000000050.log", "00000000000000000090.log",
                     "00000000000000000070-0000000001.checkpoint", "00000000000000000000-0000000000.checkpoint",
                     "bootstrap.checkpoint"):  # fmt: skip
            (tmp_path / name).touch()
        assert [path.name for path in metadata_files(tmp_path)] == [
            "00000000000000000070-0000000001.checkpoint", "00000000000000000050.log", "00000000000000000090.log",
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("text", "arguments"),
        [
            ("You must specify the metadata to read", []),
            ("There is no /no/such/file", ["--snapshot", "/no/such/file"]),
            ("There is no metadata log in", ["--directory", "/"]),
            ("makes sense at the prompt only", ["--snapshot", "x", "cd", "/"]),
        ],
    )
    def test_failures(self, text: str, arguments: list[str]) -> None:
        done = run_piped("metadata-shell", *arguments)
        assert done.code == 1
        assert text in done.stderr
        assert done.stderr.count("\n") == 1


def _run(*lines: str) -> list[str]:
    shell = Shell(TREE)
    return [printed for line in lines for printed in shell.run(line)]


def test_listing() -> None:
    assert _run("ls") == ["image", "local"]
    assert _run("ls /image/topics/byName/*") == ["a:", "0", "id", "", "ab:", "id"]
    assert _run("ls /local/version /image/topics") == ["version", "", "topics:", "byName"]
    assert _run("ls nothing") == ["ls: nothing: no such file or directory."]
    assert _run("ls /image/empty") == []


def test_walking() -> None:
    assert _run("cd image/topics", "pwd", "cd ..", "pwd", "cd", "pwd") == ["/image/topics", "/image", "/"]
    assert _run("cd nowhere") == ["cd: nowhere: no such file or directory."]
    assert _run("cd local/version") == ["cd: local/version: not a directory."]


def test_looking() -> None:
    assert _run("cat /image/topics/byName/{a,ab}/id") == ["1", "2"]
    assert _run("cat /image", "cat x") == ["cat: /image: Is a directory", "cat: x: No such file or directory."]
    assert _run("tree /image/topics/byName/a") == ["0:", "  partition", "id:", "  1"]
    assert _run("tree x", "find x") == ["tree: x: No such file or directory.", "find: x: no such file or directory."]
    assert _run("find /local") == ["/local", "/local/version"]


def test_help() -> None:
    assert _run("man ls") == ["ls: List metadata nodes.", "usage: ls [PATH…]"]
    assert _run("man x")[0].startswith("man: unknown command x.")
    assert len(_run("help")) == 11
    assert _run("", "'") == ["': No closing quotation"]
    assert _run("pwd", "history 1") == ["/", "   2  history 1"]
    with pytest.raises(ShellExit):
        _run("exit")


def test_completion() -> None:
    shell = Shell(TREE)
    assert shell.completions("/im") == ["/image/"]
    assert shell.completions("lo") == ["local/"]
    assert shell.completions("/image/topics/byName/a") == ["/image/topics/byName/a/", "/image/topics/byName/ab/"]
    assert shell.completions("/nowhere/x") == []


def test_columns() -> None:
    assert list(columns(["a", "b", "c", "d", "e"], 12)) == ["a  c  e", "b  d"]
    assert list(columns(["a", "b"], None)) == ["a", "b"]
    assert list(columns(["a-very-long-name", "b"], 8)) == ["a-very-long-name", "b"]


def test_texts() -> None:
    assert as_text({"a": (1, None)}) == "{a=[1, null]}"
    assert as_text(True) == "true"
    empty = metadata_tree(MetadataImage())
    assert isinstance(empty["image"], dict)
    assert REDACTED == "[redacted]"
