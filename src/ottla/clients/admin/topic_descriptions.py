"""Describing topics: their partitions, who leads and who follows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, overload

from ottla.clients.admin.acl_operation import AclOperation, authorized_operations
from ottla.clients.admin.admin_part import AdminPart
from ottla.clients.admin.ask import Ask, anywhere, keyed
from ottla.clients.admin.results import checked, outcome
from ottla.clients.errors import UnsupportedVersionError
from ottla.common.errors import KafkaError
from ottla.common.uuid import Uuid
from ottla.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsRequestCursor,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponseTopic,
    TopicRequest,
)
from ottla.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)

_TOPIC_ID_VERSION = 12
"""Since this version Metadata finds topics by id."""


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    """A partition: broker ids of its leader (None while it has none), replicas, and those in sync.

    ``eligible_leader_replicas`` and ``last_known_elr`` (KIP-966) are None where the cluster does not have them.
    """

    partition: int
    leader_id: int | None
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline_replicas: tuple[int, ...] = ()
    eligible_leader_replicas: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """A topic and its partitions, in their order. ``authorized_operations`` is None unless asked for."""

    name: str
    topic_id: Uuid
    is_internal: bool
    partitions: tuple[PartitionDescription, ...]
    authorized_operations: frozenset[AclOperation] | None = None


Described = TopicDescription | KafkaError


class TopicDescriptionsPart(AdminPart):
    """Descriptions of topics."""

    __slots__ = ()

    @overload
    async def describe_topics(
        self,
        names: Iterable[str],
        *,
        include_authorized_operations: bool = ...,
        partition_limit: int = ...,
        raise_errors: Literal[True] = ...,
        timeout_ms: int | None = ...,
    ) -> dict[str, TopicDescription]: ...
    @overload
    async def describe_topics(
        self,
        names: Iterable[str],
        *,
        include_authorized_operations: bool = ...,
        partition_limit: int = ...,
        raise_errors: Literal[False],
        timeout_ms: int | None = ...,
    ) -> dict[str, TopicDescription | KafkaError]: ...
    async def describe_topics(
        self,
        names: Iterable[str],
        *,
        include_authorized_operations: bool = False,
        partition_limit: int = 2000,
        raise_errors: bool = True,
        timeout_ms: int | None = None,
    ) -> Mapping[str, TopicDescription | KafkaError]:
        """Describe topics by name, at most ``partition_limit`` partitions a request."""
        wanted = sorted(set(names))
        try:
            found = await self._pages(wanted, partition_limit, timeout_ms)
        except UnsupportedVersionError:  # brokers before 3.8
            found = await self._from_metadata(wanted, timeout_ms)
        if not include_authorized_operations:
            found = {name: _without_operations(each) for name, each in found.items()}
        return checked(found, raise_errors=raise_errors)

    @overload
    async def describe_topics_by_id(
        self,
        topic_ids: Iterable[Uuid],
        *,
        include_authorized_operations: bool = ...,
        raise_errors: Literal[True] = ...,
        timeout_ms: int | None = ...,
    ) -> dict[Uuid, TopicDescription]: ...
    @overload
    async def describe_topics_by_id(
        self,
        topic_ids: Iterable[Uuid],
        *,
        include_authorized_operations: bool = ...,
        raise_errors: Literal[False],
        timeout_ms: int | None = ...,
    ) -> dict[Uuid, TopicDescription | KafkaError]: ...
    async def describe_topics_by_id(
        self,
        topic_ids: Iterable[Uuid],
        *,
        include_authorized_operations: bool = False,
        raise_errors: bool = True,
        timeout_ms: int | None = None,
    ) -> Mapping[Uuid, TopicDescription | KafkaError]:
        """Describe topics by id."""

        def request(keys: Sequence[Uuid], _: int) -> MetadataRequest:
            return MetadataRequest(
                topics=[MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in keys],
                allow_auto_topic_creation=False,
                include_topic_authorized_operations=include_authorized_operations,
            )

        def read(response: MetadataResponse) -> dict[Uuid, Described]:
            return {topic.topic_id: described_by_metadata(topic) for topic in response.topics}

        keys = list(dict.fromkeys(topic_ids))
        ask = Ask(keys, anywhere, request, keyed(read), min_version=_TOPIC_ID_VERSION)
        return await self._ask(ask, timeout_ms, raise_errors)

    async def _pages(self, names: Sequence[str], partition_limit: int, timeout_ms: int | None) -> dict[str, Described]:
        found: dict[str, Described] = {}
        left, cursor = list(names), None
        while left:
            request = DescribeTopicPartitionsRequest(
                topics=[TopicRequest(name=name) for name in left],
                response_partition_limit=partition_limit,
                cursor=cursor,
            )
            page = await self._ask_one(lambda _, request=request: request, _as_it_is, timeout_ms)  # type: ignore[misc]
            merge_page(found, page)
            next_cursor = page.next_cursor
            if next_cursor is None:
                break
            left = [name for name in left if name >= next_cursor.topic_name]
            cursor = DescribeTopicPartitionsRequestCursor(
                topic_name=next_cursor.topic_name, partition_index=next_cursor.partition_index
            )
        return {name: found[name] for name in names if name in found}

    async def _from_metadata(self, names: Sequence[str], timeout_ms: int | None) -> dict[str, Described]:
        def request(keys: Sequence[str], _: int) -> MetadataRequest:
            return MetadataRequest(
                topics=[MetadataRequestTopic(name=name) for name in keys],
                allow_auto_topic_creation=False,
                include_topic_authorized_operations=True,
            )

        def read(response: MetadataResponse) -> dict[str, Described]:
            return {topic.name or "": described_by_metadata(topic) for topic in response.topics}

        return await self._caller.ask(Ask(names, anywhere, request, keyed(read)), timeout_ms)


def _as_it_is(response: DescribeTopicPartitionsResponse) -> DescribeTopicPartitionsResponse:
    return response


def merge_page(found: dict[str, Described], page: DescribeTopicPartitionsResponse) -> None:
    """Add a page of an answer; a topic that began on the page before goes on."""
    for topic in page.topics:
        name = topic.name or ""
        described = outcome(topic.error_code, None, _description(topic))
        earlier = found.get(name)
        if isinstance(earlier, TopicDescription) and isinstance(described, TopicDescription):
            described = replace(described, partitions=(*earlier.partitions, *described.partitions))
        found[name] = described


def _description(topic: DescribeTopicPartitionsResponseTopic) -> TopicDescription:
    return TopicDescription(
        topic.name or "",
        topic.topic_id,
        topic.is_internal,
        tuple(
            PartitionDescription(
                each.partition_index,
                each.leader_id if each.leader_id >= 0 else None,
                each.leader_epoch,
                tuple(each.replica_nodes),
                tuple(each.isr_nodes),
                tuple(each.offline_replicas),
                _ids(each.eligible_leader_replicas),
                _ids(each.last_known_elr),
            )
            for each in topic.partitions
        ),
        authorized_operations(topic.topic_authorized_operations),
    )


def described_by_metadata(topic: MetadataResponseTopic) -> Described:
    """Read a topic of a Metadata answer."""
    partitions = sorted(topic.partitions, key=lambda each: each.partition_index)
    description = TopicDescription(
        topic.name or "",
        topic.topic_id,
        topic.is_internal,
        tuple(
            PartitionDescription(
                each.partition_index,
                each.leader_id if each.leader_id >= 0 else None,
                each.leader_epoch,
                tuple(each.replica_nodes),
                tuple(each.isr_nodes),
                tuple(each.offline_replicas),
            )
            for each in partitions
        ),
        authorized_operations(topic.topic_authorized_operations),
    )
    return outcome(topic.error_code, None, description)


def _without_operations(described: Described) -> Described:
    return described if isinstance(described, KafkaError) else replace(described, authorized_operations=None)


def _ids(nodes: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if nodes is None else tuple(nodes)
