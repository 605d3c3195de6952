"""``ottla configs`` beside kafka-configs.sh."""

import re
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.cli.configs import configs_to_add, parser
from ottla.cli.errors import CommandError
from ottla.cli.quotas import java_double
from tests.cli.beside import Beside
from tests.cli.terminal import run_in_terminal, run_piped
from tests.node import Node

TOPIC = "configured"


@pytest.fixture(scope="module")
def configured(kafka: Node) -> Iterator[str]:
    """A topic with a setting."""
    made = ("--topic", TOPIC, "--partitions", "1", "--config", "max.message.bytes=65536")
    created = run_piped("topics", "--create", *made, "--bootstrap-server", kafka.bootstrap)
    assert created.code == 0, created
    yield TOPIC


@pytest.mark.usefixtures("configured")
class TestDescribing:
    @pytest.mark.parametrize(
        "arguments",
        [
            ["--topic", TOPIC],
            ["--entity-type", "topics", "--entity-name", TOPIC],
            ["--topic", TOPIC, "--all"],
            ["--topic", "nothing"],
            ["--broker", "1"],
            ["--broker", "7"],
            ["--broker-defaults"],
            ["--entity-type", "brokers", "--entity-default"],
            ["--entity-type", "brokers"],
            ["--group", "nothing"],
            ["--client-metrics", "nothing"],
            ["--entity-type", "client-metrics"],
        ],
        ids=" ".join,
    )
    def test_the_same_lines(self, beside: Beside, arguments: list[str]) -> None:
        beside.same("configs", "--describe", *arguments)

    @pytest.mark.parametrize(
        "arguments",
        [
            ["--user", "anna"],
            ["--entity-type", "users"],
            ["--user-defaults"],
            ["--client", "c"],
            ["--ip", "127.0.0.1"],
            ["--entity-type", "users", "--entity-type", "clients"],
        ],
        ids=" ".join,
    )
    def test_quotas(self, beside: Beside, arguments: list[str]) -> None:
        beside.same_or_refused("configs", "--describe", *arguments)

    def test_all_of_a_broker(self, beside: Beside) -> None:
        beside.same("configs", "--describe", "--broker", "1", "--all", normal=_keys)

    def test_all_topics(self, beside: Beside) -> None:
        beside.same("configs", "--describe", "--entity-type", "topics", normal=lambda text: sorted(text.splitlines()))

    def test_json_and_terminal(self, beside: Beside) -> None:
        (found,) = beside.document("configs", "--describe", "--topic", TOPIC)
        assert (found["type"], found["name"]) == ("topics", TOPIC)
        assert found["configs"][0] == {
            "name": "max.message.bytes", "value": "65536", "source": "DYNAMIC_TOPIC_CONFIG", "sensitive": False,
            "read_only": False, "synonyms": found["configs"][0]["synonyms"],
        }  # fmt: skip
        assert found["configs"][0]["synonyms"][0]["value"] == "65536"
        screen = beside.screen("configs", "--describe", "--topic", TOPIC)
        assert re.search(r"max.message.bytes +65536 +DYNAMIC_TOPIC_CONFIG", screen.text)

    @pytest.mark.parametrize(
        ("text", "arguments"),
        [
            ("Command must include exactly one action: --describe, --alter", ["--topic", "x"]),
            ("At least one entity type must be specified", ["--describe"]),
            ("Invalid entity type odd, the entity type must be one of", ["--describe", "--entity-type", "odd"]),
            (
                "Duplicate entity type(s) specified: topics",
                ["--describe", "--entity-type", "topics", "--entity-type", "topics"],
            ),
            (
                "entity types may be specified together",
                ["--describe", "--entity-type", "topics", "--entity-type", "users"],
            ),
            (
                "should not be used in conjunction with specific entity flags",
                ["--describe", "--topic", "x", "--entity-name", "y"],
            ),
            ("must be a valid integer broker id, but it is: x", ["--describe", "--broker", "x"]),
            (
                "An entity name must be specified with --describe of broker-loggers",
                ["--describe", "--entity-type", "broker-loggers"],
            ),
            (
                "--entity-default must not be specified with --describe of topics",
                ["--describe", "--entity-type", "topics", "--entity-default"],
            ),
            (
                'Option "[describe]" can\'t be used with option "[add-config]"',
                ["--describe", "--topic", "x", "--add-config", "a=b"],
            ),
            ("must be specified with --alter", ["--alter", "--topic", "x"]),
            (
                "An entity name must be specified with --alter of topics",
                ["--alter", "--entity-type", "topics", "--add-config", "a=b"],
            ),
            (
                "An entity-name or default entity must be specified with --alter",
                ["--alter", "--entity-type", "users", "--add-config", "a=b"],
            ),
            (
                "Only one of --add-config or --add-config-file must be specified",
                ["--alter", "--topic", "x", "--add-config", "a=b", "--add-config-file", "f"],
            ),
            (
                "all configs to be added must be in the format",
                ["--alter", "--topic", TOPIC, "--add-config", "retention.ms"],
            ),
            ("Invalid character found for config key: a b", ["--alter", "--topic", TOPIC, "--add-config", "a b=c"]),
            ("Unknown topic config name: no.such", ["--alter", "--topic", TOPIC, "--add-config", "no.such=1"]),
            (
                "Invalid value -5 for configuration retention.ms",
                ["--alter", "--topic", TOPIC, "--add-config", "retention.ms=-5"],
            ),
            ("nothing", ["--alter", "--topic", "nothing", "--add-config", "retention.ms=5"]),
            (
                "Only quota and SCRAM credential configs can be added for 'users'",
                ["--alter", "--user", "a", "--add-config", "x=1"],
            ),
            (
                "Only quota configs can be added for 'clients'",
                ["--alter", "--client", "a", "--add-config", "SCRAM-SHA-256=[password=x]"],
            ),
            (
                "Only connection quota configs can be added for 'ips'",
                ["--alter", "--ip", "127.0.0.1", "--add-config", "x=1"],
            ),
            (
                "Iterations 100 is less than the minimum 4096",
                ["--alter", "--user", "a", "--add-config", "SCRAM-SHA-256=[iterations=100,password=x]"],
            ),
            (
                "Cannot alter both quota and SCRAM credential configs",
                ["--alter", "--user", "a", "--add-config", "SCRAM-SHA-256=[password=x],producer_byte_rate=1"],
            ),
        ],
    )
    def test_failures(self, beside: Beside, text: str, arguments: list[str]) -> None:
        beside.same_failure(text, "configs", *arguments)

    def test_no_server(self, beside: Beside, hasty: str) -> None:
        nobody = ("--describe", "--topic", "x", "--bootstrap-server", "localhost:1", "--command-config", hasty)
        assert "is the server running" in beside.same_failure("", "configs", *nobody)


def _keys(output: str) -> list[str]:
    """The keys of all settings: values name files and ports in each product's own words."""
    return [line.partition("=")[0] for line in output.splitlines()]


@pytest.mark.usefixtures("configured")
class TestAltering:
    def test_a_topic(self, beside: Beside, written: Callable[[str, str], str]) -> None:
        altered = beside.same(
            "configs", "--alter", "--topic", TOPIC, "--add-config", "retention.ms=777,cleanup.policy=[compact,delete]"
        )
        assert altered == f"Completed updating config for topic {TOPIC}.\n"
        assert "cleanup.policy=compact,delete" in beside.same("configs", "--describe", "--topic", TOPIC)
        path = written("more.properties", "retention.ms=778\n")
        assert beside.document("configs", "--alter", "--topic", TOPIC, "--add-config-file", path) == {
            "type": "topics", "name": TOPIC, "set": {"retention.ms": "778"}, "deleted": []
        }  # fmt: skip
        assert (
            beside.ours("configs", "--alter", "--topic", TOPIC, "--delete-config", "retention.ms,cleanup.policy").code
            == 0
        )
        assert "retention.ms" not in beside.same("configs", "--describe", "--topic", TOPIC)

    def test_a_broker(self, beside: Beside) -> None:
        for flags in (["--broker", "1"], ["--broker-defaults"]):
            beside.same("configs", "--alter", *flags, "--add-config", "log.cleaner.threads=2")
            assert "log.cleaner.threads=2" in beside.same("configs", "--describe", *flags)
            beside.same("configs", "--alter", *flags, "--delete-config", "log.cleaner.threads")

    def test_a_group(self, beside: Beside) -> None:
        beside.same("configs", "--alter", "--group", "g", "--add-config", "consumer.session.timeout.ms=46000")
        assert "46000" in beside.same("configs", "--describe", "--group", "g")
        beside.same("configs", "--alter", "--group", "g", "--delete-config", "consumer.session.timeout.ms")

    @pytest.mark.parametrize(
        ("flags", "config"),
        [
            (["--user", "anna"], "producer_byte_rate=1024"),
            (["--client", "c"], "consumer_byte_rate=20000000"),
            (["--user", "anna", "--client", "c"], "request_percentage=50"),
            (["--user-defaults"], "controller_mutation_rate=7"),
            (["--ip", "127.0.0.1"], "connection_creation_rate=9"),
            (["--user", "bert"], "SCRAM-SHA-256=[iterations=8192,password=secret]"),
        ],
        ids=lambda each: " ".join(each) if isinstance(each, list) else None,
    )
    def test_quotas_and_credentials(self, beside: Beside, kafka: Node, flags: list[str], config: str) -> None:
        ours = beside.ours("configs", "--alter", *flags, "--add-config", config)
        theirs = beside.theirs("configs", "--alter", *flags, "--add-config", config)
        assert ours.code == theirs.returncode, (ours, theirs)
        assert ours.stdout == theirs.stdout
        if ours.code:
            assert "The node does not support" in theirs.stderr
            return
        described = beside.same("configs", "--describe", *flags)
        assert config.partition("=")[0] in described
        assert beside.document("configs", "--describe", *flags)
        key = config.partition("=")[0]
        deleted = beside.ours("configs", "--alter", *flags, "--delete-config", key)
        assert (deleted.code, deleted.stdout) == (0, ours.stdout)
        assert key not in beside.same("configs", "--describe", *flags)
        if "SCRAM" not in key:
            gone = ("--alter", *flags, "--delete-config", key)
            beside.same_failure(f"Invalid config(s): {key}", "configs", *gone)
            odd = ("--alter", *flags, "--add-config", f"{key}=x")
            beside.same_failure(f"Cannot parse quota configuration value for {key}: x", "configs", *odd)

    def test_in_a_terminal(self, kafka: Node) -> None:
        server = ("--bootstrap-server", kafka.bootstrap)
        screen = run_in_terminal("configs", "--alter", "--topic", TOPIC, "--add-config", "retention.ms=-5", *server)
        assert screen.code == 1
        assert screen.text.count("\n") == 1
        done = run_in_terminal("configs", "--alter", "--topic", TOPIC, "--add-config", "retention.ms=5000", *server)
        assert (done.code, done.text) == (0, f"Completed updating config for topic {TOPIC}.\n")


def test_settings() -> None:
    def added(text: str) -> dict[str, str]:
        return configs_to_add(parser().parse_args(["--alter", "--add-config", text]))

    assert added("a=1,b=[x,y],c=") == {"a": "1", "b": "x,y", "c": ""}
    assert added("SCRAM-SHA-256=[iterations=4096,password=p]") == {"SCRAM-SHA-256": "iterations=4096,password=p"}
    for bad in ("a", "a=b=c", "a=1,", "a/b=1"):
        with pytest.raises(CommandError):
            added(bad)


def test_numbers_as_java_prints_them() -> None:
    for value, text in (
        (0.0, "0.0"),
        (1.0, "1.0"),
        (1024.5, "1024.5"),
        (2e7, "2.0E7"),
        (12345678.9, "1.23456789E7"),
        (0.0001, "1.0E-4"),
    ):
        assert java_double(value) == text


@given(st.floats(min_value=0, allow_infinity=False))
def test_numbers_can_be_read_back(value: float) -> None:
    assert float(java_double(value)) == value
