"""Configurations through the admin client, against Ottla and Apache, beside confluent-kafka."""

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource as TheirResource

from ottla.clients.admin import (
    AlterConfigOp,
    AlterConfigOpType,
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
    ConfigType,
    NewTopic,
)
from ottla.clients.errors import (
    BrokerNotAvailableError,
    InvalidConfigError,
    InvalidRequestError,
    UnknownTopicOrPartitionError,
)
from ottla.clients.sync.admin import Admin
from ottla.common.errors import KafkaError
from tests.clients.admin.waiting import create, eventually

SET, DELETE = AlterConfigOpType.SET, AlterConfigOpType.DELETE
APPEND, SUBTRACT = AlterConfigOpType.APPEND, AlterConfigOpType.SUBTRACT


def of_topic(name: str) -> ConfigResource:
    return ConfigResource(ConfigResourceType.TOPIC, name)


def of_broker(admin: Admin) -> ConfigResource:
    return ConfigResource(ConfigResourceType.BROKER, str(admin.describe_cluster().nodes[0].id))


def value(admin: Admin, resource: ConfigResource, key: str) -> str | None:
    entry = admin.describe_configs([resource])[resource].get(key)
    return None if entry is None else entry.value


@pytest.fixture
def configured(admin: Admin, topic: str) -> ConfigResource:
    """A topic with two keys of its own."""
    create(admin, [NewTopic(topic, 1, configs={"retention.ms": "1000", "cleanup.policy": "compact"})])
    return of_topic(topic)


def test_descriptions_agree_with_confluents(admin: Admin, confluent: AdminClient, configured: ConfigResource) -> None:
    for resource, kind in ((configured, TheirResource.Type.TOPIC), (of_broker(admin), TheirResource.Type.BROKER)):
        ours = admin.describe_configs([resource], include_synonyms=True)[resource]
        their_resource = TheirResource(kind, resource.name)
        theirs = confluent.describe_configs([their_resource])[their_resource].result(10)
        assert set(ours) == set(theirs)
        for name, entry in theirs.items():
            mine = ours[name]
            assert (mine.value, int(mine.source), mine.is_read_only, mine.is_sensitive, mine.is_default) == (
                entry.value,
                entry.source,
                entry.is_read_only,
                entry.is_sensitive,
                entry.is_default,
            ), name
            # Theirs are a dict by name, which keeps the last of a name's places.
            assert {each.name: each.value for each in mine.synonyms} == {
                each.name: each.value for each in entry.synonyms.values()
            }, name


def test_only_some_keys(admin: Admin, configured: ConfigResource) -> None:
    entries = admin.describe_configs(
        [configured], keys=["retention.ms", "segment.bytes"], include_documentation=True, include_synonyms=True
    )[configured]
    assert set(entries) == {"retention.ms", "segment.bytes"}
    entry = entries["retention.ms"]
    assert (entry.value, entry.type, entry.source) == ("1000", ConfigType.LONG, ConfigSource.DYNAMIC_TOPIC_CONFIG)
    assert entry.documentation
    assert entry.synonyms[0].source == ConfigSource.DYNAMIC_TOPIC_CONFIG
    assert entries["segment.bytes"].is_default
    plain = admin.describe_configs([configured], keys=["retention.ms"])[configured]["retention.ms"]
    assert (plain.synonyms, plain.documentation) == ((), None)


def test_changes_touch_only_what_they_name(admin: Admin, configured: ConfigResource) -> None:
    assert admin.alter_configs({configured: [AlterConfigOp("segment.bytes", "1048576")]}) == {configured: None}
    eventually(lambda: value(admin, configured, "segment.bytes") == "1048576")
    assert value(admin, configured, "retention.ms") == "1000"
    admin.alter_configs({configured: [AlterConfigOp("retention.ms", operation=DELETE)]})
    eventually(
        lambda: (
            admin.describe_configs([configured])[configured]["retention.ms"].source == ConfigSource.STATIC_BROKER_CONFIG
        )
    )
    admin.alter_configs({configured: [AlterConfigOp("cleanup.policy", "delete", APPEND)]})
    eventually(lambda: value(admin, configured, "cleanup.policy") == "compact,delete")
    admin.alter_configs({configured: [AlterConfigOp("cleanup.policy", "compact", SUBTRACT)]})
    eventually(lambda: value(admin, configured, "cleanup.policy") == "delete")


def test_validate_only_changes_nothing(admin: Admin, configured: ConfigResource) -> None:
    assert admin.alter_configs({configured: [AlterConfigOp("retention.ms", "5")]}, validate_only=True)
    assert value(admin, configured, "retention.ms") == "1000"
    with pytest.raises(InvalidConfigError):
        admin.alter_configs({configured: [AlterConfigOp("retention.ms", "soon")]}, validate_only=True)


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        (AlterConfigOp("retention.ms", "soon"), InvalidConfigError),
        (AlterConfigOp("retention.ms", "-2"), InvalidConfigError),
        (AlterConfigOp("no.such.key", "1"), InvalidConfigError),
        (AlterConfigOp("retention.ms", "1", APPEND), InvalidConfigError),
        (AlterConfigOp("retention.ms", None, SET), InvalidRequestError),
    ],
)
def test_wrong_values_are_refused(
    admin: Admin, configured: ConfigResource, operation: AlterConfigOp, error: type[KafkaError]
) -> None:
    with pytest.raises(error):
        admin.alter_configs({configured: [operation]})
    assert value(admin, configured, "retention.ms") == "1000"


def test_each_resource_succeeds_or_fails_alone(admin: Admin, configured: ConfigResource) -> None:
    missing = of_topic("no-such-topic")
    changed = admin.alter_configs(
        {missing: [AlterConfigOp("retention.ms", "1")], configured: [AlterConfigOp("retention.ms", "7")]},
        raise_errors=False,
    )
    assert isinstance(changed[missing], UnknownTopicOrPartitionError)
    assert changed[configured] is None
    described = admin.describe_configs([missing, configured], raise_errors=False)
    assert isinstance(described[missing], UnknownTopicOrPartitionError)
    with pytest.raises(UnknownTopicOrPartitionError):
        admin.describe_configs([configured, missing])


def test_brokers_are_configured_one_by_one_and_all(admin: Admin) -> None:
    broker, every_broker = of_broker(admin), ConfigResource(ConfigResourceType.BROKER, "")
    assert every_broker.is_default
    admin.alter_configs({every_broker: [AlterConfigOp("message.max.bytes", "2000000")]})
    admin.alter_configs({broker: [AlterConfigOp("message.max.bytes", "3000000")]})
    eventually(lambda: value(admin, broker, "message.max.bytes") == "3000000")
    entry = admin.describe_configs([broker], include_synonyms=True)[broker]["message.max.bytes"]
    assert entry.source == ConfigSource.DYNAMIC_BROKER_CONFIG
    assert [each.source for each in entry.synonyms][:2] == [
        ConfigSource.DYNAMIC_BROKER_CONFIG,
        ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
    ]
    assert value(admin, every_broker, "message.max.bytes") == "2000000"
    with pytest.raises(InvalidRequestError):
        admin.alter_configs({broker: [AlterConfigOp("broker.id", "7")]})


def test_a_broker_that_is_not_there(admin: Admin) -> None:
    nobody = ConfigResource(ConfigResourceType.BROKER, "4711")
    with pytest.raises(BrokerNotAvailableError, match="4711"):
        admin.describe_configs([nobody])
    with pytest.raises(InvalidRequestError):
        admin.describe_configs([ConfigResource(ConfigResourceType.BROKER, "anna")])


def test_loggers_and_groups(admin: Admin, topic: str) -> None:
    logger = ConfigResource(ConfigResourceType.BROKER_LOGGER, of_broker(admin).name)
    levels = admin.describe_configs([logger])[logger]
    assert levels
    assert all(entry.source == ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG for entry in levels.values())
    group = ConfigResource(ConfigResourceType.GROUP, topic)
    admin.alter_configs({group: [AlterConfigOp("consumer.session.timeout.ms", "50000")]})
    eventually(lambda: value(admin, group, "consumer.session.timeout.ms") == "50000")
    entry = admin.describe_configs([group])[group]["consumer.session.timeout.ms"]
    assert (entry.value, entry.source) == ("50000", ConfigSource.DYNAMIC_GROUP_CONFIG)


def test_what_there_is_to_configure(admin: Admin, configured: ConfigResource) -> None:
    assert configured in admin.list_config_resources([ConfigResourceType.TOPIC])
    assert admin.list_config_resources([ConfigResourceType.BROKER]) == [of_broker(admin)]
    everything = admin.list_config_resources()
    assert {configured, of_broker(admin)} <= set(everything)
    assert admin.list_config_resources([ConfigResourceType.CLIENT_METRICS]) == []
