"""The nodes of a cluster, what they speak, and brokers that are gone for good."""

from collections.abc import Mapping
from dataclasses import dataclass

from ottla.clients.admin.acl_operation import AclOperation, authorized_operations
from ottla.clients.admin.admin_part import AdminPart
from ottla.clients.admin.ask import Anywhere, Broker
from ottla.clients.admin.results import check
from ottla.protocol.message import VersionRange
from ottla.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from ottla.protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse

_BROKERS, _CONTROLLERS = 1, 2


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """A broker, or a controller where controllers were asked; ``is_fenced``: registered, but not alive."""

    id: int
    host: str
    port: int
    rack: str | None = None
    is_fenced: bool = False


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """A cluster. Brokers name as ``controller_id`` any of themselves, since they all forward; None if there is none."""

    cluster_id: str
    controller_id: int | None
    nodes: tuple[ClusterNode, ...]
    authorized_operations: frozenset[AclOperation] | None = None

    @property
    def controller(self) -> ClusterNode | None:
        """The node of ``controller_id``."""
        return next((node for node in self.nodes if node.id == self.controller_id), None)


@dataclass(frozen=True, slots=True)
class ApiVersionsDescription:
    """The versions that a node speaks, by API key (``ottla.protocol.api_keys.ApiKey`` names those known here)."""

    node_id: int
    versions: Mapping[int, VersionRange]


class ClusterPart(AdminPart):
    """The cluster itself."""

    __slots__ = ()

    async def describe_cluster(
        self,
        *,
        include_authorized_operations: bool = False,
        include_fenced_brokers: bool = False,
        timeout_ms: int | None = None,
    ) -> ClusterDescription:
        """The cluster's id and nodes: its brokers, or with ``bootstrap_controllers`` its controllers."""
        request = DescribeClusterRequest(
            include_cluster_authorized_operations=include_authorized_operations,
            endpoint_type=_CONTROLLERS if self._caller.uses_controllers else _BROKERS,
            include_fenced_brokers=include_fenced_brokers,
        )
        return await self._ask_one(lambda _: request, described_cluster, timeout_ms)

    async def describe_api_versions(self, node_id: int, *, timeout_ms: int | None = None) -> ApiVersionsDescription:
        """What one node speaks."""
        request = ApiVersionsRequest(client_software_name="ottla", client_software_version="admin")

        def read(response: ApiVersionsResponse) -> ApiVersionsDescription:
            check(response.error_code)
            ranges = {each.api_key: VersionRange(each.min_version, each.max_version) for each in response.api_keys}
            return ApiVersionsDescription(node_id, ranges)

        return await self._ask_one(lambda _: request, read, timeout_ms, Broker(node_id))

    async def unregister_broker(self, broker_id: int, *, timeout_ms: int | None = None) -> None:
        """Forget a broker that will not come back; one that is alive registers again."""

        def read(response: UnregisterBrokerResponse) -> None:
            check(response.error_code, response.error_message)

        request = UnregisterBrokerRequest(broker_id=broker_id)
        await self._ask_one(lambda _: request, read, timeout_ms, Anywhere.CONTROLLER)


def described_cluster(response: DescribeClusterResponse) -> ClusterDescription:
    """Read a cluster's description."""
    check(response.error_code, response.error_message)
    nodes = (ClusterNode(each.broker_id, each.host, each.port, each.rack, each.is_fenced) for each in response.brokers)
    return ClusterDescription(
        response.cluster_id,
        response.controller_id if response.controller_id >= 0 else None,
        tuple(sorted(nodes, key=lambda node: node.id)),
        authorized_operations(response.cluster_authorized_operations),
    )
