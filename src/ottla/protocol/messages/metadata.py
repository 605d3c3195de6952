"""Metadata (api key 3)."""

from collections.abc import Sequence

from ottla.common.uuid import ZERO_UUID, Uuid
from ottla.protocol.message import BOOL, INT16, INT32, STRING, UUID, ArrayOf, Message, field


class MetadataRequestTopic(Message):
    topic_id: Uuid = field(UUID, "10+", default=ZERO_UUID)
    name: str | None = field(STRING, "0+", default="", nullable="10+")


class MetadataRequest(Message, api_key=3, versions="0-13", flexible="9+"):
    topics: Sequence[MetadataRequestTopic] | None = field(
        ArrayOf(MetadataRequestTopic), "0+", default=(), nullable="1+"
    )
    allow_auto_topic_creation: bool = field(BOOL, "4+", default=True)
    include_cluster_authorized_operations: bool = field(BOOL, "8-10", default=False)
    include_topic_authorized_operations: bool = field(BOOL, "8+", default=False)


class MetadataResponseBroker(Message):
    node_id: int = field(INT32, "0+", default=0)
    host: str = field(STRING, "0+", default="")
    port: int = field(INT32, "0+", default=0)
    rack: str | None = field(STRING, "1+", default=None, nullable="1+")


class MetadataResponsePartition(Message):
    error_code: int = field(INT16, "0+", default=0)
    partition_index: int = field(INT32, "0+", default=0)
    leader_id: int = field(INT32, "0+", default=0)
    leader_epoch: int = field(INT32, "7+", default=-1)
    replica_nodes: Sequence[int] = field(ArrayOf(INT32), "0+", default=())
    isr_nodes: Sequence[int] = field(ArrayOf(INT32), "0+", default=())
    offline_replicas: Sequence[int] = field(ArrayOf(INT32), "5+", default=())


class MetadataResponseTopic(Message):
    error_code: int = field(INT16, "0+", default=0)
    name: str | None = field(STRING, "0+", default="", nullable="12+")
    topic_id: Uuid = field(UUID, "10+", default=ZERO_UUID)
    is_internal: bool = field(BOOL, "1+", default=False)
    partitions: Sequence[MetadataResponsePartition] = field(ArrayOf(MetadataResponsePartition), "0+", default=())
    topic_authorized_operations: int = field(INT32, "8+", default=-2147483648)


class MetadataResponse(Message, api_key=3, versions="0-13", flexible="9+"):
    throttle_time_ms: int = field(INT32, "3+", default=0)
    brokers: Sequence[MetadataResponseBroker] = field(ArrayOf(MetadataResponseBroker), "0+", default=())
    cluster_id: str | None = field(STRING, "2+", default=None, nullable="2+")
    controller_id: int = field(INT32, "1+", default=-1)
    topics: Sequence[MetadataResponseTopic] = field(ArrayOf(MetadataResponseTopic), "0+", default=())
    cluster_authorized_operations: int = field(INT32, "8-10", default=-2147483648)
    error_code: int = field(INT16, "13+", default=0)
