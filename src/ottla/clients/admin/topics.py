"""Creating, deleting and listing topics."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, overload

from ottla.clients.admin.admin_part import AdminPart
from ottla.clients.admin.ask import Ask, controller, keyed
from ottla.clients.admin.configs import ConfigEntry, config_source
from ottla.clients.admin.results import outcome
from ottla.common.error_code import ErrorCode
from ottla.common.errors import KafkaError
from ottla.common.uuid import Uuid
from ottla.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from ottla.protocol.messages.metadata import MetadataRequest, MetadataResponse

BROKER_DEFAULT = -1
"""As a number of partitions or replicas: the broker's num.partitions or default.replication.factor."""


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create. With ``replica_assignments`` (brokers by partition) the two numbers stay -1."""

    name: str
    num_partitions: int = BROKER_DEFAULT
    replication_factor: int = BROKER_DEFAULT
    replica_assignments: Mapping[int, Sequence[int]] | None = None
    configs: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreatedTopic:
    """What a new topic has become, or with ``validate_only`` would. ``configs`` is None if we may not see them."""

    name: str
    topic_id: Uuid
    num_partitions: int
    replication_factor: int
    configs: Mapping[str, ConfigEntry] | None


@dataclass(frozen=True, slots=True)
class TopicListing:
    """A topic that exists."""

    name: str
    topic_id: Uuid
    is_internal: bool


class TopicsPart(AdminPart):
    """The topics of a cluster."""

    __slots__ = ()

    @overload
    async def create_topics(
        self,
        topics: Iterable[NewTopic],
        *,
        validate_only: bool = ...,
        raise_errors: Literal[True] = ...,
        timeout_ms: int | None = ...,
    ) -> dict[str, CreatedTopic]: ...
    @overload
    async def create_topics(
        self,
        topics: Iterable[NewTopic],
        *,
        validate_only: bool = ...,
        raise_errors: Literal[False],
        timeout_ms: int | None = ...,
    ) -> dict[str, CreatedTopic | KafkaError]: ...
    async def create_topics(
        self,
        topics: Iterable[NewTopic],
        *,
        validate_only: bool = False,
        raise_errors: bool = True,
        timeout_ms: int | None = None,
    ) -> Mapping[str, CreatedTopic | KafkaError]:
        """Create topics, each on its own: some may fail (TopicExistsError, InvalidTopicError, …) and others not.

        They may not be known to all brokers yet when this returns. With ``validate_only`` nothing is created.
        """
        wanted = {topic.name: topic for topic in topics}

        def request(names: Sequence[str], left_ms: int) -> CreateTopicsRequest:
            return create_topics_request([wanted[name] for name in names], left_ms, validate_only=validate_only)

        return await self._ask(Ask(list(wanted), controller, request, keyed(created_topics)), timeout_ms, raise_errors)

    @overload
    async def delete_topics(
        self, names: Iterable[str], *, raise_errors: Literal[True] = ..., timeout_ms: int | None = ...
    ) -> dict[str, None]: ...
    @overload
    async def delete_topics(
        self, names: Iterable[str], *, raise_errors: Literal[False], timeout_ms: int | None = ...
    ) -> dict[str, KafkaError | None]: ...
    async def delete_topics(
        self, names: Iterable[str], *, raise_errors: bool = True, timeout_ms: int | None = None
    ) -> Mapping[str, KafkaError | None]:
        """Delete topics by name; brokers may show them for a moment after this returns."""

        def request(keys: Sequence[str], left_ms: int) -> DeleteTopicsRequest:
            # Versions before 6 have only the list of names.
            states = [DeleteTopicState(name=name) for name in keys]
            return DeleteTopicsRequest(topics=states, topic_names=keys, timeout_ms=left_ms)

        return await self._ask(
            Ask(list(dict.fromkeys(names)), controller, request, keyed(deleted_by_name)), timeout_ms, raise_errors
        )

    @overload
    async def delete_topics_by_id(
        self, topic_ids: Iterable[Uuid], *, raise_errors: Literal[True] = ..., timeout_ms: int | None = ...
    ) -> dict[Uuid, None]: ...
    @overload
    async def delete_topics_by_id(
        self, topic_ids: Iterable[Uuid], *, raise_errors: Literal[False], timeout_ms: int | None = ...
    ) -> dict[Uuid, KafkaError | None]: ...
    async def delete_topics_by_id(
        self, topic_ids: Iterable[Uuid], *, raise_errors: bool = True, timeout_ms: int | None = None
    ) -> Mapping[Uuid, KafkaError | None]:
        """Delete topics by id: never another one that has got the name meanwhile."""

        def request(keys: Sequence[Uuid], left_ms: int) -> DeleteTopicsRequest:
            states = [DeleteTopicState(name=None, topic_id=topic_id) for topic_id in keys]
            return DeleteTopicsRequest(topics=states, timeout_ms=left_ms)

        return await self._ask(
            Ask(list(dict.fromkeys(topic_ids)), controller, request, keyed(deleted_by_id)), timeout_ms, raise_errors
        )

    async def list_topics(
        self, *, include_internal: bool = False, timeout_ms: int | None = None
    ) -> dict[str, TopicListing]:
        """All topics that we may see, by name; Kafka's own (``__consumer_offsets``, …) only if asked for."""
        listings = await self._ask_one(
            lambda _: MetadataRequest(topics=None, allow_auto_topic_creation=False), listed_topics, timeout_ms
        )
        return {topic.name: topic for topic in listings if include_internal or not topic.is_internal}


def create_topics_request(topics: Iterable[NewTopic], timeout_ms: int, *, validate_only: bool) -> CreateTopicsRequest:
    """Ask to create topics."""
    return CreateTopicsRequest(
        topics=[_creatable(topic) for topic in topics], timeout_ms=timeout_ms, validate_only=validate_only
    )


def _creatable(topic: NewTopic) -> CreatableTopic:
    assignments = (topic.replica_assignments or {}).items()
    return CreatableTopic(
        name=topic.name,
        num_partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments=[CreatableReplicaAssignment(partition_index=index, broker_ids=ids) for index, ids in assignments],
        configs=[CreatableTopicConfig(name=name, value=value) for name, value in topic.configs.items()],
    )


def created_topics(response: CreateTopicsResponse) -> dict[str, CreatedTopic | KafkaError]:
    """Read what has been created."""
    return {topic.name: outcome(topic.error_code, topic.error_message, _created(topic)) for topic in response.topics}


def _created(topic: CreatableTopicResult) -> CreatedTopic:
    configs = {
        config.name: ConfigEntry(
            config.name,
            config.value,
            source=config_source(config.config_source),
            is_read_only=config.read_only,
            is_sensitive=config.is_sensitive,
        )
        for config in topic.configs or ()
    }
    visible = topic.topic_config_error_code == ErrorCode.NONE
    return CreatedTopic(
        topic.name, topic.topic_id, topic.num_partitions, topic.replication_factor, configs if visible else None
    )


def deleted_by_name(response: DeleteTopicsResponse) -> dict[str, KafkaError | None]:
    """Read an answer to a deletion by name."""
    return {topic.name or "": outcome(topic.error_code, topic.error_message, None) for topic in response.responses}


def deleted_by_id(response: DeleteTopicsResponse) -> dict[Uuid, KafkaError | None]:
    """Read an answer to a deletion by id."""
    return {topic.topic_id: outcome(topic.error_code, topic.error_message, None) for topic in response.responses}


def listed_topics(response: MetadataResponse) -> list[TopicListing]:
    """Read all topics, sorted by name."""
    return sorted(
        (TopicListing(topic.name or "", topic.topic_id, topic.is_internal) for topic in response.topics),
        key=lambda topic: topic.name,
    )
