"""What to ask a node for metadata, and its answer in one form: a broker's Metadata, a controller's DescribeCluster."""

from typing import Final, Protocol

from ottla.clients.cluster.metadata_updater import UpdatePlan
from ottla.common.error_code import ErrorCode
from ottla.common.uuid import ZERO_UUID
from ottla.protocol.message import Message
from ottla.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from ottla.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
)

_CONTROLLERS: Final = 2


class MetadataSource(Protocol):
    """Who is asked for metadata."""

    def request(self, plan: UpdatePlan) -> Message:
        """The question."""

    def read(self, response: Message) -> MetadataResponse:
        """The answer."""


class BrokerMetadata:
    """Brokers know all; ``allow_auto_topic_creation`` lets them make topics that are asked for."""

    __slots__ = ("_allow_auto_topic_creation",)

    def __init__(self, *, allow_auto_topic_creation: bool) -> None:
        self._allow_auto_topic_creation = allow_auto_topic_creation

    def request(self, plan: UpdatePlan) -> MetadataRequest:
        """Names only: a topic that was made anew has another id."""
        names = plan.topics
        topics = None if names is None else [MetadataRequestTopic(topic_id=ZERO_UUID, name=name) for name in names]
        return MetadataRequest(topics=topics, allow_auto_topic_creation=self._allow_auto_topic_creation)

    def read(self, response: Message) -> MetadataResponse:
        """As it is."""
        assert isinstance(response, MetadataResponse)
        return response


class ControllerMetadata:
    """Controllers know each other, and no topics that a client could use."""

    __slots__ = ()

    def request(self, plan: UpdatePlan) -> DescribeClusterRequest:
        """The controllers, whatever else is wanted."""
        del plan
        return DescribeClusterRequest(endpoint_type=_CONTROLLERS)

    def read(self, response: Message) -> MetadataResponse:
        """The controllers as nodes."""
        assert isinstance(response, DescribeClusterResponse)
        brokers = [
            MetadataResponseBroker(node_id=node.broker_id, host=node.host, port=node.port, rack=node.rack)
            for node in response.brokers
        ]
        return MetadataResponse(
            error_code=response.error_code or ErrorCode.NONE,
            cluster_id=response.cluster_id,
            controller_id=response.controller_id,
            brokers=brokers,
        )
