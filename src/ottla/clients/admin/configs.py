"""Configurations of topics, brokers, groups, client metrics and loggers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Literal, NamedTuple, overload

from ottla.clients.admin.admin_part import AdminPart
from ottla.clients.admin.ask import Anywhere, Ask, Broker, Target, keyed
from ottla.clients.admin.results import check, outcome
from ottla.common.errors import KafkaError
from ottla.config.config_entry import TYPE_IDS, ConfigSource
from ottla.config.values import ConfigType
from ottla.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from ottla.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from ottla.protocol.messages.list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse


class ConfigResourceType(IntEnum):
    """What can be configured, under the protocol's ids."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigResource(NamedTuple):
    """One thing that is configured. The broker of the empty name stands for the defaults of all brokers."""

    type: ConfigResourceType
    name: str

    @property
    def is_default(self) -> bool:
        """Whether this stands for all resources of its type."""
        return not self.name


@dataclass(frozen=True, slots=True)
class ConfigSynonym:
    """A place that gives a key a value."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """A key and its value (None if it is a secret or unset), and where that comes from.

    ``synonyms`` (if asked for) are all places that give a value, the one that counts first.
    """

    name: str
    value: str | None
    source: ConfigSource = ConfigSource.UNKNOWN
    is_read_only: bool = False
    is_sensitive: bool = False
    synonyms: tuple[ConfigSynonym, ...] = ()
    type: ConfigType | None = None
    documentation: str | None = None

    @property
    def is_default(self) -> bool:
        """Whether nobody has set it."""
        return self.source == ConfigSource.DEFAULT_CONFIG


class AlterConfigOpType(IntEnum):
    """What to do with a key: SET, DELETE (back to the default), and for lists APPEND and SUBTRACT."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(frozen=True, slots=True)
class AlterConfigOp:
    """One change of one key; ``value`` is None to delete."""

    name: str
    value: str | None = None
    operation: AlterConfigOpType = AlterConfigOpType.SET


_TYPES: Final = {type_id: ConfigType[name] for name, type_id in TYPE_IDS.items()}
_NODE_SPECIFIC: Final = (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER)


class ConfigsPart(AdminPart):
    """Configurations."""

    __slots__ = ()

    @overload
    async def describe_configs(
        self,
        resources: Iterable[ConfigResource],
        *,
        keys: Sequence[str] | None = ...,
        include_synonyms: bool = ...,
        include_documentation: bool = ...,
        raise_errors: Literal[True] = ...,
        timeout_ms: int | None = ...,
    ) -> dict[ConfigResource, dict[str, ConfigEntry]]: ...
    @overload
    async def describe_configs(
        self,
        resources: Iterable[ConfigResource],
        *,
        keys: Sequence[str] | None = ...,
        include_synonyms: bool = ...,
        include_documentation: bool = ...,
        raise_errors: Literal[False],
        timeout_ms: int | None = ...,
    ) -> dict[ConfigResource, dict[str, ConfigEntry] | KafkaError]: ...
    async def describe_configs(
        self,
        resources: Iterable[ConfigResource],
        *,
        keys: Sequence[str] | None = None,
        include_synonyms: bool = False,
        include_documentation: bool = False,
        raise_errors: bool = True,
        timeout_ms: int | None = None,
    ) -> Mapping[ConfigResource, dict[str, ConfigEntry] | KafkaError]:
        """The configuration of each resource, all of it or only ``keys``. A broker is asked itself."""

        def request(asked: Sequence[ConfigResource], _: int) -> DescribeConfigsRequest:
            return DescribeConfigsRequest(
                resources=[
                    DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
                    for kind, name in asked
                ],
                include_synonyms=include_synonyms,
                include_documentation=include_documentation,
            )

        ask = Ask(list(dict.fromkeys(resources)), configured_at, request, keyed(described_configs))
        return await self._ask(ask, timeout_ms, raise_errors)

    @overload
    async def alter_configs(
        self,
        changes: Mapping[ConfigResource, Iterable[AlterConfigOp]],
        *,
        validate_only: bool = ...,
        raise_errors: Literal[True] = ...,
        timeout_ms: int | None = ...,
    ) -> dict[ConfigResource, None]: ...
    @overload
    async def alter_configs(
        self,
        changes: Mapping[ConfigResource, Iterable[AlterConfigOp]],
        *,
        validate_only: bool = ...,
        raise_errors: Literal[False],
        timeout_ms: int | None = ...,
    ) -> dict[ConfigResource, KafkaError | None]: ...
    async def alter_configs(
        self,
        changes: Mapping[ConfigResource, Iterable[AlterConfigOp]],
        *,
        validate_only: bool = False,
        raise_errors: bool = True,
        timeout_ms: int | None = None,
    ) -> Mapping[ConfigResource, KafkaError | None]:
        """Change the keys that are named and leave all others; each resource changes wholly or not at all."""
        operations = {resource: tuple(changed) for resource, changed in changes.items()}

        def request(asked: Sequence[ConfigResource], _: int) -> IncrementalAlterConfigsRequest:
            return IncrementalAlterConfigsRequest(
                resources=[_alteration(resource, operations[resource]) for resource in asked],
                validate_only=validate_only,
            )

        return await self._ask(
            Ask(list(operations), configured_at, request, keyed(altered_configs)), timeout_ms, raise_errors
        )

    async def list_config_resources(
        self, types: Iterable[ConfigResourceType] = (), *, timeout_ms: int | None = None
    ) -> list[ConfigResource]:
        """All resources of these types that are there to be configured; without types, of all that the broker lists."""
        wanted = [int(kind) for kind in types]

        def read(response: ListConfigResourcesResponse) -> list[ConfigResource]:
            check(response.error_code)
            found = response.config_resources
            return [ConfigResource(config_resource_type(each.resource_type), each.resource_name) for each in found]

        return await self._ask_one(lambda _: ListConfigResourcesRequest(resource_types=wanted), read, timeout_ms)


def configured_at(resource: ConfigResource) -> Target:
    """Who knows a resource: a broker its own, with what its file says; anyone all others."""
    if resource.type in _NODE_SPECIFIC and not resource.is_default:
        try:
            return Broker(int(resource.name))
        except ValueError:
            return Anywhere.ANY_NODE  # which refuses the name
    return Anywhere.ANY_NODE


def described_configs(response: DescribeConfigsResponse) -> dict[ConfigResource, dict[str, ConfigEntry] | KafkaError]:
    """Read descriptions."""
    return {
        ConfigResource(config_resource_type(result.resource_type), result.resource_name): outcome(
            result.error_code, result.error_message, {config.name: _entry(config) for config in result.configs}
        )
        for result in response.results
    }


def _entry(config: DescribeConfigsResourceResult) -> ConfigEntry:
    synonyms = tuple(ConfigSynonym(each.name, each.value, config_source(each.source)) for each in config.synonyms)
    return ConfigEntry(
        config.name,
        config.value,
        config_source(config.config_source),
        config.read_only,
        config.is_sensitive,
        synonyms,
        _TYPES.get(config.config_type),
        config.documentation,
    )


def _alteration(resource: ConfigResource, operations: Iterable[AlterConfigOp]) -> AlterConfigsResource:
    return AlterConfigsResource(
        resource_type=resource.type,
        resource_name=resource.name,
        configs=[
            AlterableConfig(name=each.name, config_operation=each.operation, value=each.value) for each in operations
        ],
    )


def altered_configs(response: IncrementalAlterConfigsResponse) -> dict[ConfigResource, KafkaError | None]:
    """Read what has been changed."""
    return {
        ConfigResource(config_resource_type(result.resource_type), result.resource_name): outcome(
            result.error_code, result.error_message, None
        )
        for result in response.responses
    }


def config_source(source: int) -> ConfigSource:
    """A source of an answer; UNKNOWN for one that came after us."""
    try:
        return ConfigSource(source)
    except ValueError:
        return ConfigSource.UNKNOWN


def config_resource_type(kind: int) -> ConfigResourceType:
    """A type of an answer; UNKNOWN for one that came after us."""
    try:
        return ConfigResourceType(kind)
    except ValueError:
        return ConfigResourceType.UNKNOWN
