"""What format accepts starts, what could not start it refuses, and a cluster of Apache's opens whatever it has."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from ottla.common.errors import InvalidConfigError, KafkaError
from ottla.config.kafka_config import KafkaConfig
from ottla.metadata.bootstrap import BootstrapMetadata
from ottla.metadata.features import NOT_YET_SERVED, format_levels
from ottla.metadata.metadata_version import LATEST_PRODUCTION
from ottla.protocol.messages.api_versions import ApiVersionsRequest
from ottla.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from ottla.raft.dynamic_voters import parse_dynamic_voters
from ottla.raft.errors import FormatterError
from ottla.raft.format import FormatRequest, format_directories
from ottla.runtime.live import AsyncioRuntime
from ottla.server.node import Node
from ottla.server.storage import FormatOptions, format_storage
from ottla.testing import Broker
from tests.apache.properties import Ports, free_ports, server_properties, static_voters
from tests.node import CLUSTER_ID
from tests.oracle import Oracle
from tests.ottla_broker import OttlaBroker
from tests.server.records_on_wire import append, read_values
from tests.server.wire import BOUND_S, Wire, create_topic

DIRECTORY_ID, OTHER_DIRECTORY_ID = "b3R0bGEtZGlyLTAwMDAwMQ", "b3R0bGEtZGlyLTAwMDAwMg"
SHARE = "share.version"
UPGRADE, SAFE_DOWNGRADE = 1, 2


@pytest.fixture
def ports() -> Ports:
    """Where the node would listen."""
    return free_ports()


def configured(directory: Path, ports: Ports, changes: Mapping[str, str]) -> KafkaConfig:
    return KafkaConfig.from_props({**server_properties(directory / "data", ports), **changes}, warn=False)


def voter(ports: Ports, node_id: int, directory_id: str) -> str:
    return f"{node_id}@127.0.0.1:{ports.controller}:{directory_id}"


def formatted(config: KafkaConfig, options: FormatOptions) -> None:
    runtime = AsyncioRuntime()
    try:
        asyncio.run(format_storage(runtime, config, CLUSTER_ID, options))
    finally:
        runtime.close()


def formatted_without_checks(
    config: KafkaConfig, *, voters: str | None = None, kraft_version: int = 0, features: Mapping[str, int] | None = None
) -> None:
    """As Apache's tool would: with any voters, and any features."""
    bootstrap = BootstrapMetadata.from_versions(LATEST_PRODUCTION, features or format_levels(), "a test")
    request = FormatRequest(
        cluster_id=CLUSTER_ID,
        node_id=config.kraft.node_id,
        directories=[config.metadata_log_dir],
        metadata_log_directory=config.metadata_log_dir,
        bootstrap_records=bootstrap.values(),
        bootstrap_description=bootstrap.describe(),
        metadata_version=str(LATEST_PRODUCTION),
        kraft_version=kraft_version,
        initial_controllers=None if voters is None else parse_dynamic_voters(voters, "CONTROLLER"),
    )
    runtime = AsyncioRuntime()
    try:
        asyncio.run(format_directories(runtime, request))
    finally:
        runtime.close()


async def start(config: KafkaConfig) -> None:
    node = Node(config)
    await node.start()  # and stop, if that fails
    await node.stop()


# -- what could not start ---------------------------------------------------------------------------------------------


def alone(role: str, listeners: str) -> dict[str, str]:
    return {"process.roles": role, "listeners": listeners}


@pytest.mark.parametrize(
    ("changes", "options", "complaint"),
    [
        ({}, {"initial_controllers": "1, 2"}, r"not the only voter of its quorum \(1, 2\)"),
        ({}, {"initial_controllers": "2"}, r"not the only voter of its quorum \(2\)"),
        ({}, {"no_initial_controllers": True}, r"not the only voter of its quorum \(nobody\)"),
        ({"voters": "2"}, {}, r"not the only voter of its quorum \(1, 2\)"),
        (
            alone("controller", "CONTROLLER://127.0.0.1:0"),
            {"standalone": True},
            "process.roles=controller is not supported yet",
        ),
        (
            alone("broker", "PLAINTEXT://127.0.0.1:0"),
            {},
            "process.roles=broker is not supported yet",
        ),
    ],
    ids=["initial-controllers", "another-controller", "no-initial-controllers", "voters", "controller", "broker"],
)
def test_format_refuses_what_cannot_start_in_the_words_of_the_start(
    tmp_path: Path, ports: Ports, changes: dict[str, str], options: dict[str, str | bool], complaint: str
) -> None:
    if "voters" in changes:
        changes = static_voters(ports, free_ports())
    named = options.get("initial_controllers")
    if isinstance(named, str):
        ids = {"1": DIRECTORY_ID, "2": OTHER_DIRECTORY_ID}
        named = ",".join(voter(ports, int(node_id), ids[node_id]) for node_id in named.split(", "))
        options = {"initial_controllers": named}
    config = configured(tmp_path, ports, changes)
    with pytest.raises(InvalidConfigError, match=complaint) as at_format:
        formatted(config, FormatOptions(**options))  # type: ignore[arg-type]
    assert not (tmp_path / "data").exists(), "nothing is begun"
    kraft_version = 0 if changes else 1
    formatted_without_checks(config, voters=named if isinstance(named, str) else None, kraft_version=kraft_version)
    with pytest.raises(InvalidConfigError) as at_start:
        asyncio.run(start(config))
    assert str(at_format.value) == str(at_start.value)


def test_the_tool_says_it_in_one_line(tmp_path: Path, ports: Ports) -> None:
    path = tmp_path / "server.properties"
    properties = server_properties(tmp_path / "data", ports)
    path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    command = ["storage", "format", "-c", str(path), "-t", CLUSTER_ID, "--no-initial-controllers"]
    done = subprocess.run(
        [sys.executable, "-m", "ottla", *command], capture_output=True, text=True, timeout=BOUND_S, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("ottla storage: Node 1 is not the only voter")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", NOT_YET_SERVED)
def test_format_refuses_a_feature_that_is_not_served(tmp_path: Path, ports: Ports, name: str) -> None:
    config = configured(tmp_path, ports, {})
    with pytest.raises(FormatterError, match=f"{name}=1 is not supported yet"):
        formatted(config, FormatOptions(standalone=True, features={name: 1}))
    formatted(config, FormatOptions(standalone=True, features={name: 0}))


@pytest.mark.parametrize("directory_id", ["AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAQ"])
def test_format_refuses_a_directory_id_that_no_controller_registers(
    tmp_path: Path, ports: Ports, directory_id: str
) -> None:
    config = configured(tmp_path, ports, {})
    with pytest.raises(FormatterError, match=f"Reserved directory ID {directory_id}"):
        formatted(config, FormatOptions(initial_controllers=voter(ports, 1, directory_id)))


# -- what starts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [["--initial-controllers"], ["--standalone"], []], ids=lambda each: "".join(each))
def test_a_node_that_is_its_only_voter_starts(tmp_path: Path, ports: Ports, options: list[str]) -> None:
    if "--initial-controllers" in options:
        options = [*options, voter(ports, 1, DIRECTORY_ID)]
    node = OttlaBroker(tmp_path, {} if options else static_voters(ports), ports)
    node.format_storage(["--config", str(node.write_properties()), "--cluster-id", CLUSTER_ID, *options])
    with node:
        create_topic(node.bootstrap, "t")
        append(node.bootstrap, "t", b"value")
        assert read_values(node.bootstrap, "t") == [b"value"]


# -- a cluster that has features which are not served -----------------------------------------------------------------


def features_of(bootstrap: str, version: int = 4) -> tuple[dict[str, tuple[int, int]], dict[str, int]]:
    """What is supported and what is finalized, as ApiVersions says it."""
    named = ApiVersionsRequest(client_software_name="wire", client_software_version="1")
    with Wire(bootstrap) as wire:
        answer = wire.ask(named, version)
    supported = {each.name: (each.min_version, each.max_version) for each in answer.supported_features}
    return supported, {each.name: each.max_version_level for each in answer.finalized_features}


def update(bootstrap: str, level: int, upgrade_type: int) -> str | None:
    """Change share.version; returns the complaint."""
    change = FeatureUpdateKey(feature=SHARE, max_version_level=level, upgrade_type=upgrade_type)
    with Wire(bootstrap) as wire:
        answer = wire.ask(UpdateFeaturesRequest(feature_updates=[change]), 2)
    assert (answer.error_code == 0) is (answer.error_message is None)
    message: str | None = answer.error_message
    return message


@pytest.fixture
def from_elsewhere(tmp_path: Path, ports: Ports) -> Iterator[Broker]:
    """A node on a directory whose cluster has share.version 1 and streams.version 1."""
    features = {**format_levels(), **dict.fromkeys(NOT_YET_SERVED, 1)}
    config = configured(tmp_path, ports, {})
    named = voter(ports, 1, DIRECTORY_ID)
    formatted_without_checks(config, voters=named, kraft_version=1, features=features)
    with Broker(directory=tmp_path / "data") as broker:
        yield broker


def test_features_that_are_not_served_are_not_offered(tmp_path: Path) -> None:
    with Broker(directory=tmp_path) as broker:
        supported, finalized = features_of(broker.bootstrap_servers)
        assert not set(NOT_YET_SERVED) & (supported.keys() | finalized.keys())
        complaint = update(broker.bootstrap_servers, 1, UPGRADE)
        assert complaint is not None
        assert "share.version. Local controller 1 does not support this feature." in complaint
        assert SHARE not in features_of(broker.bootstrap_servers)[1]


def test_a_cluster_that_has_them_opens_says_so_and_goes_down(from_elsewhere: Broker) -> None:
    address = from_elsewhere.bootstrap_servers
    supported, finalized = features_of(address)
    assert [supported[name] for name in NOT_YET_SERVED] == [(0, 1)] * 2
    assert [finalized[name] for name in NOT_YET_SERVED] == [1] * 2
    assert not features_of(address, version=3)[0].keys() & set(NOT_YET_SERVED)
    from_elsewhere.restart()
    assert update(address, 0, SAFE_DOWNGRADE) is None
    supported, finalized = features_of(address)
    assert SHARE not in supported.keys() | finalized.keys()
    assert (supported["streams.version"], finalized["streams.version"]) == ((0, 1), 1)
    complaint = update(address, 1, UPGRADE)
    assert complaint is not None
    assert "does not support this feature" in complaint
    from_elsewhere.restart()
    assert SHARE not in features_of(address)[0]


def test_a_level_that_nobody_knows_is_not_registered(tmp_path: Path, ports: Ports) -> None:
    config = configured(tmp_path, ports, {"initial.broker.registration.timeout.ms": "100"})
    features = {**format_levels(), SHARE: 2}
    formatted_without_checks(config, voters=voter(ports, 1, DIRECTORY_ID), kraft_version=1, features=features)
    with pytest.raises(KafkaError, match="UNSUPPORTED_VERSION"):
        asyncio.run(start(config))


def test_apaches_tools_see_it_and_take_it_down(oracle: Oracle, tmp_path: Path, ports: Ports) -> None:
    tool = "org.apache.kafka.tools.FeatureCommand"
    with oracle.broker(tmp_path, {}, ports) as apache:  # it formats with share.version 1
        apache.stop()
    with OttlaBroker(tmp_path, {}, ports) as node:
        server = ("--bootstrap-server", node.bootstrap)
        described = oracle.run(tool, *server, "describe")
        (line,) = [line for line in described.stdout.splitlines() if SHARE in line]
        assert line.split()[2:8:2] == ["SupportedMinVersion:", "SupportedMaxVersion:", "FinalizedVersionLevel:"]
        assert line.split()[3:8:2] == ["0", "1", "1"]
        done = oracle.run(tool, *server, "downgrade", "--feature", f"{SHARE}=0")
        assert done.returncode == 0, done
        assert SHARE not in oracle.run(tool, *server, "describe").stdout
        refused = oracle.run(tool, *server, "upgrade", "--feature", f"{SHARE}=1")
        assert refused.returncode == 1
        assert "does not support this feature" in refused.stdout
        node.stop()
    with oracle.broker(tmp_path, {}, ports) as apache:  # and it opens what Ottla has left
        assert apache.is_running
        shown = oracle.run(tool, "--bootstrap-server", apache.bootstrap, "describe").stdout
        (line,) = [line for line in shown.splitlines() if SHARE in line]
        assert line.split()[3:8:2] == ["0", "1", "0"]
