"""What handlers have at hand: one bundle for broker listeners and one for controller listeners."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from ottla.config.dynamic_config import DynamicConfig
from ottla.controller.quorum_controller import QuorumController
from ottla.controller.settings import ControllerRequestContext
from ottla.group.coordinator import GroupCoordinator
from ottla.metadata.records import MetadataRecord
from ottla.network.request import RequestContext
from ottla.protocol.api_keys import ApiKey
from ottla.raft.raft_client import RaftClient
from ottla.replication.fetch_session import FetchSessionCache
from ottla.replication.replica_manager import ReplicaManager
from ottla.runtime.port import Runtime
from ottla.server.api import Api
from ottla.server.authorizer import Authorizer
from ottla.server.auto_topic_creation import AutoTopicCreation
from ottla.server.coordinator_topic_creation import CoordinatorTopicCreation
from ottla.server.error_metrics import ErrorMetrics
from ottla.server.forwarding import ControllerChannel
from ottla.server.metadata_cache import MetadataCache
from ottla.server.quotas import Quotas
from ottla.server.txn_marker_writer import TxnMarkerWriter
from ottla.transaction.coordinator import TransactionCoordinator


@dataclass(slots=True, kw_only=True)
class BrokerServices:
    """A broker's parts, as its handlers see them."""

    node_id: int
    cluster_id: str
    runtime: Runtime
    config: DynamicConfig
    metadata: MetadataCache
    replicas: ReplicaManager
    fetch_sessions: FetchSessionCache
    controller_channel: ControllerChannel
    metadata_settled: Callable[[], Awaitable[None]]
    """Waits until this broker has followed the metadata that it has published."""
    auto_topic_creation: AutoTopicCreation
    coordinator_topic_creation: CoordinatorTopicCreation
    group_coordinator: GroupCoordinator
    transaction_coordinator: TransactionCoordinator
    txn_markers: TxnMarkerWriter
    authorizer: Authorizer
    quotas: Quotas
    errors: ErrorMetrics
    apis: Mapping[ApiKey, Api]
    """What broker listeners answer."""


@dataclass(slots=True, kw_only=True)
class ControllerServices:
    """A controller's parts, as its handlers see them."""

    node_id: int
    cluster_id: str
    runtime: Runtime
    config: DynamicConfig
    controller: QuorumController
    raft: RaftClient[MetadataRecord]
    metadata: MetadataCache
    authorizer: Authorizer
    apis: Mapping[ApiKey, Api]
    """What controller listeners answer."""


def controller_context(context: RequestContext) -> ControllerRequestContext:
    """What the controller needs to know of a request beside its body."""
    return ControllerRequestContext(api_version=context.header.api_version)
