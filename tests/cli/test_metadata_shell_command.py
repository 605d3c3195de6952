"""``ottla metadata-shell``: the tree of a snapshot and of a log, its commands, at a prompt and in a line."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.cli.metadata_files import load_image, metadata_files
from ottla.cli.metadata_text import provenance_text
from ottla.cli.metadata_tree import Node, metadata_tree
from ottla.cli.shell_commands import Shell, ShellExit, columns
from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.metadata_delta import MetadataDelta
from ottla.metadata.image.provenance import MetadataProvenance
from ottla.metadata.records.settings import ClientQuotaRecord, EntityData
from ottla.records.builder import build_batch
from ottla.records.record import SimpleRecord
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
        assert json.loads(done.stdout)["/image/features"]["metadataVersion"] == "Optional[4.3-IV0]"
        for words in (("cat", "/nowhere"), ("nonsense",)):
            failed = run_piped("metadata-shell", "-d", str(directory), "--json", *words)
            assert (failed.code, failed.stdout) == (1, "")

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
        assert "    0  cd image/cluster" in done.stdout
        assert done.stdout.splitlines()[-1].startswith("invalid choice: 'nonsense' (choose from 'cat', 'cd', ")

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
    assert _run("cd nowhere") == ["cd: nowhere: no such directory."]
    assert _run("cd local/version") == ["cd: local/version: not a directory."]


def test_looking() -> None:
    assert _run("cat /image/topics/byName/{a,ab}/id") == ["1", "2"]
    assert _run("cat /image", "cat x") == ["cat: /image: Is a directory", "cat: x: No such file or directory."]
    assert _run("tree /image/topics/byName/a") == ["0:", "  partition", "id:", "  1"]
    assert _run("tree x", "find x") == ["tree: x: No such file or directory.", "find: x: no such file or directory."]
    assert _run("find /local") == ["/local", "/local/version"]


def test_help() -> None:
    assert _run("man ls") == ["ls: List metadata nodes.", "", "usage: ls [PATH…]"]
    assert _run("man x")[0].startswith("man: unknown command x.")
    assert len(_run("help")) == 11
    assert _run("", "'") == ["': No closing quotation"]
    assert _run("pwd", "history 1") == ["/", "    1  history 1"]
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


def test_patterns() -> None:
    assert _run("cat /image/topics/byName/a{,b}/id") == ["1", "2"]
    assert _run("ls /image/topics/byName/??") == ["id"]
    assert _run("ls /image/topics/byName/\\\\*") == ["ls: /image/topics/byName/\\*: no such file or directory."]
    assert _run("ls /image/*/..") == ["empty", "topics"]
    assert _run("cat /local/{version") == ["cat: /local/{version: No such file or directory."]


def test_mistakes() -> None:
    assert _run("cat", "tree", "man") == ["too few arguments"] * 3
    assert _run("pwd x y") == ["unrecognized arguments: 'x y'"]
    assert _run("hi")[0] == "invalid choice: 'hi': did you mean 'history'?"
    assert _run("history x")[0].startswith("argument numEntriesToShow: could not convert 'x'")
    assert (
        Shell(TREE, typed=False).mistake(["pwd"]) == "invalid choice: 'pwd' (choose from 'cat', 'find', 'ls', 'tree')"
    )


def test_times_of_the_last_record() -> None:
    def shown(time_ms: int) -> str:
        return provenance_text(MetadataProvenance(7, 2, time_ms, True))

    assert shown(1_794_838_219_740) == "offset 7, epoch 2, time 2026-11-16T14:10:19.74Z[UTC]"
    assert shown(1_794_838_219_000) == "offset 7, epoch 2, time 2026-11-16T14:10:19Z[UTC]"
    assert shown(-1) == "offset 7, epoch 2, time 1969-12-31T23:59:59.999Z[UTC]"


def test_quotas_of_a_default_have_a_name() -> None:
    entity = [EntityData(entity_type="user", entity_name=None)]
    delta = MetadataDelta.from_empty(MetadataImage())
    delta.replay(ClientQuotaRecord(entity=entity, key="producer_byte_rate", value=2e7))
    shell = Shell(metadata_tree(delta.apply(MetadataProvenance())))
    assert list(shell.run("cat /image/clientQuotas/user()/*")) == ["2.0E7"]


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("empty.checkpoint", b"", "is empty"),
        ("00000000000000000000.log", b"no log", "after 0 of 6 bytes there is no whole batch"),
        ("any.checkpoint", bytes(build_batch([SimpleRecord(1, None, b"x")]))[:-1], "there is no whole batch"),
        ("any.log", bytes(build_batch([SimpleRecord(1, None, b"hello")])), "is none of the metadata's"),
    ],
)
def test_files_that_hold_no_metadata(tmp_path: Path, name: str, content: bytes, text: str) -> None:
    (tmp_path / name).write_bytes(content)
    done = run_piped("metadata-shell", "-s", str(tmp_path / name), "ls")
    assert (done.code, done.stdout) == (1, "")
    assert text in done.stderr
    assert done.stderr.count("\n") == 1
