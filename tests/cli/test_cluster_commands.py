"""cluster, features, metadata-quorum, broker-api-versions, log-dirs and get-offsets beside Apache's tools."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from ottla.cli.broker_api_versions import api_documents, broker_lines
from ottla.cli.cluster import endpoint_lines
from ottla.cli.errors import CommandError
from ottla.cli.feature_levels import level_text
from ottla.cli.features import name_and_level, update_line
from ottla.cli.get_offsets import parse_time, partition_rules
from ottla.protocol.message import VersionRange
from tests.cli.beside import Beside, lines, one_line_error
from tests.cli.terminal import run_piped
from tests.node import CLUSTER_ID, Node
from tests.oracle import Oracle
from tests.ottla_broker import OttlaBroker


@pytest.fixture(scope="module")
def filled(kafka: Node) -> Iterator[str]:
    """A topic of three partitions with 0, 1 and 2 records."""
    topic = "filled"
    made = ("--topic", topic, "--partitions", "3", "--config", "retention.ms=-1")
    created = run_piped("topics", "--create", *made, "--bootstrap-server", kafka.bootstrap)
    assert created.code == 0, created
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for partition, timestamp in ((1, 1_700_000_000_000), (2, 1_700_000_001_000), (2, 1_700_000_002_000)):
        producer.produce(topic, b"x", partition=partition, timestamp=timestamp)
    assert producer.flush(30) == 0
    yield topic


class TestCluster:
    def test_id(self, beside: Beside) -> None:
        printed = beside.same("cluster", "cluster-id")
        assert beside.document("cluster", "cluster-id") == {"cluster_id": printed.split()[-1]}
        assert beside.screen("cluster", "cluster-id").text == printed

    def test_endpoints(self, beside: Beside) -> None:
        beside.same("cluster", "list-endpoints")
        beside.same("cluster", "list-endpoints", "--include-fenced-brokers")
        (node,) = beside.document("cluster", "list-endpoints")
        assert set(node) == {"id", "host", "port", "rack", "state", "endpoint_type"}
        assert f"{node['host']}:{node['port']}" == beside.bootstrap
        assert re.search(r"1 +\S+ +\d+ +- +unfenced +broker", beside.screen("cluster", "list-endpoints").text)

    def test_controllers(self, beside: Beside, kafka: Node) -> None:
        controller = ("--bootstrap-controller", f"localhost:{kafka.ports.controller}")
        beside.same("cluster", "cluster-id", *controller)
        beside.same("cluster", "list-endpoints", *controller)

    @pytest.mark.parametrize(
        ("text", "arguments"),
        [
            ("", ["--bootstrap-server", "localhost:1"]),
            ("", ["no-such-command"]),
            ("--id", ["unregister"]),
            ("", ["cluster-id", "--bootstrap-server", "localhost:1", "--bootstrap-controller", "localhost:2"]),
            ("cannot be specified together", ["cluster-id", "--config", "a", "--command-config", "b"]),
        ],
    )
    def test_failures(self, beside: Beside, text: str, arguments: list[str]) -> None:
        beside.same_failure(text, "cluster", *arguments)

    def test_without_a_server(self, beside: Beside) -> None:
        ours, theirs = beside.bare("cluster", "cluster-id")
        assert ours.code == theirs.returncode == 1
        required = "one of the arguments --bootstrap-server/-b --bootstrap-controller/-C is required"
        assert required in one_line_error("cluster", ours)

    def test_unregistering_nobody(self, beside: Beside) -> None:
        beside.same_failure("4711", "cluster", "unregister", "--id", "4711")

    def test_the_old_option(self, beside: Beside, hasty: str) -> None:
        beside.same("cluster", "cluster-id", "--config", hasty)

    def test_no_server(self, beside: Beside, hasty: str) -> None:
        line = beside.same_failure(
            "", "cluster", "cluster-id", "--bootstrap-server", "localhost:1", "--command-config", hasty
        )
        assert "is the server running" in line

    def test_lines_of_several(self) -> None:
        columns = ("ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE")
        rows = [(1, "a", 9092, "r1", "unfenced", "broker"), (2, "longer", 9092, None, "fenced", "broker")]
        assert endpoint_lines(columns, rows) == [
            "ID         HOST   PORT       RACK STATE      ENDPOINT_TYPE  ",
            "1          a      9092       r1 unfenced   broker         ",
            "2          longer 9092       null fenced     broker         ",
        ]


def _no_epoch(output: str) -> list[str]:
    """The finalized epoch is an offset that grows."""
    return [re.sub(r"Epoch: \d+", "Epoch: N", line) for line in output.splitlines()]


class TestFeatures:
    def test_described(self, beside: Beside) -> None:
        beside.same("features", "describe", normal=_no_epoch)
        beside.same("features", "describe", "--node-id", "1", normal=_no_epoch)
        described = beside.document("features", "describe")
        found = {each["feature"]: each for each in described["features"]}
        assert found["group.version"] == {
            "feature": "group.version", "supported_min": 0, "supported_max": 1, "finalized": 1
        }  # fmt: skip
        assert "metadata.version" in beside.screen("features", "describe").text

    @pytest.mark.parametrize(
        "arguments",
        [
            ["version-mapping"],
            ["version-mapping", "--release-version", "3.9-IV0"],
            ["version-mapping", "--release-version", "4.0"],
            ["feature-dependencies", "--feature", "metadata.version=20", "--feature", "group.version=1"],
            ["feature-dependencies", "--feature", "eligible.leader.replicas.version=1"],
        ],
        ids=" ".join,
    )
    def test_levels_of_releases(self, beside: Beside, arguments: list[str]) -> None:
        beside.same("features", *arguments)

    @pytest.mark.parametrize(
        ("text", "arguments"),
        [
            ("", []),
            ("You must specify at least one feature to upgrade", ["upgrade"]),
            ("Can not specify `release-version` with other feature flags", [
                "upgrade", "--release-version", "4.0", "--feature", "group.version=1"]),
            ("equals sign not found", ["upgrade", "--feature", "group.version"]),
            ("unable to parse x as a short", ["upgrade", "--feature", "group.version=x"]),
            ("Feature group.version was specified more than once", [
                "upgrade", "--feature", "group.version=1", "--feature", "group.version=1"]),
            ("Unknown metadata.version '9.9'", ["version-mapping", "--release-version", "9.9"]),
            ("Unknown feature: no.such", ["feature-dependencies", "--feature", "no.such=1"]),
            ("No feature:group.version with feature level 9", [
                "feature-dependencies", "--feature", "group.version=9"]),
            ("Unknown metadata.version 999", ["feature-dependencies", "--feature", "metadata.version=999"]),
            ("Invalid node id -1: must be non-negative", ["describe", "--node-id", "-1"]),
        ],
    )  # fmt: skip
    def test_failures(self, beside: Beside, text: str, arguments: list[str]) -> None:
        beside.same_failure(text, "features", *arguments)

    def test_an_update_that_fails(self, beside: Beside) -> None:
        arguments = ("upgrade", "--feature", "no.such=1", "--dry-run")
        ours, theirs = beside.ours("features", *arguments), beside.theirs("features", *arguments)
        assert ours.code == theirs.returncode == 1
        assert ours.stdout == theirs.stdout
        assert "1 out of 1 operation(s) failed" in one_line_error("features", ours)

    def test_a_feature_that_is_not_served(self, kafka: Node, beside: Beside) -> None:
        """Ottla's nodes offer no share.version, and no upgrade to a release brings it."""
        if not isinstance(kafka, OttlaBroker):
            pytest.skip("Apache serves it")
        arguments = ("upgrade", "--feature", "share.version=1")
        ours, theirs = beside.ours("features", *arguments), beside.theirs("features", *arguments)
        assert ours.code == theirs.returncode == 1
        assert ours.stdout == theirs.stdout
        assert "share.version. Local controller 1 does not support this feature." in ours.stdout
        assert "share.version" not in beside.same("features", "describe")
        release = beside.ours("features", "upgrade", "--release-version", "4.3-IV0", "--dry-run")
        assert release.code == 0, release
        assert "share.version is left out: the cluster does not support it." in release.stdout
        assert "share.version can be" not in release.stdout

    def test_an_update_that_could_be(self, beside: Beside) -> None:
        arguments = ("downgrade", "--feature", "group.version=0", "--dry-run")
        beside.same("features", *arguments)
        assert beside.document("features", *arguments) == [{"feature": "group.version", "level": 0, "error": None}]

    def test_words(self) -> None:
        assert name_and_level(" a = 3") == ("a", 3)
        assert update_line("upgrade", "f", 1, None, dry_run=False) == "f was upgraded to 1."
        assert update_line("disable", "f", 0, None, dry_run=True) == "f can be disabled."
        assert update_line("downgrade", "f", 0, "No.", dry_run=False) == "Could not downgrade f to 0. No."
        assert update_line("disable", "f", 0, "No.", dry_run=True) == "Can not disable f. No."
        assert level_text("metadata.version", 999) == "UNKNOWN 999"


def _quorum(output: str) -> list[str]:
    """Offsets and times grow between two looks."""
    return [re.sub(r"\d{1,13}(?= *\t)|(?<=HighWatermark:          )\d+", "N", line) for line in output.splitlines()]


class TestMetadataQuorum:
    def test_status(self, beside: Beside) -> None:
        beside.same("metadata-quorum", "describe", "--status", normal=_quorum)
        status = beside.document("metadata-quorum", "describe", "--status")
        assert (status["leader_id"], status["max_follower_lag"], len(status["voters"])) == (1, 0, 1)
        assert "HighWatermark" in beside.screen("metadata-quorum", "describe", "--status").text

    def test_replication(self, beside: Beside) -> None:
        printed = beside.same("metadata-quorum", "describe", "--replication", normal=_quorum)
        assert printed.splitlines()[1].split()[-1] == "Leader"
        (replica,) = beside.document("metadata-quorum", "describe", "--replication")
        assert (replica["node_id"], replica["lag"], replica["status"]) == (1, 0, "Leader")
        human = beside.ours("metadata-quorum", "describe", "--replication", "--human-readable")
        assert len(re.findall(r"\d+ ms ago", human.stdout)) == 2
        assert "Leader" in beside.screen("metadata-quorum", "describe", "--replication").text

    def test_controllers(self, beside: Beside, kafka: Node) -> None:
        controller = ("--bootstrap-controller", f"localhost:{kafka.ports.controller}")
        beside.same("metadata-quorum", *controller, "describe", "--status", normal=_quorum)

    @pytest.mark.parametrize(
        ("text", "arguments"),
        [
            ("", []),
            ("One of --status or --replication must be specified with describe sub-command", ["describe"]),
            ("Only one of --status or --replication should be specified", ["describe", "--status", "--replication"]),
            (
                "--human-readable is only supported along with --replication",
                ["describe", "--status", "--human-readable"],
            ),
            ("You must supply the configuration file of the controller you are adding", ["add-controller"]),
            ("--controller-id", ["remove-controller"]),
            ("Invalid negative --controller-id: -1", ["remove-controller", "-i", "-1", "-d", "AAAAAAAAAAAAAAAAAAAAAg"]),
            ("Failed to parse --controller-directory-id", ["remove-controller", "-i", "1", "-d", "?"]),
        ],
    )
    def test_failures(self, beside: Beside, text: str, arguments: list[str]) -> None:
        beside.same_failure(text, "metadata-quorum", *arguments)

    def test_removing_without_doing_it(self, beside: Beside) -> None:
        arguments = ("remove-controller", "-i", "7", "-d", "AAAAAAAAAAAAAAAAAAAAAg", "--dry-run")
        beside.same("metadata-quorum", *arguments)
        assert beside.document("metadata-quorum", *arguments)["dry_run"] is True

    def test_adding_without_doing_it(
        self, beside: Beside, oracle: Oracle, tmp_path: Path, written: Callable[[str, str], str]
    ) -> None:
        data = tmp_path / "data"
        properties = (
            f"node.id=7\nprocess.roles=controller\nlog.dirs={data}\ncontroller.listener.names=CONTROLLER\n"
            "listeners=CONTROLLER://:19999\ncontroller.quorum.bootstrap.servers=localhost:19999\n"
        )
        path = written("controller.properties", properties)
        first = ("--command-config", path, "add-controller", "--dry-run")
        beside.same_failure(str(data), "metadata-quorum", *first)
        formatted = oracle.run(  # ours formats no controller that cannot start yet
            "kafka.tools.StorageTool", "format", "-c", path, "-t", CLUSTER_ID, "--no-initial-controllers"
        )
        assert formatted.returncode == 0, formatted
        ours = beside.same("metadata-quorum", *first)
        assert ours.startswith("DRY RUN of adding controller 7 with directory id ")
        assert ours.endswith("and endpoints: CONTROLLER://localhost:19999\n")
        for missing in ("node.id", "process.roles", "log.dirs", "controller.listener.names", "listeners"):
            path = written("bad.properties", re.sub(rf"(?m)^{re.escape(missing)}=.*\n", "", properties))
            beside.same_failure("", "metadata-quorum", "--command-config", path, "add-controller", "--dry-run")


class TestBrokerApiVersions:
    def test_the_same_lines(self, beside: Beside) -> None:
        beside.same("broker-api-versions")

    def test_json_and_terminal(self, beside: Beside) -> None:
        (broker,) = beside.document("broker-api-versions")
        produce = broker["apis"][0]
        assert (produce["key"], produce["name"], produce["max"], produce["usable"]) == (0, "Produce", 13, 13)
        assert re.search(r"Produce +0 +0 +13 +13", beside.screen("broker-api-versions").text)

    def test_failures(self, beside: Beside, hasty: str) -> None:
        ours = beside.ours("broker-api-versions", "--bootstrap-server", "localhost:1", "--command-config", hasty)
        theirs = beside.theirs("broker-api-versions", "--bootstrap-server", "localhost:1", "--command-config", hasty)
        assert ours.code == theirs.returncode == 1
        assert "is the server running" in one_line_error("broker-api-versions", ours)

    def test_other_brokers(self) -> None:
        apis = api_documents({0: VersionRange(99, 100), 1: VersionRange(4, 4), 999: VersionRange(0, 3)})
        broker = {"id": 1, "host": "h", "port": 1, "rack": "r", "apis": apis, "error": None}
        printed = broker_lines(broker)
        assert printed[0] == "h:1 (id: 1 rack: r isFenced: false) -> ("
        assert printed[1] == "\tProduce(0): 99 to 100 [unusable: node too new],"
        assert printed[2] == "\tFetch(1): 4 [usable: 4],"
        assert printed[3] == "\tListOffsets(2): UNSUPPORTED,"
        assert printed[-2:] == ["\tUNKNOWN(999): 0 to 3", ")"]
        assert broker_lines({**broker, "error": "gone"}) == ["h:1 (id: 1 rack: r isFenced: false) -> ERROR: gone"]


def _log_dirs(output: str) -> tuple[list[str], Any]:
    """The first lines, and the document with its lists in order."""
    *first, last = output.splitlines()
    document = json.loads(last)
    for broker in document["brokers"]:
        for directory in broker["logDirs"]:
            directory["partitions"].sort(key=lambda each: each["partition"])
    return first, document


@pytest.mark.usefixtures("filled")
class TestLogDirs:
    def test_the_same(self, beside: Beside, filled: str) -> None:
        beside.same("log-dirs", "--describe", "--topic-list", filled, normal=_log_dirs)
        beside.same("log-dirs", "--describe", "--topic-list", "nothing", normal=lines)
        beside.same("log-dirs", "--describe", "--topic-list", filled, "--broker-list", "1", normal=_log_dirs)
        document = beside.document("log-dirs", "--describe", "--topic-list", filled)
        assert len(document["brokers"][0]["logDirs"][0]["partitions"]) == 3
        screen = beside.screen("log-dirs", "--describe", "--topic-list", filled)
        assert re.search(r"filled-2 +\d+ +0 +-", screen.text)

    @pytest.mark.parametrize(
        ("text", "arguments"),
        [
            ('Missing required argument "[describe]"', ["--topic-list", "x"]),
            ("The given brokers do not exist from --broker-list: 7,9. Current existent brokers: 1", [
                "--describe", "--broker-list", "7,9"]),
            ("x", ["--describe", "--broker-list", "x"]),
        ],
    )  # fmt: skip
    def test_failures(self, beside: Beside, text: str, arguments: list[str]) -> None:
        beside.same_failure(text, "log-dirs", *arguments)


@pytest.mark.usefixtures("filled")
class TestGetOffsets:
    @pytest.mark.parametrize(
        "arguments",
        [
            ["--topic", "filled"],
            ["--topic", "filled", "--partitions", "0,2"],
            ["--topic", "filled", "--time", "earliest"],
            ["--topic", "filled", "--time", "-2"],
            ["--topic", "filled", "--time", "max-timestamp"],
            ["--topic", "filled", "--time", "earliest-local"],
            ["--topic", "filled", "--time", "latest-tiered"],
            ["--topic", "filled", "--time", "1700000001500"],
            ["--topic-partitions", "filled:1,fil.*:2"],
            ["--topic-partitions", "filled:1-"],
            ["--topic-partitions", "filled:-1"],
            ["--topic-partitions", "filled:0-2", "--exclude-internal-topics"],
        ],
        ids=" ".join,
    )
    def test_the_same_lines(self, beside: Beside, arguments: list[str]) -> None:
        beside.same("get-offsets", *arguments)

    def test_json_and_terminal(self, beside: Beside, filled: str) -> None:
        found = beside.document("get-offsets", "--topic", filled)
        assert [(each["partition"], each["offset"]) for each in found] == [(0, 0), (1, 1), (2, 2)]
        (timed,) = beside.document("get-offsets", "--topic-partitions", f"{filled}:2", "--time", "1700000001500")
        assert (timed["offset"], timed["timestamp"]) == (1, 1_700_000_002_000)
        assert re.search(rf"{filled} +2 +2", beside.screen("get-offsets", "--topic", filled).text)

    @pytest.mark.parametrize(
        ("text", "arguments"),
        [
            ("Could not match any topic-partitions with the specified filters", ["--topic", "nothing"]),
            ("--topic-partitions cannot be used with --topic or --partitions", [
                "--topic-partitions", "a", "--topic", "a"]),
            ("Malformed time argument soon", ["--time", "soon"]),
            ("--partitions expects a comma separated list of numeric partition ids, but received: a", [
                "--partitions", "a"]),
            ("Invalid rule specification: a:b", ["--topic-partitions", "a:b"]),
        ],
    )  # fmt: skip
    def test_failures(self, beside: Beside, text: str, arguments: list[str]) -> None:
        beside.same_failure(text, "get-offsets", *arguments)

    def test_no_server(self, beside: Beside, hasty: str) -> None:
        line = beside.same_failure("", "get-offsets", "--bootstrap-server", "localhost:1", "--command-config", hasty)
        assert "is the server running" in line

    def test_rules(self) -> None:
        (rule,) = partition_rules(None, None, "1,2")
        assert [rule("t", partition) for partition in range(4)] == [False, True, True, False]
        (low,) = partition_rules("t:2-", None, None)
        assert [low("t", partition) for partition in range(4)] == [False, False, True, True]
        assert not low("u", 3)
        assert parse_time("latest") == -1
        with pytest.raises(CommandError):
            parse_time("")
