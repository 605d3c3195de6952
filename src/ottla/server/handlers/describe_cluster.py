"""DescribeCluster 0–2: the nodes of the cluster; brokers from a broker, controllers from a controller."""

from typing import Final

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from ottla.server.api import Api, ListenerType
from ottla.server.authorizer import (
    CLUSTER_NAME,
    NOT_ASKED,
    AclOperation,
    Authorizer,
    ResourceType,
    authorized_operations,
    require_cluster,
)
from ottla.server.services import BrokerServices, ControllerServices

ENDPOINT_TYPES: Final = {1: "BROKER", 2: "CONTROLLER"}
_BROKER: Final = 1
_CONTROLLER: Final = 2


def handle_on_broker(
    services: BrokerServices, context: RequestContext, body: DescribeClusterRequest
) -> DescribeClusterResponse:
    """The brokers; fenced ones only for those who ask for them."""
    _check_endpoint_type(context, body, _BROKER)
    brokers = []
    for broker in services.metadata.image.cluster.brokers.values():
        endpoint = broker.listeners.get(context.listener_name)
        if endpoint is not None and (body.include_fenced_brokers or not broker.fenced):
            brokers.append(
                DescribeClusterBroker(
                    broker_id=broker.id,
                    host=endpoint.host,
                    port=endpoint.port,
                    rack=broker.rack,
                    is_fenced=broker.fenced,
                )
            )
    alive = [broker.broker_id for broker in brokers if not broker.is_fenced]
    return DescribeClusterResponse(
        endpoint_type=_BROKER,
        cluster_id=services.cluster_id,
        controller_id=services.runtime.rng.choice(alive) if alive else -1,
        brokers=brokers,
        cluster_authorized_operations=_operations(services.authorizer, context, body),
    )


def handle_on_controller(
    services: ControllerServices, context: RequestContext, body: DescribeClusterRequest
) -> DescribeClusterResponse:
    """The controllers, of which the active one is named."""
    require_cluster(services.authorizer, context, AclOperation.ALTER)
    _check_endpoint_type(context, body, _CONTROLLER)
    controllers = []
    for controller in services.metadata.image.cluster.controllers.values():
        endpoint = controller.listeners.get(context.listener_name)
        if endpoint is not None:
            controllers.append(DescribeClusterBroker(broker_id=controller.id, host=endpoint.host, port=endpoint.port))
    active = services.raft.leader_and_epoch.leader_id
    return DescribeClusterResponse(
        endpoint_type=_CONTROLLER,
        cluster_id=services.cluster_id,
        controller_id=active if active in {node.broker_id for node in controllers} else -1,
        brokers=controllers,
        cluster_authorized_operations=_operations(services.authorizer, context, body),
    )


def _check_endpoint_type(context: RequestContext, body: DescribeClusterRequest, expected: int) -> None:
    old = context.header.api_version == 0
    wanted = ENDPOINT_TYPES.get(body.endpoint_type)
    if wanted is None:
        code = ErrorCode.INVALID_REQUEST if old else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
        raise ApiError(code, f"Unsupported endpoint type {body.endpoint_type}")
    if body.endpoint_type != expected:
        code = ErrorCode.INVALID_REQUEST if old else ErrorCode.MISMATCHED_ENDPOINT_TYPE
        raise ApiError(
            code,
            f"The request was sent to an endpoint of type {ENDPOINT_TYPES[expected]}, but we wanted an endpoint of "
            f"type {wanted}",
        )


def _operations(authorizer: Authorizer, context: RequestContext, body: DescribeClusterRequest) -> int:
    if not body.include_cluster_authorized_operations:
        return NOT_ASKED
    return authorized_operations(authorizer, context, ResourceType.CLUSTER, CLUSTER_NAME)


APIS: Final = (
    Api(ApiKey.DESCRIBE_CLUSTER, 0, 2, handle_on_broker),
    Api(ApiKey.DESCRIBE_CLUSTER, 0, 2, handle_on_controller, ListenerType.CONTROLLER),
)
