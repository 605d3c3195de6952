"""A controller: raft, the metadata it commits, the controller that decides, and the listeners of all three."""

import asyncio
import logging
from collections.abc import Callable

from ottla.common.error_code import ErrorCode
from ottla.common.error_words import in_words
from ottla.common.errors import KafkaError, KafkaStorageError
from ottla.common.uuid import Uuid
from ottla.config.dynamic_config import DynamicConfig
from ottla.controller.quorum_controller import QuorumController
from ottla.controller.settings import ControllerSettings
from ottla.metadata.bootstrap import BootstrapMetadata
from ottla.metadata.features import supported_features
from ottla.metadata.loader import MetadataLoader
from ottla.metadata.records import MetadataRecord
from ottla.metadata.serde import MetadataRecordSerde
from ottla.metadata.snapshot_policy import SnapshotPolicy
from ottla.metrics.registry import Registry
from ottla.network.listener_type import ListenerType
from ottla.network.reactor import Reactor
from ottla.network.request_metrics import RequestChannelMetrics
from ottla.network.socket_server import SocketServer
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
    Feature,
    Listener,
)
from ottla.raft.bootstrap_checkpoint import BOOTSTRAP_FILE, read_bootstrap_checkpoint
from ottla.raft.config import MetadataLogConfig, QuorumConfig
from ottla.raft.raft_client import RaftClient
from ottla.raft.voter_set import ReplicaKey, VoterNode
from ottla.records.control_messages import Endpoint as VoterEndpoint
from ottla.runtime.open_files import OpenFiles
from ottla.runtime.port import Runtime
from ottla.server.advertised_endpoints import advertised_endpoints
from ottla.server.api_tables import CONTROLLER_APIS
from ottla.server.authorizer import Authorizer
from ottla.server.background import Background
from ottla.server.controller_channel import LocalControllerChannel
from ottla.server.dispatch import Dispatcher
from ottla.server.error_metrics import ErrorMetrics
from ottla.server.metadata_cache import MetadataCache
from ottla.server.metadata_listener import MetadataListener
from ottla.server.services import ControllerServices
from ottla.server.snapshot_generator import SnapshotGenerator
from ottla.server.socket_config import socket_server_config
from ottla.server.storage import static_voters

logger = logging.getLogger(__name__)

_REGISTRATION_RETRY_MS = 100


class ControllerServer:
    """Constructed (ports bound) → ``start`` (leader, metadata loaded) → serving → ``stop``."""

    def __init__(
        self,
        runtime: Runtime,
        config: DynamicConfig,
        *,
        cluster_id: str,
        metadata_directory_id: Uuid,
        reactor: Reactor,
        registry: Registry,
        authorizer: Authorizer,
        open_files: OpenFiles,
        fatal_fault: Callable[[str, BaseException], None],
        on_disk_failure: Callable[[str, OSError], None],
    ) -> None:
        static = config.static
        kraft = static.kraft
        self._runtime = runtime
        self._config = static
        self._authorizer = authorizer
        self._open_files = open_files
        self._background = Background(fatal_fault)
        self._incarnation_id = Uuid.random(runtime.rng)
        endpoints = static.listeners.controller_endpoints
        self.metadata = MetadataCache("controller", lambda: self.raft.kraft_version)
        local = VoterNode(
            ReplicaKey(kraft.node_id, metadata_directory_id),
            tuple(
                VoterEndpoint(name=endpoint.name, host=endpoint.host or "", port=endpoint.port)
                for endpoint in static.listeners.advertised_controller_endpoints
            ),
            (0, 1),
        )
        self.raft: RaftClient[MetadataRecord] = RaftClient(
            runtime,
            static.metadata_log_dir,
            local,
            MetadataRecordSerde(lambda: self.controller.metadata_version),
            static_voters=static_voters(static),
            log_config=MetadataLogConfig(
                segment_bytes=kraft.metadata_segment_bytes,
                segment_ms=kraft.metadata_log_segment_ms,
                retention_bytes=kraft.metadata_max_retention_bytes,
                retention_ms=kraft.metadata_max_retention_ms,
                max_batch_bytes=kraft.internal_metadata_max_batch_size_in_bytes,
                delete_delay_ms=kraft.internal_metadata_delete_delay_millis,
            ),
            quorum_config=QuorumConfig(
                election_timeout_ms=kraft.controller_quorum_election_timeout_ms,
                fetch_timeout_ms=kraft.controller_quorum_fetch_timeout_ms,
            ),
            fatal_fault=fatal_fault,
            on_disk_failure=on_disk_failure,
        )
        self.loader = MetadataLoader(lambda: self.raft.high_watermark, fatal_fault)
        self.controller = QuorumController(runtime, self.raft, self._settings(cluster_id), self._bootstrap())
        self.raft.metrics.register(registry)
        self.controller.metrics.register(registry)
        self.services = ControllerServices(
            node_id=kraft.node_id,
            cluster_id=cluster_id,
            runtime=runtime,
            config=config,
            controller=self.controller,
            raft=self.raft,
            metadata=self.metadata,
            authorizer=authorizer,
            apis=CONTROLLER_APIS,
        )
        self.channel = LocalControllerChannel(self.services, CONTROLLER_APIS, endpoints[0].name)
        request_metrics = RequestChannelMetrics(registry)
        self._dispatcher = Dispatcher(self.services, CONTROLLER_APIS, ErrorMetrics(request_metrics))
        self.socket_server = SocketServer(
            socket_server_config(static, endpoints),
            endpoints,
            self._dispatcher,
            self._dispatcher,
            registry=registry,
            request_metrics=request_metrics,
            listener_type=ListenerType.CONTROLLER,
            reactor=reactor,
            runtime=runtime,
            open_files=open_files,
        )

    def _settings(self, cluster_id: str) -> ControllerSettings:
        config = self._config
        rebalance = config.replication.auto_leader_rebalance_enable
        return ControllerSettings(
            node_id=config.kraft.node_id,
            cluster_id=cluster_id,
            partition_room=self._open_files,
            num_partitions=config.server.num_partitions,
            default_replication_factor=config.server.default_replication_factor,
            delete_topic_enable=config.server.delete_topic_enable,
            static_config=config.originals,
            broker_values=config.values,
            topic_defaults=config.log.topic_defaults(),
            quorum_node_ids=tuple(config.kraft.controller_quorum_voters) or (config.kraft.node_id,),
            broker_session_timeout_ms=config.kraft.broker_session_timeout_ms,
            metadata_max_idle_interval_ms=config.kraft.metadata_max_idle_interval_ms,
            leader_imbalance_check_interval_ms=(
                config.replication.leader_imbalance_check_interval_seconds * 1000 if rebalance else None
            ),
            unclean_leader_election_interval_ms=config.replication.unclean_leader_election_interval_ms,
        )

    def _bootstrap(self) -> BootstrapMetadata:
        """The records that the directory was formatted with."""
        directory = self._config.metadata_log_dir
        serde = MetadataRecordSerde(lambda: BootstrapMetadata.default().metadata_version)
        try:
            records = read_bootstrap_checkpoint(self._runtime.files, directory, serde)
        except OSError as error:
            raise KafkaStorageError(f"{directory}/{BOOTSTRAP_FILE} cannot be read: {in_words(error)}") from error
        if records is None:
            return BootstrapMetadata.default()
        return BootstrapMetadata.from_records(records, f"{directory}/{BOOTSTRAP_FILE}")

    async def start(self) -> None:
        """Load the metadata, lead the quorum, open the listeners."""
        kraft = self._config.kraft
        self.raft.register(self.controller.listener)
        self.raft.register(MetadataListener(self.loader))
        await self.raft.start()
        policy = SnapshotPolicy(
            kraft.metadata_log_max_record_bytes_between_snapshots,
            kraft.metadata_log_max_snapshot_interval_ms,
            self._runtime.clock.monotonic_ms(),
        )
        self.loader.install_publishers([self.metadata, SnapshotGenerator(self._runtime, self.raft, policy)])
        self._background.spawn(self.raft.run(), "raft-housekeeping")
        self._background.spawn(self.controller.run(), "controller-periodic-tasks")
        self._background.spawn(self._register(), "controller-registration")
        ready = asyncio.ensure_future(self._authorizer.start())
        await self.socket_server.enable_request_processing(dict.fromkeys(self.socket_server.acceptors, ready))

    async def _register(self) -> None:
        """Tell the quorum where this controller listens; tried until it works."""
        request = ControllerRegistrationRequest(
            controller_id=self._config.kraft.node_id,
            incarnation_id=self._incarnation_id,
            zk_migration_ready=False,
            listeners=[
                Listener(
                    name=endpoint.name,
                    host=endpoint.host,
                    port=endpoint.port,
                    security_protocol=endpoint.security_protocol,
                )
                for endpoint in advertised_endpoints(
                    self._config.listeners.advertised_controller_endpoints, self.socket_server.bound_port
                )
            ],
            features=[
                Feature(name=name, min_supported_version=levels.lowest, max_supported_version=levels.highest)
                for name, levels in supported_features(self.metadata.finalized_features()).items()
            ],
        )
        while True:
            response = await self.channel.request(ApiKey.CONTROLLER_REGISTRATION, request)
            assert isinstance(response, ControllerRegistrationResponse)
            if response.error_code == ErrorCode.NONE:
                return
            logger.info("The controller could not register yet: %s", ErrorCode(response.error_code).name)
            await self._runtime.sleep_ms(_REGISTRATION_RETRY_MS)

    async def stop(self) -> None:
        """Close the listeners, stop deciding, and close the metadata log."""
        await self._fall_silent()
        await self._dispatcher.drain()
        try:
            await self.raft.stop()
        except KafkaError as error:
            logger.error("The metadata log could not be closed: %s", error)

    async def halt(self) -> None:
        """Close the listeners, stop deciding, and leave the metadata log as it is."""
        await self._fall_silent()
        self.raft.halt()

    async def _fall_silent(self) -> None:
        await self.socket_server.stop()
        self.controller.stop()
        await self._background.stop()
