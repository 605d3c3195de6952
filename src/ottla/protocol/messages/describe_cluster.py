"""DescribeCluster (api key 60)."""

from collections.abc import Sequence

from ottla.protocol.message import BOOL, INT8, INT16, INT32, STRING, ArrayOf, Message, field


class DescribeClusterRequest(Message, api_key=60, versions="0-2", flexible="0+"):
    include_cluster_authorized_operations: bool = field(BOOL, "0+", default=False)
    endpoint_type: int = field(INT8, "1+", default=1)
    include_fenced_brokers: bool = field(BOOL, "2+", default=False)


class DescribeClusterBroker(Message):
    broker_id: int = field(INT32, "0+", default=0)
    host: str = field(STRING, "0+", default="")
    port: int = field(INT32, "0+", default=0)
    rack: str | None = field(STRING, "0+", default=None, nullable="0+")
    is_fenced: bool = field(BOOL, "2+", default=False)


class DescribeClusterResponse(Message, api_key=60, versions="0-2", flexible="0+"):
    throttle_time_ms: int = field(INT32, "0+", default=0)
    error_code: int = field(INT16, "0+", default=0)
    error_message: str | None = field(STRING, "0+", default=None, nullable="0+")
    endpoint_type: int = field(INT8, "1+", default=1)
    cluster_id: str = field(STRING, "0+", default="")
    controller_id: int = field(INT32, "0+", default=-1)
    brokers: Sequence[DescribeClusterBroker] = field(ArrayOf(DescribeClusterBroker), "0+", default=())
    cluster_authorized_operations: int = field(INT32, "0+", default=-2147483648)
