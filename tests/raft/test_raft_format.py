"""Formatting data directories, and the options that say how."""

from random import Random

import pytest

from ottla.common.uuid import Uuid
from ottla.log.meta_properties import read_meta_properties
from ottla.raft.bootstrap_checkpoint import read_bootstrap_checkpoint
from ottla.raft.dynamic_voters import parse_dynamic_voters
from ottla.raft.errors import FormatterError
from ottla.raft.format import FormatRequest, effective_kraft_version, format_directories
from ottla.raft.initial_controllers import initial_controllers
from ottla.raft.voter_set import VoterSet
from ottla.records.control import Endpoint
from tests.raft.quorum_of_one import DIRECTORY_ID, LOCAL, RawSerde, client
from tests.raft.turns import TurnRuntime
from tests.sim.crash_files import CrashFiles, CrashPolicy, PowerLoss

CLUSTER = "b3R0bGEtb3JhY2xlLTAwMQ"


def request(**options: object) -> FormatRequest:
    given: dict[str, object] = {
        "cluster_id": CLUSTER,
        "node_id": 1,
        "directories": ["/b", "/a"],
        "metadata_log_directory": "/a",
        "bootstrap_records": [b"level"],
        "bootstrap_description": "BootstrapMetadata(…)",
        "metadata_version": "4.3-IV0",
    }
    return FormatRequest(**(given | options))  # type: ignore[arg-type]


def formatted(runtime: TurnRuntime, **options: object) -> list[str]:
    return runtime.run(format_directories(runtime, request(**options)))


def test_every_directory_gets_an_identity_and_the_first_records() -> None:
    runtime = TurnRuntime()
    assert formatted(runtime) == [
        "Bootstrap metadata: BootstrapMetadata(…)",
        "Formatting metadata directory /a with metadata.version 4.3-IV0.",
        "Formatting data directory /b with metadata.version 4.3-IV0.",
    ]
    properties = [read_meta_properties(runtime.files, path) for path in ("/a", "/b")]
    assert [(one.cluster_id, one.node_id) for one in properties if one is not None] == [(CLUSTER, 1)] * 2
    assert len({one.directory_id for one in properties if one is not None}) == 2
    for path in ("/a", "/b"):
        assert read_bootstrap_checkpoint(runtime.files, path, RawSerde()) == [b"level"]
        assert runtime.files.list_dir(path) == ["bootstrap.checkpoint", "meta.properties"]


def test_a_standalone_directory_is_its_own_quorum() -> None:
    runtime = TurnRuntime()
    lines = formatted(runtime, initial_controllers=VoterSet([LOCAL]), kraft_version=1)
    assert lines[1] == "Formatting dynamic metadata voter directory /a with metadata.version 4.3-IV0."
    properties = read_meta_properties(runtime.files, "/a")
    assert properties is not None
    assert properties.directory_id == DIRECTORY_ID
    raft = client(runtime, "/a", static=False)
    runtime.run(raft.start())
    assert (raft.voters, raft.kraft_version, raft.leader_and_epoch.epoch) == (VoterSet([LOCAL]), 1, 1)


def test_what_is_formatted_stays_as_it_is() -> None:
    runtime = TurnRuntime()
    formatted(runtime, directories=["/a"])
    before = runtime.files.read("/a/meta.properties")
    with pytest.raises(FormatterError, match=r"Log directory /a is already formatted\. Use --ignore-formatted"):
        formatted(runtime)
    assert formatted(runtime, ignore_formatted=True)[1:] == [
        "Formatting data directory /b with metadata.version 4.3-IV0."
    ]
    assert formatted(runtime, ignore_formatted=True) == ["All of the log directories are already formatted."]
    assert runtime.files.read("/a/meta.properties") == before


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"cluster_id": "another"}, "Invalid cluster.id in: /a/meta.properties. Expected another, but read " + CLUSTER),
        ({"node_id": 2}, "Stored node id 1 doesn't match previous node id 2 in /a/meta.properties"),
        ({"node_id": -1}, "You must specify a valid non-negative node ID."),
        ({"cluster_id": ""}, "You must specify the cluster id."),
        ({"directories": []}, "You must specify at least one directory to format"),
        ({"metadata_log_directory": "/c"}, "The specified metadata log directory, /c was not one of"),
    ],
)
def test_what_belongs_elsewhere_is_refused(options: dict[str, object], complaint: str) -> None:
    runtime = TurnRuntime()
    formatted(runtime, directories=["/a"])
    with pytest.raises(FormatterError) as refused:
        formatted(runtime, ignore_formatted=True, **options)
    assert str(refused.value).startswith(complaint)


def test_a_directory_that_cannot_be_read_is_passed_over() -> None:
    runtime = TurnRuntime()
    runtime.files.make_dir("/b")
    runtime.files.open("/b/meta.properties", create=True).pwrite(b"version=9", 0)
    lines = formatted(runtime)
    assert lines[0] == "I/O error trying to read log directory /b. Ignoring..."
    assert lines[-1].startswith("Formatting metadata directory /a")


def test_a_directory_with_an_identity_has_everything() -> None:
    for step in range(100):
        runtime = TurnRuntime()
        files = runtime.files
        assert isinstance(files, CrashFiles)
        files.power_off_after(step)
        ended = True
        try:
            formatted(runtime, directories=["/a"], initial_controllers=VoterSet([LOCAL]), kraft_version=1)
        except PowerLoss:
            runtime.drop()
            ended = False
        files.crash(Random(step), policy=CrashPolicy.RANDOM)
        if files.exists("/a/meta.properties"):
            assert read_bootstrap_checkpoint(files, "/a", RawSerde()) == [b"level"]
            raft = client(runtime, "/a", static=False)
            runtime.run(raft.start())
            assert raft.kraft_version == 1
        if ended:
            assert files.exists("/a/meta.properties")
            return
    raise AssertionError("formatting never ended")


@pytest.mark.parametrize(
    ("configured", "dynamic", "expected"), [(None, True, 1), (None, False, 0), (0, False, 0), (1, True, 1)]
)
def test_the_kraft_version(configured: int | None, dynamic: bool, expected: int) -> None:
    assert effective_kraft_version(configured, has_dynamic_quorum=dynamic) == expected


@pytest.mark.parametrize(("configured", "dynamic"), [(0, True), (1, False)])
def test_a_kraft_version_that_contradicts_the_quorum(configured: int, dynamic: bool) -> None:
    with pytest.raises(FormatterError, match=rf"Cannot set kraft\.version to {configured}"):
        effective_kraft_version(configured, has_dynamic_quorum=dynamic)


ID = Uuid.random(Random(5))


def test_dynamic_voters() -> None:
    voters = parse_dynamic_voters(f"2@[::1]:9093:{ID}, 1@localhost:1:{DIRECTORY_ID}", "controller")
    assert voters.ids == (1, 2)
    node = voters.node(2)
    assert node is not None
    assert node.key == (2, ID)
    assert node.endpoints == (Endpoint(name="CONTROLLER", host="::1", port=9093),)
    assert node.supported_versions == (0, 1)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "No voters given."),
        ("1", "No @ found"),
        ("@a:1:x", "Invalid @ at beginning"),
        ("x@a:1:x", "Failed to parse node id"),
        ("-1@a:1:x", "Invalid negative node id -1"),
        ("1@", "No hostname found"),
        ("1@[a:1", "no right bracket"),
        ("1@[a]1", "Port section must start with a colon"),
        ("1@a", "No colon following hostname"),
        ("1@a:1", "No colon following port"),
        ("1@a:x:x", "Failed to parse port"),
        ("1@a:70000:x", "Invalid port 70000"),
        ("1@a:1:x", "Failed to parse directory ID"),
        (f"1@a:1:{ID},1@b:1:{ID}", "Node id 1 was specified more than once."),
    ],
)
def test_dynamic_voters_that_make_no_sense(text: str, complaint: str) -> None:
    with pytest.raises(FormatterError, match=complaint):
        parse_dynamic_voters(text, "CONTROLLER")


def controllers(**options: object) -> VoterSet | None:
    given: dict[str, object] = {
        "node_id": 1,
        "is_controller": True,
        "has_static_voters": False,
        "controller_listener": Endpoint(name="CONTROLLER", host="", port=9093),
        "listener_name": "CONTROLLER",
        "standalone": False,
        "given": None,
        "none_wanted": False,
        "rng": Random(1),
    }
    return initial_controllers(**(given | options))  # type: ignore[arg-type]


def test_initial_controllers() -> None:
    alone = controllers(standalone=True)
    assert alone is not None
    (voter,) = alone
    assert (voter.key.id, voter.endpoints[0].host) == (1, "localhost")
    named = controllers(given=f"3@a:1:{ID}")
    assert named is not None
    assert named.ids == (3,)
    assert controllers(none_wanted=True) is None
    assert controllers(is_controller=False) is None
    assert controllers(has_static_voters=True) is None


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({}, "you must specify one of the following"),
        ({"standalone": True, "has_static_voters": True}, "You cannot specify controller.quorum.voters"),
        ({"given": "x", "has_static_voters": True}, "You cannot specify controller.quorum.voters"),
        ({"standalone": True, "is_controller": False}, "You can only use --standalone on a controller."),
        ({"standalone": True, "controller_listener": None}, "No controller listeners found."),
    ],
)
def test_options_that_contradict_each_other(options: dict[str, object], complaint: str) -> None:
    with pytest.raises(FormatterError, match=complaint):
        controllers(**options)
