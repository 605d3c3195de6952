"""A key that promises a protection which is not given is refused, however it is written; all else starts as before."""

import pytest

from ottla.common.errors import InvalidConfigError
from ottla.config.broker_keys import AUTHORIZER_CONFIG, BROKER_CONFIG
from ottla.config.definition import ConfigKey
from ottla.config.dynamic_config import DynamicConfig
from ottla.config.kafka_config import KafkaConfig
from ottla.config.quota_keys import BROKER_QUOTA_KEYS
from ottla.config.topic_keys import TOPIC_CONFIG
from ottla.config.values import ConfigType, Password, format_value

NODE = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.bootstrap.servers": "localhost:9093",
}
ALL_KEYS = (*BROKER_CONFIG, *BROKER_QUOTA_KEYS, *AUTHORIZER_CONFIG, *TOPIC_CONFIG)
PROMISING = [key for key in (*BROKER_CONFIG, *AUTHORIZER_CONFIG) if key.promises is not None]
SHARED = {
    "num.network.threads": "3",
    "num.io.threads": "8",
    "socket.send.buffer.bytes": "102400",
    "socket.receive.buffer.bytes": "102400",
    "socket.request.max.bytes": "104857600",
    "num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "log.retention.hours": "168",
    "log.segment.bytes": "1073741824",
    "log.retention.check.interval.ms": "300000",
    "controller.quorum.bootstrap.servers": "localhost:9093",
    "controller.listener.names": "CONTROLLER",
}
ALL_MAPPED = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL"
STOCK = {
    "server.properties": {
        **SHARED,
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
        "inter.broker.listener.name": "PLAINTEXT",
        "advertised.listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
        "listener.security.protocol.map": ALL_MAPPED,
        "log.dirs": "/tmp/kraft-combined-logs",
        "num.recovery.threads.per.data.dir": "2",
    },
    "broker.properties": {
        **SHARED,
        "process.roles": "broker",
        "node.id": "2",
        "listeners": "PLAINTEXT://localhost:9092",
        "inter.broker.listener.name": "PLAINTEXT",
        "advertised.listeners": "PLAINTEXT://localhost:9092",
        "listener.security.protocol.map": ALL_MAPPED,
        "log.dirs": "/tmp/kraft-broker-logs",
        "num.recovery.threads.per.data.dir": "2",
    },
    "controller.properties": {
        **SHARED,
        "process.roles": "controller",
        "node.id": "1",
        "listeners": "CONTROLLER://:9093",
        "advertised.listeners": "CONTROLLER://localhost:9093",
        "log.dirs": "/tmp/kraft-controller-logs",
        "num.recovery.threads.per.data.dir": "1",
    },
}
"""What the files in the config directory of Apache Kafka's 4.x say."""


def asked(key: ConfigKey) -> str:
    """A value that is allowed, and not the default."""
    examples = {"ssl.client.auth": "required", "ssl.enabled.protocols": "TLSv1.3", "super.users": "User:admin"}
    if key.name in examples:
        return examples[key.name]
    return {ConfigType.BOOLEAN: "true", ConfigType.LONG: "3600000"}.get(key.type, "org.example.Some")


def refusal(props: dict[str, str]) -> str:
    with pytest.raises(InvalidConfigError) as raised:
        KafkaConfig.from_props({**NODE, **props}, warn=False)
    return str(raised.value)


def test_the_sentence_names_key_reason_and_way_out() -> None:
    assert refusal({"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}) == (
        "The broker config authorizer.class.name promises that nobody does what the authorizer denies, which this "
        "version of Ottla does not do, for security is not built yet: remove it if you can do without"
    )
    several = refusal({"ssl.client.auth": "required", "super.users": "User:a", "listener.name.b.ssl.key.password": "c"})
    assert "The broker config ssl.client.auth promises" in several
    assert several.endswith("remove it (likewise super.users, listener.name.b.ssl.key.password) if you can do without")


@pytest.mark.parametrize("key", PROMISING, ids=lambda key: key.name)
@pytest.mark.parametrize("prefix", ["", "listener.name.external.", "listener.name.a.b.", "listener.name.x.plain."])
def test_a_promise_is_refused_under_each_of_its_names(key: ConfigKey, prefix: str) -> None:
    name = prefix + key.name
    assert refusal({name: asked(key)}).startswith(f"The broker config {name} promises {key.promises}")


@pytest.mark.parametrize("key", PROMISING, ids=lambda key: key.name)
def test_the_default_promises_nothing(key: ConfigKey) -> None:
    assert not isinstance(key.default, Password), "a secret has no default"
    default = format_value(key.default)
    if default is not None:
        KafkaConfig.from_props({**NODE, key.name: default}, warn=False)


@pytest.mark.parametrize(
    "name", ["ssl.keystore.location", "ssl.key.password", "super.users", "sasl.enabled.mechanisms"]
)
def test_nothing_promises_nothing(name: str) -> None:
    KafkaConfig.from_props({**NODE, name: ""}, warn=False)


def test_the_order_of_a_list_is_no_promise() -> None:
    KafkaConfig.from_props({**NODE, "ssl.enabled.protocols": "TLSv1.3,TLSv1.2"}, warn=False)


def test_whether_all_are_allowed_whom_no_entry_names_is_a_promise_either_way() -> None:
    for value in ("false", "true"):
        assert "allow.everyone.if.no.acl.found promises" in refusal({"allow.everyone.if.no.acl.found": value})


@pytest.mark.parametrize("file", STOCK)
def test_apaches_own_files_are_accepted(file: str) -> None:
    KafkaConfig.from_props(STOCK[file])


def test_what_promises_has_no_effect_and_says_what_one_relies_on() -> None:
    for key in ALL_KEYS:
        if key.promises is not None:
            assert key.inert is not None, key.name
            assert key.promises.startswith("that ") and not key.promises.endswith("."), key.name


@pytest.mark.parametrize(
    "name", ["sasl.login.refresh.buffer.seconds", "ssl.keystore.type", "log.local.retention.ms", "num.io.threads"]
)
def test_what_only_tunes_stays_without_effect(name: str) -> None:
    assert BROKER_CONFIG[name].inert is not None
    assert BROKER_CONFIG[name].promises is None


def test_a_stored_promise_is_reported_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    config = DynamicConfig(KafkaConfig.from_props(NODE, warn=False))
    stored = {"listener.name.b.ssl.keystore.location": "/x", "super.users": "User:a", "message.max.bytes": "7"}
    assert config.update_broker(stored)
    assert config.dynamic_broker == {"message.max.bytes": "7"}
    assert caplog.messages == [
        "Configs that promise a protection which this version does not give: "
        "[listener.name.b.ssl.keystore.location, super.users]"
    ]
