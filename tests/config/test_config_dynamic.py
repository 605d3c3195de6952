"""Dynamic configuration: what of it a broker takes, what goes before what, and what changes at once are refused."""

import logging
from collections.abc import Iterator

import pytest

from ottla.common.errors import InvalidConfigError, InvalidRequestError
from ottla.config import broker_loggers
from ottla.config.config_entry import ConfigEntry, ConfigSource
from ottla.config.describe import describe_broker, describe_topic
from ottla.config.dynamic_config import DynamicConfig, merge_props
from ottla.config.kafka_config import KafkaConfig

STATIC = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@localhost:9093",
    "log.retention.hours": "2",
}


def dynamic(**extra: str) -> DynamicConfig:
    more = {name.replace("_", "."): value for name, value in extra.items()}
    return DynamicConfig(KafkaConfig.from_props({**STATIC, **more}, warn=False))


def entry(entries: list[ConfigEntry], name: str) -> ConfigEntry:
    return next(each for each in entries if each.name == name)


def test_the_brokers_own_goes_before_the_clusters_and_that_before_the_static() -> None:
    config = dynamic(message_max_bytes="1000")
    assert config.current.log.message_max_bytes == 1000
    assert config.update_broker({"message.max.bytes": "3000"})
    assert not config.update_default({"message.max.bytes": "2000"})
    assert config.current.log.message_max_bytes == 3000
    assert config.update_broker({})
    assert config.current.log.message_max_bytes == 2000
    assert config.update_default({})
    assert config.current == config.static


def test_the_same_again_changes_nothing() -> None:
    config = dynamic()
    assert config.update_broker({"message.max.bytes": "3000"})
    assert not config.update_broker({"message.max.bytes": "3000"})


def test_a_dynamic_key_replaces_its_synonyms_below() -> None:
    assert merge_props({"log.roll.ms": "1", "a": "2"}, {"log.roll.hours": "3"}) == {"log.roll.hours": "3", "a": "2"}
    prefixed = {"listener.name.x.max.connections": "3"}
    assert merge_props({"max.connections": "2"}, prefixed) == {"max.connections": "2", **prefixed}
    config = dynamic()
    config.update_default({"log.retention.ms": "5000"})
    assert config.current.log.topic_defaults().retention_ms == 5000


def test_what_cannot_be_used_is_reported_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    config = dynamic()
    assert config.update_default(
        {
            "message.max.bytes": "nonsense",
            "log.dirs": "/x",
            "ssl.keystore.location": "/x",
            "listeners": "PLAINTEXT://:1",
            "num.partitions": "7",
            "log.segment.bytes": "2097152",
            "of.a.plugin": "kept",
        }
    )
    assert config.dynamic_default == {"log.segment.bytes": "2097152", "of.a.plugin": "kept"}
    assert config.current.log.log_segment_bytes == 2097152
    assert [record.getMessage() for record in caplog.records] == [
        "Dynamic default cluster config contains an invalid value, which will be ignored: Invalid value nonsense for "
        "configuration message.max.bytes: Not a number of type INT (allowed: a 32-bit integer [0,...])",
        "Non-dynamic configs will be ignored: [log.dirs, num.partitions]",
        "Security configs can be dynamically updated only using listener prefix, base configs will be ignored: "
        "[ssl.keystore.location]",
        "Per-broker configs defined at default cluster level will be ignored: [listeners]",
    ]


def test_a_layer_that_contradicts_itself_leaves_all_as_it_was(caplog: pytest.LogCaptureFixture) -> None:
    config = dynamic()
    assert not config.update_broker({"max.connections.per.ip": "0"})
    assert config.current is config.static
    assert config.dynamic_broker == {}
    assert "max.connections.per.ip can be set to zero only if" in caplog.text


def test_an_assignment_interval_comes_into_its_bounds(caplog: pytest.LogCaptureFixture) -> None:
    config = dynamic(group_share_max_assignment_interval_ms="2000")
    config.update_default({"group.share.assignment.interval.ms": "9000"})
    assert config.current.values["group.share.assignment.interval.ms"] == 2000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"broker.rack": "a"}, "Cannot update these configs dynamically: [broker.rack]"),
        ({"num.io.threads": "17"}, "Invalid dynamic configuration: Dynamic thread count update validation failed"),
        ({"log.cleaner.threads": "3"}, "cannot be increased to more than double the current value 1"),
        ({"listeners": "OTHER://:1,CONTROLLER://:9093"}, "No security protocol defined for listener OTHER"),
        ({"listener.name.plaintext.max.connections": "0"}, "Invalid dynamic configuration: Invalid max.connections 0"),
        (
            {
                "listeners": "OTHER://:1,CONTROLLER://:9093",
                "listener.security.protocol.map": "OTHER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            },
            "inter.broker.listener.name must be a listener name defined in advertised.listeners",
        ),
        ({"log.local.retention.ms": "-1"}, "Value must not be -1 as log.retention.ms value is set as 7200000."),
    ],
    ids=str,
)
def test_a_change_that_a_broker_cannot_follow_is_refused(change: dict[str, str], message: str) -> None:
    config = dynamic()
    with pytest.raises(InvalidRequestError) as raised:
        config.validate_change(change, per_broker=True)
    assert message in str(raised.value)
    assert config.current is config.static


def test_a_listener_that_stays_keeps_its_own_keys() -> None:
    config = dynamic()
    more = {
        "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093,OTHER://:9094",
        "listener.security.protocol.map": "OTHER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    }
    config.validate_change(more, per_broker=True)
    with pytest.raises(InvalidRequestError, match="Configs cannot be updated dynamically for existing listener"):
        config.validate_change({**more, "listener.name.plaintext.connections.max.idle.ms": "5"}, per_broker=True)


def test_only_plaintext_is_supported_yet() -> None:
    with pytest.raises(InvalidConfigError, match="uses the security protocol SSL, which is not supported yet"):
        dynamic(listeners="PLAINTEXT://:1,SSL://:2,CONTROLLER://:9093", listener_security_protocol_map=ALL_MAPPED)


ALL_MAPPED = "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SSL:SSL"


def test_an_entry_says_where_its_value_comes_from() -> None:
    config = dynamic()
    config.update_default({"log.retention.ms": "5000"})
    described = entry(describe_topic(config, {"retention.ms": "7"}), "retention.ms")
    assert (described.value, described.config_source) == ("7", ConfigSource.DYNAMIC_TOPIC_CONFIG)
    assert [tuple(synonym) for synonym in described.synonyms] == [
        ("retention.ms", "7", ConfigSource.DYNAMIC_TOPIC_CONFIG),
        ("log.retention.ms", "5000", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        ("log.retention.hours", "2", ConfigSource.STATIC_BROKER_CONFIG),
        ("log.retention.hours", "168", ConfigSource.DEFAULT_CONFIG),
    ]
    assert described.documentation


def test_no_secret_is_ever_described() -> None:
    config = dynamic(sasl_oauthbearer_client_credentials_client_secret="s3cret", of_a_plugin="s3cret")
    entries = describe_broker(config)
    assert "s3cret" not in str(entries)
    assert entry(entries, "sasl.oauthbearer.client.credentials.client.secret").is_sensitive
    assert entry(entries, "of.a.plugin").is_sensitive


@pytest.fixture
def some_logger() -> Iterator[logging.Logger]:
    found = logging.getLogger("ottla.test.some.logger")
    yield found
    found.setLevel(logging.NOTSET)


def test_a_loggers_level_is_described_set_and_unset(some_logger: logging.Logger) -> None:
    some_logger.setLevel(logging.NOTSET)
    inherited = entry(broker_loggers.describe_loggers(), some_logger.name)
    assert inherited.value == entry(broker_loggers.describe_loggers(), "root").value
    for level, number in (("TRACE", 5), ("DEBUG", 10), ("INFO", 20), ("WARN", 30), ("ERROR", 40), ("FATAL", 50)):
        broker_loggers.set_level(some_logger.name, level)
        assert some_logger.level == number
        assert entry(broker_loggers.describe_loggers(), some_logger.name).value == level
    broker_loggers.unset_level(some_logger.name)
    assert some_logger.level == logging.NOTSET


def test_what_log4j_would_not_do_is_refused(some_logger: logging.Logger) -> None:
    with pytest.raises(InvalidConfigError, match=r"Logger no\.such does not exist!"):
        broker_loggers.set_level("no.such", "INFO")
    with pytest.raises(InvalidConfigError, match="Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN"):
        broker_loggers.check_level(some_logger.name, "WARNING")
    with pytest.raises(InvalidRequestError, match="Removing the log level of the root logger is not allowed"):
        broker_loggers.check_unset("root")
