"""A broker: its logs and replicas, its session with the controller, and the listeners that clients come to."""

import asyncio
import logging
from collections.abc import Callable

from ottla.common.uuid import Uuid
from ottla.config.dynamic_config import DynamicConfig
from ottla.log.housekeeping import Housekeeping
from ottla.log.manager import LogManager
from ottla.metadata.endpoint import Endpoint
from ottla.metadata.features import supported_features
from ottla.metadata.image.configs import ConfigResourceType
from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.metadata_delta import MetadataDelta
from ottla.metadata.loader import MetadataLoader
from ottla.metrics.names import metric_name
from ottla.metrics.registry import Registry
from ottla.network.listener_type import ListenerType
from ottla.network.reactor import Reactor
from ottla.network.request_metrics import RequestChannelMetrics
from ottla.network.socket_server import SocketServer
from ottla.replication.fetch_session import FetchSessionCache
from ottla.replication.purgatories import Purgatories
from ottla.replication.replica_manager import ReplicaManager
from ottla.runtime.open_files import OpenFiles
from ottla.runtime.port import Runtime
from ottla.server.advertised_endpoints import advertised_endpoints
from ottla.server.api_tables import BROKER_APIS
from ottla.server.authorizer import Authorizer
from ottla.server.auto_topic_creation import AutoTopicCreation
from ottla.server.background import Background
from ottla.server.broker_lifecycle import BrokerIdentity, BrokerLifecycle, BrokerState
from ottla.server.broker_publisher import BrokerMetadataPublisher
from ottla.server.broker_session import BrokerSession
from ottla.server.coordinator_topic_creation import CoordinatorTopicCreation
from ottla.server.coordinator_topics import coordinator_topics
from ottla.server.coordinators import Coordinators
from ottla.server.directory_assignment import DirectoryAssignment
from ottla.server.dispatch import Dispatcher
from ottla.server.dynamic_config_publisher import DynamicConfigPublisher
from ottla.server.error_metrics import ErrorMetrics
from ottla.server.forwarding import ControllerChannel
from ottla.server.leader_recovery import LeaderRecovery
from ottla.server.metadata_cache import MetadataCache
from ottla.server.producer_ids import ProducerIds
from ottla.server.quotas import Quotas
from ottla.server.reaper import Reaper
from ottla.server.services import BrokerServices
from ottla.server.socket_config import socket_server_config
from ottla.server.transaction_verifier import TransactionVerifier

logger = logging.getLogger(__name__)

CONTROLLED_SHUTDOWN_TIMEOUT_MS = 30_000


class BrokerServer:
    """Constructed (ports bound) → ``start`` (registered, logs loaded, unfenced) → serving → ``stop``."""

    def __init__(
        self,
        runtime: Runtime,
        config: DynamicConfig,
        log_manager: LogManager,
        *,
        cluster_id: str,
        channel: ControllerChannel,
        kraft_version: Callable[[], int],
        reactor: Reactor,
        registry: Registry,
        authorizer: Authorizer,
        quotas: Quotas,
        open_files: OpenFiles,
        fatal_fault: Callable[[str, BaseException], None],
    ) -> None:
        static = config.static
        server = static.server
        node_id = static.kraft.node_id
        loop = asyncio.get_running_loop()
        self._runtime = runtime
        self._config = config
        self._authorizer = authorizer
        self._channel = channel
        self._cluster_id = cluster_id
        self._background = Background(fatal_fault)
        self.log_manager = log_manager
        self.metadata = MetadataCache("broker", kraft_version)
        self._reaper = Reaper(loop, runtime.clock)
        purgatories = Purgatories.create(
            self._reaper.new_timer,
            produce_purge_interval=server.producer_purgatory_purge_interval_requests,
            fetch_purge_interval=server.fetch_purgatory_purge_interval_requests,
            delete_records_purge_interval=server.delete_records_purgatory_purge_interval_requests,
        )
        self._reaper.add(purgatories.produce, purgatories.fetch, purgatories.delete_records)
        self._directories = DirectoryAssignment(runtime, node_id, channel, lambda: self.lifecycle.broker_epoch)
        self.replicas = ReplicaManager(
            runtime,
            log_manager,
            node_id,
            registry=registry,
            purgatories=purgatories,
            replica_lag_time_max_ms=static.replication.replica_lag_time_max_ms,
            txn_verifier=TransactionVerifier(
                runtime,
                node_id,
                lambda: self.metadata.image,
                here=lambda: self._coordinators.transaction,
                remote=None,
                registry=registry,
            ),
            txn_retry_backoff_ms=static.transaction.add_partitions_to_txn_retry_backoff_ms,
            txn_retry_timeout_ms=min(
                static.transaction.add_partitions_to_txn_retry_backoff_max_ms, static.network.request_timeout_ms
            ),
            directory_assignments=self._directories,
        )
        producer_ids = ProducerIds(node_id, lambda: self.lifecycle.broker_epoch, channel)
        self._coordinators = Coordinators(
            runtime,
            config,
            self.replicas,
            producer_ids=producer_ids,
            authorizer=authorizer,
            background=self._background,
            registry=registry,
        )
        request_metrics = RequestChannelMetrics(registry)
        errors = ErrorMetrics(request_metrics)
        creation = AutoTopicCreation(
            channel, lambda: config.current.network.request_timeout_ms, coordinator_topics(static)
        )
        self.services = BrokerServices(
            node_id=node_id,
            cluster_id=cluster_id,
            runtime=runtime,
            config=config,
            metadata=self.metadata,
            replicas=self.replicas,
            fetch_sessions=FetchSessionCache(
                server.max_incremental_fetch_session_cache_slots, rng=runtime.rng, registry=registry
            ),
            controller_channel=channel,
            metadata_settled=self._settled,
            auto_topic_creation=creation,
            coordinator_topic_creation=CoordinatorTopicCreation(
                creation, self.metadata, runtime, followed=self._settled, loaded=self._coordinators.loaded
            ),
            group_coordinator=self._coordinators.group,
            transaction_coordinator=self._coordinators.transaction,
            txn_markers=self._coordinators.txn_markers,
            authorizer=authorizer,
            quotas=quotas,
            errors=errors,
            apis=BROKER_APIS,
        )
        self._dispatcher = Dispatcher(self.services, BROKER_APIS, errors)
        endpoints = static.listeners.broker_endpoints
        self.socket_server = SocketServer(
            socket_server_config(static, endpoints),
            endpoints,
            self._dispatcher,
            self._dispatcher,
            registry=registry,
            request_metrics=request_metrics,
            listener_type=ListenerType.BROKER,
            reactor=reactor,
            runtime=runtime,
            on_file_failure=self._file_failed,
            open_files=open_files,
        )
        self.lifecycle = BrokerLifecycle(self._identity())
        self.state = BrokerState.NOT_RUNNING
        self._session = BrokerSession(
            self.lifecycle,
            channel,
            runtime.clock,
            heartbeat_interval_ms=static.kraft.broker_heartbeat_interval_ms,
            registration_timeout_ms=static.kraft.initial_broker_registration_timeout_ms,
            on_state=self._set_state,
        )
        self._shown = asyncio.Event()
        self._publisher = BrokerMetadataPublisher(self._show, self._follow, self._session.published)
        self._config_publisher = DynamicConfigPublisher(config, self._reconfigure, self._background)
        self._leader_recovery = LeaderRecovery(node_id, channel, lambda: self.lifecycle.broker_epoch)
        self._housekeeping = Housekeeping(runtime, log_manager)
        registry.gauge(
            metric_name("kafka.server", "KafkaServer", "BrokerState"),
            "The state of this broker",
            lambda: float(self.state.value),
        )

    def _set_state(self, state: BrokerState) -> None:
        self.state = state

    def _identity(self) -> BrokerIdentity:
        static = self._config.static
        online = self.log_manager.directories.online
        epochs = {directory.clean_shutdown.read() for directory in online}
        # A crash leaves one directory or more without the mark: then nothing is known of the epoch before.
        previous_epoch = epochs.pop() if len(epochs) == 1 else None
        return BrokerIdentity(
            broker_id=static.kraft.node_id,
            cluster_id=self._cluster_id,
            incarnation_id=Uuid.random(self._runtime.rng),
            listeners=self.advertised_listeners(),
            rack=static.server.broker_rack,
            log_dirs=sorted(directory.directory_id for directory in online if directory.directory_id is not None),
            previous_broker_epoch=-1 if previous_epoch is None else previous_epoch,
        )

    def advertised_listeners(self) -> list[Endpoint]:
        """Where clients are told to connect; what was left to the machine is known by now."""
        listeners = self._config.static.listeners.advertised_broker_endpoints
        return advertised_endpoints(listeners, self.socket_server.bound_port)

    # -- start --------------------------------------------------------------------------------------------------------

    async def start(self, loader: MetadataLoader) -> None:
        """See the metadata, register, load the logs, follow the metadata, be unfenced, and open the listeners."""
        loader.install_publishers([self.metadata, self._config_publisher, self._publisher])
        await self._publisher.first_image
        self._session.start(supported_features(self.metadata.finalized_features()))
        await self.log_manager.load()
        await self._publisher.follow_next()
        await self.replicas.put_aside_strays()
        self._background.spawn(self._publisher.run(), "broker-metadata-publisher")
        self._background.spawn(self._housekeeping.run(), "log-housekeeping")
        self._background.spawn(self._checkpoint_high_watermarks(), "high-watermark-checkpoint")
        await self._session.reach(BrokerState.RECOVERY)
        self.lifecycle.set_ready_to_unfence()
        self._session.nudge()
        await self._session.reach(BrokerState.RUNNING)
        await self._until_seen_unfenced()
        ready = asyncio.ensure_future(self._authorizer.start())
        await self.socket_server.enable_request_processing(dict.fromkeys(self.socket_server.acceptors, ready))

    async def _until_seen_unfenced(self) -> None:
        """Clients who find no broker in the metadata forget the one they know, and some never come back."""
        broker_id = self._config.static.kraft.node_id
        while (broker := self.metadata.image.cluster.brokers.get(broker_id)) is None or broker.fenced:
            self._shown.clear()
            await self._shown.wait()

    async def _settled(self) -> None:
        await self._publisher.settled()

    def _show(self, image: MetadataImage) -> None:
        self.replicas.image = image
        self._shown.set()

    async def _follow(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Bring the replicas, the coordinators and the topics' configurations to an image."""
        await self.replicas.apply_delta(delta.topics_delta, image)
        self._coordinators.on_metadata(delta, image)
        if delta.configs_delta is not None:
            for resource in delta.configs_delta.changes:
                if resource.type == ConfigResourceType.TOPIC:
                    await self.log_manager.update_topic_config(resource.name)
        if delta.topics_delta is not None:
            await self._leader_recovery.finish(delta.topics_delta, image)

    async def _reconfigure(self) -> None:
        """Follow a change of the broker's own configuration."""
        current = self._config.current
        await self.log_manager.update_config(current.log)
        self.socket_server.reconfigure(socket_server_config(current, self._config.static.listeners.broker_endpoints))

    def _file_failed(self, path: str, error: OSError) -> None:
        """A disk has failed while a client was sent what is on it."""
        self.log_manager.handle_directory_failure(self.log_manager.directories.holding(path).path, error)

    def handle_directory_failure(self, path: str) -> None:
        """A disk has failed: its replicas go offline here, and the controller hears of it."""
        for topic_partition in self.replicas.handle_log_dir_failure(path):
            self._coordinators.on_offline(topic_partition)
        directory_id = self.log_manager.directories[path].directory_id
        if directory_id is not None:
            self.lifecycle.directory_failed(directory_id)
            self._session.nudge()

    async def _checkpoint_high_watermarks(self) -> None:
        while True:
            await self._runtime.sleep_ms(self._config.static.replication.replica_high_watermark_checkpoint_interval_ms)
            await self.replicas.checkpoint_high_watermarks()

    # -- stop ---------------------------------------------------------------------------------------------------------

    async def stop(self) -> None:
        """Controlled shutdown: ask to go, and answer what is in hand. The logs are closed by whoever opened them."""
        if self._config.current.server.controlled_shutdown_enable and self.state is BrokerState.RUNNING:
            await self._session.controlled_shutdown(CONTROLLED_SHUTDOWN_TIMEOUT_MS)
        await self.halt()
        await self._dispatcher.drain()
        self.lifecycle.stopped()
        self._set_state(self.lifecycle.state)

    async def halt(self) -> None:
        """Close the listeners and end what goes on. The controller hears nothing; who waits for an answer gets none."""
        await self._session.stop()
        await self.socket_server.stop()
        self.replicas.stop()
        self._coordinators.stop()
        self._reaper.stop()
        self._directories.stop()
        self._housekeeping.stop()
        self.log_manager.cleaner.shutdown()
        await self._background.stop()
