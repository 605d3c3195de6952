"""A broker and its controller as the configuration handlers see them, on an image and a configuration of their own."""

import asyncio
from types import SimpleNamespace
from typing import Any

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.common.kafka_principal import ANONYMOUS
from ottla.common.uuid import Uuid
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
from ottla.server.authorizer import AclOperation, AllowAll, ResourceType
from ottla.server.handlers import alter_configs, describe_configs, incremental_alter_configs
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


async def _settled() -> None:
    """Metadata is followed at once here."""


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
        self.services.metadata_settled = _settled

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
