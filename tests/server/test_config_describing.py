"""DescribeConfigs and ListConfigResources."""

import logging

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, InvalidRequestError
from ottla.config.config_entry import ConfigSource
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import decode, encode
from ottla.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from ottla.protocol.messages.list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse
from ottla.server.authorizer import AclOperation, ResourceType
from ottla.server.handlers import describe_configs, list_config_resources
from tests.server.config_world import (
    BROKER,
    GROUP,
    LOGGER,
    METRICS,
    TOPIC,
    Refuse,
    World,
    context,
    setting,
)

# -- describing -------------------------------------------------------------------------------------------------------


def test_describe_topic_shows_its_own_value_over_the_brokers() -> None:
    world = World(setting(TOPIC, "orders", "retention.ms", "5000"))
    (result,) = world.describe((TOPIC, "orders"), keys=["retention.ms"], include_synonyms=True)
    assert (result.error_code, result.resource_type, result.resource_name) == (0, TOPIC, "orders")
    (entry,) = result.configs
    assert (entry.name, entry.value, entry.config_source) == ("retention.ms", "5000", ConfigSource.DYNAMIC_TOPIC_CONFIG)
    assert next((synonym.name, synonym.value, synonym.source) for synonym in entry.synonyms) == (
        "retention.ms",
        "5000",
        ConfigSource.DYNAMIC_TOPIC_CONFIG,
    )
    assert entry.documentation is None


def test_describe_gives_synonyms_and_documentation_only_to_those_who_ask() -> None:
    world = World()
    (plain,) = world.describe((TOPIC, "orders"))
    (full,) = world.describe((TOPIC, "orders"), include_synonyms=True, include_documentation=True)
    assert len(plain.configs) == len(full.configs) > 20
    assert not any(entry.synonyms or entry.documentation for entry in plain.configs)
    assert any(entry.synonyms for entry in full.configs) and all(entry.documentation for entry in full.configs)
    assert all(entry.config_type for entry in full.configs)


@pytest.mark.parametrize("keys", [None, []])
def test_describe_without_keys_shows_all(keys: list[str] | None) -> None:
    (result,) = World().describe((BROKER, "1"), keys=keys)
    assert len(result.configs) > 200


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_describe_broker_in_every_version(version: int) -> None:
    world = World(setting(BROKER, "", "log.retention.ms", "7"), setting(BROKER, "1", "log.cleaner.threads", "2"))
    own, default = world.describe((BROKER, "1"), (BROKER, ""), version=version)
    values = {entry.name: (entry.value, entry.config_source) for entry in own.configs}
    assert values["log.cleaner.threads"] == ("2", ConfigSource.DYNAMIC_BROKER_CONFIG)
    assert values["log.retention.ms"] == ("7", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)
    assert values["background.threads"] == ("5", ConfigSource.STATIC_BROKER_CONFIG)
    assert [(entry.name, entry.value) for entry in default.configs] == [("log.retention.ms", "7")]


def test_describe_loggers_groups_and_client_metrics(quiet_logger: logging.Logger) -> None:
    world = World(
        setting(GROUP, "g", "consumer.session.timeout.ms", "46000"), setting(METRICS, "m", "interval.ms", "100")
    )
    loggers, group, metrics = world.describe((LOGGER, "1"), (GROUP, "g"), (METRICS, "m"))
    quiet_logger.setLevel(logging.WARNING)
    (loggers,) = world.describe((LOGGER, "1"))
    level = {entry.name: (entry.value, entry.config_source) for entry in loggers.configs}[quiet_logger.name]
    assert level == ("WARN", ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG)
    values = {entry.name: (entry.value, entry.config_source) for entry in group.configs}
    assert values["consumer.session.timeout.ms"] == ("46000", ConfigSource.DYNAMIC_GROUP_CONFIG)
    values = {entry.name: (entry.value, entry.config_source) for entry in metrics.configs}
    assert values["interval.ms"] == ("100", ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG)


@pytest.mark.parametrize(
    ("type_", "name", "code", "message"),
    [
        (TOPIC, "nobody", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ""),
        (TOPIC, "not/good", ErrorCode.INVALID_TOPIC_EXCEPTION, None),
        (
            BROKER,
            "2",
            ErrorCode.INVALID_REQUEST,
            "Unexpected broker id, expected 1 or empty string, but received 2",
        ),
        (BROKER, "one", ErrorCode.INVALID_REQUEST, "Broker id must be an integer, but it is: one"),
        (BROKER, "1_0", ErrorCode.INVALID_REQUEST, "Broker id must be an integer, but it is: 1_0"),
        (LOGGER, "", ErrorCode.INVALID_REQUEST, "Broker id must not be empty"),
        (LOGGER, "2", ErrorCode.INVALID_REQUEST, "Unexpected broker id, expected 1 but received 2"),
        (METRICS, "", ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be empty"),
        (GROUP, "", ErrorCode.INVALID_REQUEST, "Group name must not be empty"),
    ],
)
def test_describe_errors_belong_to_a_resource(type_: int, name: str, code: int, message: str | None) -> None:
    failed, fine = World().describe((type_, name), (TOPIC, "orders"))
    assert (failed.error_code, failed.configs) == (code, [])
    assert message is None or failed.error_message == message
    assert fine.error_code == 0


def test_describe_unknown_type_fails_the_whole_request() -> None:
    world = World()
    with pytest.raises(InvalidRequestError, match="Unexpected resource type UNKNOWN for resource x"):
        world.describe((TOPIC, "orders"), (99, "x"))
    request = DescribeConfigsRequest(resources=[DescribeConfigsResource(resource_type=99, resource_name="x")])
    (result,) = describe_configs.error_response(request, InvalidRequestError("no")).results
    assert (result.error_code, result.resource_name) == (ErrorCode.INVALID_REQUEST, "x")


@pytest.mark.parametrize(
    ("resource", "kind", "code"),
    [
        ((TOPIC, "orders"), ResourceType.TOPIC, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        ((BROKER, "1"), ResourceType.CLUSTER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        ((LOGGER, "1"), ResourceType.CLUSTER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        ((METRICS, "m"), ResourceType.CLUSTER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        ((GROUP, "g"), ResourceType.GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED),
    ],
)
def test_describe_needs_permission(resource: tuple[int, str], kind: ResourceType, code: ErrorCode) -> None:
    world = World()
    world.services.authorizer = Refuse(AclOperation.DESCRIBE_CONFIGS, kind)
    (result,) = world.describe(resource)
    assert (result.error_code, result.configs) == (code, [])


# -- listing ----------------------------------------------------------------------------------------------------------


def listed(world: World, version: int, *types: int) -> list[tuple[int, str]]:
    """ListConfigResources over the wire."""
    request = ListConfigResourcesRequest(resource_types=types)
    where = context(ApiKey.LIST_CONFIG_RESOURCES, version)
    response = list_config_resources.handle(world.services, where, request)
    answer = decode(ListConfigResourcesResponse, encode(response, version), version)
    return [(resource.resource_type, resource.resource_name) for resource in answer.config_resources]


def test_listing() -> None:
    world = World(
        setting(GROUP, "g", "consumer.session.timeout.ms", "46000"),
        setting(METRICS, "m", "interval.ms", "100"),
        setting(BROKER, "", "log.retention.ms", "7"),
    )
    assert listed(world, 1) == [(GROUP, "g"), (METRICS, "m"), (LOGGER, "1"), (BROKER, "1"), (TOPIC, "orders")]
    assert listed(world, 1, TOPIC, GROUP) == [(GROUP, "g"), (TOPIC, "orders")]
    assert listed(world, 0) == [(METRICS, "m")]
    with pytest.raises(ApiError) as unsupported:
        listed(world, 1, 99)
    assert unsupported.value.code == ErrorCode.UNSUPPORTED_VERSION


def test_listing_needs_permission() -> None:
    world = World()
    world.services.authorizer = Refuse(AclOperation.DESCRIBE_CONFIGS, ResourceType.CLUSTER)
    with pytest.raises(ApiError) as refused:
        listed(world, 1)
    assert refused.value.code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
