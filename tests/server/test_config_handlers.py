"""The handlers that describe, alter and list configurations, on an image and a configuration of their own."""

import asyncio
import logging
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, InvalidRequestError
from ottla.common.kafka_principal import ANONYMOUS
from ottla.common.uuid import Uuid
from ottla.config.broker_loggers import LEVELS
from ottla.config.config_entry import ConfigSource
from ottla.config.dynamic_config import DynamicConfig
from ottla.config.kafka_config import KafkaConfig
from ottla.controller import configs
from ottla.controller.settings import ControllerRequestContext, ControllerSettings
from ottla.metadata.bootstrap import BootstrapMetadata
from ottla.metadata.image import (
    EMPTY_IMAGE,
    ConfigResourceType,
    MetadataDelta,
    MetadataImage,
    MetadataProvenance,
)
from ottla.metadata.records import ConfigRecord, MetadataRecord, RegisterBrokerRecord, TopicRecord
from ottla.metadata.records.cluster import BrokerEndpoint
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import decode, encode
from ottla.protocol.headers import RequestHeader
from ottla.protocol.message import Message
from ottla.protocol.messages import alter_configs as legacy
from ottla.protocol.messages import incremental_alter_configs as incremental
from ottla.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from ottla.protocol.messages.list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse
from ottla.server.authorizer import AclOperation, AllowAll, ResourceType
from ottla.server.handlers import alter_configs, describe_configs, incremental_alter_configs, list_config_resources
from ottla.server.metadata_cache import MetadataCache

TOPIC, BROKER, LOGGER = ConfigResourceType.TOPIC, ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER
METRICS, GROUP = ConfigResourceType.CLIENT_METRICS, ConfigResourceType.GROUP
SET, DELETE, APPEND, SUBTRACT = configs.OpType
NODE_ID = 1
STATIC = {
    "process.roles": "broker,controller",
    "node.id": str(NODE_ID),
    "controller.quorum.voters": "1@localhost:9093",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "log.dirs": "/data/a,/data/b",
    "background.threads": "5",
}


class Refuse:
    """Nobody may do what is named, with the resource named."""

    def __init__(self, operation: AclOperation, resource: ResourceType) -> None:
        self._refused = (operation, resource)

    async def start(self) -> None:
        """Nothing to load."""

    def authorize(self, _context: object, operation: AclOperation, resource: ResourceType, _name: str) -> bool:
        """Everything else is allowed."""
        return (operation, resource) != self._refused


class Controller:
    """The controller's decisions on an image that does not change; keeps what it was asked."""

    def __init__(self, image: MetadataImage) -> None:
        self.image = image
        self.settings = ControllerSettings(node_id=NODE_ID, cluster_id="cluster", quorum_node_ids=(NODE_ID,))
        self.asked: list[tuple[ControllerRequestContext, Message]] = []

    async def alter_configs(
        self, context: ControllerRequestContext, request: legacy.AlterConfigsRequest
    ) -> legacy.AlterConfigsResponse:
        """As the quorum controller."""
        self.asked.append((context, request))
        return configs.alter_configs(self.image, self.settings, context, request).response

    async def incremental_alter_configs(
        self, context: ControllerRequestContext, request: incremental.IncrementalAlterConfigsRequest
    ) -> incremental.IncrementalAlterConfigsResponse:
        """As the quorum controller."""
        self.asked.append((context, request))
        return configs.incremental_alter_configs(self.image, self.settings, context, request).response


class Channel:
    """Calls the controller's handlers; or says that there is no controller."""

    def __init__(self, services: Any) -> None:
        self._services = services
        self.is_up = True

    async def forward(self, api_key: ApiKey, body: Message, context: Any) -> Message:
        """As the channel in one process."""
        if not self.is_up:
            raise ApiError(ErrorCode.NOT_CONTROLLER, "nobody leads")
        handlers = {ApiKey.ALTER_CONFIGS: alter_configs, ApiKey.INCREMENTAL_ALTER_CONFIGS: incremental_alter_configs}
        response: Message = await handlers[api_key].handle_on_controller(self._services, context, body)
        return response


class World:
    """A broker's and a controller's services over one image."""

    def __init__(self, *records: MetadataRecord) -> None:
        delta = MetadataDelta(EMPTY_IMAGE)
        known = [
            TopicRecord(name="orders", topic_id=Uuid.from_string("AAAAAAAAAAAAAAAAAAAAAQ")),
            RegisterBrokerRecord(
                broker_id=NODE_ID,
                broker_epoch=1,
                fenced=False,
                end_points=[BrokerEndpoint(name="PLAINTEXT", host="localhost", port=9092, security_protocol=0)],
            ),
        ]
        for record in (*BootstrapMetadata.default().records, *known, *records):
            delta.replay(record)
        cache = MetadataCache("broker", lambda: 1)
        cache.image = delta.apply(MetadataProvenance(1, 1, 1))
        config = DynamicConfig(KafkaConfig.from_props(STATIC))
        config.update_default(cache.image.configs.properties(BROKER, ""))
        config.update_broker(cache.image.configs.properties(BROKER, str(NODE_ID)))
        self.controller = Controller(cache.image)
        self.services: Any = SimpleNamespace(
            node_id=NODE_ID, config=config, metadata=cache, authorizer=AllowAll(), controller=self.controller
        )
        self.channel = self.services.controller_channel = Channel(self.services)

    def describe(self, *resources: tuple[int, str], version: int = 4, **options: Any) -> list[DescribeConfigsResult]:
        """DescribeConfigs over the wire."""
        keys = options.pop("keys", None)
        request = DescribeConfigsRequest(
            resources=[
                DescribeConfigsResource(resource_type=type_, resource_name=name, configuration_keys=keys)
                for type_, name in resources
            ],
            **options,
        )
        response = describe_configs.handle(self.services, context(ApiKey.DESCRIBE_CONFIGS, version), request)
        return list(decode(DescribeConfigsResponse, encode(response, version), version).results)

    def alter(
        self, *resources: incremental.AlterConfigsResource, listener: str = "PLAINTEXT", validate_only: bool = False
    ) -> list[tuple[int, str | None]]:
        """IncrementalAlterConfigs, to the broker or, by its listener, the controller: the outcomes in order."""
        request = incremental.IncrementalAlterConfigsRequest(resources=resources, validate_only=validate_only)
        handle: Any = {
            "PLAINTEXT": incremental_alter_configs.handle_on_broker,
            "CONTROLLER": incremental_alter_configs.handle_on_controller,
        }[listener]
        where = context(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, listener)
        response = asyncio.run(handle(self.services, where, request))
        assert [(r.resource_type, r.resource_name) for r in response.responses] == [
            (r.resource_type, r.resource_name) for r in resources
        ]
        return [(r.error_code, r.error_message) for r in response.responses]

    def replace(
        self, *resources: legacy.AlterConfigsResource, listener: str = "PLAINTEXT"
    ) -> list[tuple[int, str | None]]:
        """AlterConfigs likewise."""
        request = legacy.AlterConfigsRequest(resources=resources)
        handle: Any = {
            "PLAINTEXT": alter_configs.handle_on_broker,
            "CONTROLLER": alter_configs.handle_on_controller,
        }[listener]
        response = asyncio.run(handle(self.services, context(ApiKey.ALTER_CONFIGS, 2, listener), request))
        return [(r.error_code, r.error_message) for r in response.responses]


def context(api_key: ApiKey, version: int, listener_name: str = "PLAINTEXT") -> Any:
    """A request of an anonymous client."""
    header = RequestHeader(api_key, version, 1, "client")
    return SimpleNamespace(header=header, listener_name=listener_name, principal=ANONYMOUS)


def change(type_: int, name: str, *changes: tuple[str, int, str | None]) -> incremental.AlterConfigsResource:
    """Changes of one resource: key, operation, value."""
    return incremental.AlterConfigsResource(
        resource_type=type_,
        resource_name=name,
        configs=[
            incremental.AlterableConfig(name=key, config_operation=operation, value=value)
            for key, operation, value in changes
        ],
    )


def whole(type_: int, name: str, *values: tuple[str, str | None]) -> legacy.AlterConfigsResource:
    """All keys that one resource shall have."""
    return legacy.AlterConfigsResource(
        resource_type=type_,
        resource_name=name,
        configs=[legacy.AlterableConfig(name=key, value=value) for key, value in values],
    )


def setting(type_: int, resource: str, name: str, value: str) -> ConfigRecord:
    """A key that is set."""
    return ConfigRecord(resource_type=type_, resource_name=resource, name=name, value=value)


@pytest.fixture
def quiet_logger() -> Iterator[logging.Logger]:
    """A logger to change, as it was before."""
    found = logging.getLogger("tests.server.config_handlers")
    found.setLevel(logging.NOTSET)
    yield found
    found.setLevel(logging.NOTSET)


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


# -- altering, one key at a time --------------------------------------------------------------------------------------


def test_alter_is_forwarded_and_answered_in_the_order_of_the_request() -> None:
    world = World()
    outcomes = world.alter(
        change(BROKER, "2", ("log.cleaner.threads", SET, "2")),
        change(TOPIC, "orders", ("retention.ms", SET, "5")),
        change(BROKER, "", ("log.retention.ms", SET, "5")),
        change(TOPIC, "nobody", ("retention.ms", SET, "5")),
        change(BROKER, "1", ("log.cleaner.threads", SET, "2")),
    )
    assert outcomes == [
        (ErrorCode.INVALID_REQUEST, "Unexpected broker id, expected 1, but received 2"),
        (0, None),
        (0, None),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The topic 'nobody' does not exist."),
        (0, None),
    ]
    ((asked_context, asked),) = world.controller.asked
    assert asked_context.forwarded
    assert isinstance(asked, incremental.IncrementalAlterConfigsRequest)
    assert [resource.resource_name for resource in asked.resources] == ["orders", "", "nobody", "1"]


def test_what_is_settled_here_needs_no_controller(quiet_logger: logging.Logger) -> None:
    world = World()
    world.channel.is_up = False
    assert world.alter(
        change(LOGGER, "1", (quiet_logger.name, SET, "DEBUG")),
        change(BROKER, "x", ("log.cleaner.threads", SET, "2")),
    ) == [(0, None), (ErrorCode.INVALID_REQUEST, "Node id must be an integer, but it is: x")]
    assert quiet_logger.level == logging.DEBUG
    with pytest.raises(ApiError, match="nobody leads"):
        world.alter(change(TOPIC, "orders"))


@pytest.mark.parametrize(
    ("resource", "code", "message"),
    [
        (
            change(TOPIC, "orders", ("retention.ms", SET, "1"), ("retention.ms", DELETE, None)),
            ErrorCode.INVALID_REQUEST,
            "Error due to duplicate config keys",
        ),
        (
            change(TOPIC, "orders", ("a", SET, None), ("b", APPEND, None), ("c", DELETE, None)),
            ErrorCode.INVALID_REQUEST,
            "Null value not supported for : a, b",
        ),
        (change(99, "x"), ErrorCode.INVALID_REQUEST, "Unknown resource type 99"),
        (change(BROKER, "1", ("x", 9, "1")), ErrorCode.INVALID_REQUEST, "Unknown operations type 9"),
        (
            change(BROKER, "1", ("log.cleaner.threads", APPEND, "1")),
            ErrorCode.INVALID_CONFIG,
            "Config value append is not allowed for config key: log.cleaner.threads",
        ),
        (
            change(BROKER, "1", ("log.cleaner.threads", SUBTRACT, "1")),
            ErrorCode.INVALID_CONFIG,
            "Config value subtract is not allowed for config key: log.cleaner.threads",
        ),
        (change(BROKER, "1", ("nothing", APPEND, "1")), ErrorCode.INVALID_CONFIG, "Unknown config name: nothing"),
        (
            change(BROKER, "1", ("broker.rack", SET, "r")),
            ErrorCode.INVALID_REQUEST,
            "Cannot update these configs dynamically: [broker.rack]",
        ),
    ],
)
def test_the_broker_refuses(resource: incremental.AlterConfigsResource, code: int, message: str) -> None:
    world = World()
    assert world.alter(resource) == [(code, message)]
    assert world.controller.asked == []


def test_a_resource_that_is_named_twice_is_refused_both_times() -> None:
    world = World()
    once = (ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
    twice = change(TOPIC, "orders", ("retention.ms", SET, "1"))
    assert world.alter(twice, change(TOPIC, "orders"), change(BROKER, "")) == [once, once, (0, None)]


def test_a_change_is_validated_on_top_of_what_is_stored() -> None:
    stored = setting(BROKER, "1", "log.cleaner.backoff.ms", "1")
    world = World(stored, setting(BROKER, "", "log.cleanup.policy", "delete"))
    assert world.alter(change(BROKER, "", ("log.cleanup.policy", APPEND, "compact"))) == [(0, None)]
    ((code, _),) = world.alter(change(BROKER, "", ("log.cleanup.policy", APPEND, "burn")))
    assert code == ErrorCode.INVALID_REQUEST
    assert world.alter(change(BROKER, "", ("log.cleanup.policy", SUBTRACT, "delete"))) == [(0, None)]
    assert world.alter(change(BROKER, "1", ("log.cleaner.backoff.ms", DELETE, None))) == [(0, None)]


# -- loggers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("listener", ["PLAINTEXT", "CONTROLLER"])
def test_levels_are_set_and_unset_here(quiet_logger: logging.Logger, listener: str) -> None:
    world = World()
    set_trace = change(LOGGER, "1", (quiet_logger.name, SET, "TRACE"))
    assert world.alter(set_trace, listener=listener, validate_only=True) == [(0, None)]
    assert quiet_logger.level == logging.NOTSET
    assert world.alter(set_trace, listener=listener) == [(0, None)]
    assert quiet_logger.level == LEVELS["TRACE"]
    assert world.alter(change(LOGGER, "1", (quiet_logger.name, DELETE, None)), listener=listener) == [(0, None)]
    assert quiet_logger.level == logging.NOTSET
    assert world.controller.asked == []


@pytest.mark.parametrize(
    ("name", "changes", "code", "message"),
    [
        ("2", [("root", SET, "INFO")], ErrorCode.INVALID_REQUEST, "Unexpected node id. Expected 1, but received 2"),
        ("", [("root", SET, "INFO")], ErrorCode.INVALID_REQUEST, "Node id must be an integer, but it is: "),
        ("1", [("no.such", SET, "INFO")], ErrorCode.INVALID_CONFIG, "Logger no.such does not exist!"),
        (
            "1",
            [("root", DELETE, None)],
            ErrorCode.INVALID_REQUEST,
            "Removing the log level of the root logger is not allowed",
        ),
        (
            "1",
            [("root", APPEND, "INFO")],
            ErrorCode.INVALID_REQUEST,
            "APPEND operation is not allowed for the BROKER_LOGGER resource",
        ),
        (
            "1",
            [("root", 7, "INFO")],
            ErrorCode.INVALID_REQUEST,
            "Unknown operation type 7 is not allowed for the BROKER_LOGGER resource",
        ),
    ],
)
def test_no_level_changes_where_one_may_not(
    quiet_logger: logging.Logger, name: str, changes: list[tuple[str, int, str | None]], code: int, message: str
) -> None:
    resource = change(LOGGER, name, (quiet_logger.name, SET, "ERROR"), *changes)
    assert World().alter(resource) == [(code, message)]
    assert quiet_logger.level == logging.NOTSET


# -- altering as a whole ----------------------------------------------------------------------------------------------


def test_replacing_checks_brokers_here_and_passes_on_the_rest() -> None:
    world = World()
    assert world.replace(
        whole(LOGGER, "1", ("root", "INFO")),
        whole(TOPIC, "orders", ("retention.ms", "9")),
        whole(BROKER, "1", ("log.cleaner.threads", "none")),
        whole(TOPIC, "nobody", ("retention.ms", None)),
    )[:2] == [(ErrorCode.INVALID_REQUEST, "Unknown resource type 8"), (0, None)]
    ((_, asked),) = world.controller.asked
    assert isinstance(asked, legacy.AlterConfigsRequest)
    assert [resource.resource_name for resource in asked.resources] == ["orders"]
    assert world.replace(whole(BROKER, "1", ("log.cleaner.threads", "2"), ("log.cleaner.threads", "1"))) == [
        (ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    ]


# -- on the controller ------------------------------------------------------------------------------------------------


def test_controllers_know_who_asked_them_directly() -> None:
    world = World()
    assert world.alter(change(TOPIC, "orders", ("retention.ms", SET, "1")), listener="CONTROLLER") == [(0, None)]
    assert world.replace(whole(TOPIC, "orders", ("retention.ms", "1")), listener="CONTROLLER") == [(0, None)]
    assert [asked_context.forwarded for asked_context, _ in world.controller.asked] == [False, False]


def test_controllers_refuse_what_they_do_not_know() -> None:
    world = World()
    assert world.alter(change(99, "x"), listener="CONTROLLER") == [
        (ErrorCode.UNSUPPORTED_VERSION, "Unknown resource type 99.")
    ]
    assert world.replace(whole(LOGGER, "1"), listener="CONTROLLER") == [
        (ErrorCode.INVALID_REQUEST, "Unexpected resource type BROKER_LOGGER.")
    ]


@pytest.mark.parametrize(
    ("kind", "codes"),
    [
        (ResourceType.TOPIC, (ErrorCode.TOPIC_AUTHORIZATION_FAILED, 0)),
        (ResourceType.CLUSTER, (0, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)),
    ],
)
def test_altering_needs_permission_for_each_resource(kind: ResourceType, codes: tuple[int, int]) -> None:
    world = World()
    world.services.authorizer = Refuse(AclOperation.ALTER_CONFIGS, kind)
    changes = (change(TOPIC, "orders", ("retention.ms", SET, "1")), change(BROKER, "", ("log.retention.ms", SET, "1")))
    assert tuple(code for code, _ in world.alter(*changes)) == codes
    replaced = (whole(TOPIC, "orders", ("retention.ms", "1")), whole(BROKER, "", ("log.retention.ms", "1")))
    assert tuple(code for code, _ in world.replace(*replaced)) == codes


def test_levels_need_permission(quiet_logger: logging.Logger) -> None:
    world = World()
    world.services.authorizer = Refuse(AclOperation.ALTER_CONFIGS, ResourceType.CLUSTER)
    ((code, _),) = world.alter(change(LOGGER, "1", (quiet_logger.name, SET, "INFO")))
    assert code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    world.services.authorizer = Refuse(AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER)
    ((code, _),) = world.alter(change(LOGGER, "1", (quiet_logger.name, SET, "INFO")), listener="CONTROLLER")
    assert code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert quiet_logger.level == logging.NOTSET


def test_groups_and_client_metrics_can_be_altered() -> None:
    world = World()
    outcomes = world.alter(
        change(GROUP, "g", ("consumer.session.timeout.ms", SET, "46000")),
        change(METRICS, "m", ("interval.ms", SET, "100")),
        change(GROUP, "g2", ("consumer.session.timeout.ms", SET, "1")),
        change(METRICS, "m2", ("interval.ms", SET, "1")),
    )
    assert [code for code, _ in outcomes] == [0, 0, ErrorCode.INVALID_CONFIG, ErrorCode.INVALID_REQUEST]


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
