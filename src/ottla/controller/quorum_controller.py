"""The controller as the server sees it: one method an API, on a driver that appends and waits."""

from typing import Final

from ottla.controller import brokers, configs, controllers, directories, features, partitions, producer_ids, topics
from ottla.controller.alter_partition import alter_partition
from ottla.controller.chores import ControllerChores
from ottla.controller.cluster import check_broker_epoch
from ottla.controller.driver import ControllerDriver, RaftPort
from ottla.controller.heartbeats import BrokerControlState
from ottla.controller.partition_creation import create_partitions
from ottla.controller.result import ControllerResult
from ottla.controller.settings import ControllerRequestContext, ControllerSettings
from ottla.controller.topic_deletion import delete_topics
from ottla.metadata.bootstrap import BootstrapMetadata
from ottla.metadata.image import MetadataImage
from ottla.metadata.metadata_version import MetadataVersion
from ottla.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from ottla.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from ottla.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from ottla.protocol.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest, AssignReplicasToDirsResponse
from ottla.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from ottla.protocol.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse
from ottla.protocol.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from ottla.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse
from ottla.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from ottla.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from ottla.protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from ottla.protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse
from ottla.protocol.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse
from ottla.runtime.completion import Completion
from ottla.runtime.port import Runtime

_CLEAN_SHUTDOWN_VERSION: Final = 3
"""From this version of BrokerRegistration on, a broker tells which epoch it shut down in."""


class QuorumController:
    """Each method returns at once; awaiting gives the response, or raises the error of the whole request.

    ``listener`` is to be registered with raft.
    """

    def __init__(
        self, runtime: Runtime, raft: RaftPort, settings: ControllerSettings, bootstrap: BootstrapMetadata
    ) -> None:
        self._runtime = runtime
        self._settings = settings
        self._driver = ControllerDriver(runtime.clock, raft, settings, bootstrap)
        self._chores = ControllerChores(self._driver)
        self._is_stopped = False
        self._write = self._driver.write
        self.listener = self._driver
        self.metrics = self._driver.metrics

    @property
    def is_active(self) -> bool:
        """Whether this node is the active controller."""
        return self._driver.epoch is not None

    @property
    def claim_epoch(self) -> int:
        """The epoch in which this node is the active controller; -1 on standby."""
        return -1 if self._driver.epoch is None else self._driver.epoch

    @property
    def image(self) -> MetadataImage:
        """What is committed."""
        return self._driver.committed.image

    @property
    def metadata_version(self) -> MetadataVersion:
        """The metadata.version with which records are written now: that of the latest state."""
        return self._driver.latest.image.features.metadata_version

    async def run(self) -> None:
        """Do the periodic tasks until ``stop``."""
        while not self._is_stopped:
            await self._runtime.sleep_ms(self.tick())

    def tick(self) -> int:
        """Do the periodic tasks that are due; returns the milliseconds until it should be called again."""
        return self._chores.tick()

    def stop(self) -> None:
        """Begin nothing more, and fail what waits."""
        self._is_stopped = True
        if self.is_active:
            self._driver.renounce()

    # -- topics and partitions ----------------------------------------------------------------------------------------

    def create_topics(
        self, context: ControllerRequestContext, request: CreateTopicsRequest
    ) -> Completion[CreateTopicsResponse]:
        """CreateTopics."""
        rng = self._runtime.rng
        return self._write(
            "createTopics", lambda image: topics.create_topics(image, self._settings, context, request, rng)
        )

    def delete_topics(
        self, context: ControllerRequestContext, request: DeleteTopicsRequest
    ) -> Completion[DeleteTopicsResponse]:
        """DeleteTopics."""
        return self._write("deleteTopics", lambda image: delete_topics(image, self._settings, context, request))

    def create_partitions(
        self, context: ControllerRequestContext, request: CreatePartitionsRequest
    ) -> Completion[CreatePartitionsResponse]:
        """CreatePartitions."""
        rng = self._runtime.rng
        return self._write(
            "createPartitions", lambda image: create_partitions(image, self._settings, context, request, rng)
        )

    def elect_leaders(
        self, _context: ControllerRequestContext, request: ElectLeadersRequest
    ) -> Completion[ElectLeadersResponse]:
        """ElectLeaders."""
        return self._write("electLeaders", lambda image: partitions.elect_leaders(image, self._settings, request))

    def alter_partition(
        self, context: ControllerRequestContext, request: AlterPartitionRequest
    ) -> Completion[AlterPartitionResponse]:
        """AlterPartition."""
        return self._write(
            "alterPartition",
            lambda image: alter_partition(image, self._settings, context, request),
        )

    def assign_replicas_to_dirs(
        self, _context: ControllerRequestContext, request: AssignReplicasToDirsRequest
    ) -> Completion[AssignReplicasToDirsResponse]:
        """AssignReplicasToDirs."""
        return self._write(
            "assignReplicasToDirs",
            lambda image: directories.assign_replicas_to_dirs(image, self._settings, request),
        )

    # -- configuration and features -----------------------------------------------------------------------------------

    def incremental_alter_configs(
        self, context: ControllerRequestContext, request: IncrementalAlterConfigsRequest
    ) -> Completion[IncrementalAlterConfigsResponse]:
        """IncrementalAlterConfigs."""
        return self._write(
            "incrementalAlterConfigs",
            lambda image: configs.incremental_alter_configs(image, self._settings, context, request),
        )

    def alter_configs(
        self, context: ControllerRequestContext, request: AlterConfigsRequest
    ) -> Completion[AlterConfigsResponse]:
        """AlterConfigs."""
        return self._write(
            "legacyAlterConfigs", lambda image: configs.alter_configs(image, self._settings, context, request)
        )

    def update_features(
        self, context: ControllerRequestContext, request: UpdateFeaturesRequest
    ) -> Completion[UpdateFeaturesResponse]:
        """UpdateFeatures."""
        kraft_version = self._driver.raft.kraft_version
        return self._write(
            "updateFeatures",
            lambda image: features.update_features(image, self._settings, context, request, kraft_version),
        )

    def allocate_producer_ids(
        self, _context: ControllerRequestContext, request: AllocateProducerIdsRequest
    ) -> Completion[AllocateProducerIdsResponse]:
        """AllocateProducerIds."""
        return self._write("allocateProducerIds", lambda image: producer_ids.allocate_producer_ids(image, request))

    # -- brokers and controllers --------------------------------------------------------------------------------------

    def register_broker(
        self, context: ControllerRequestContext, request: BrokerRegistrationRequest
    ) -> Completion[BrokerRegistrationResponse]:
        """BrokerRegistration. The epoch of a new incarnation is the offset that its records begin at."""
        raft, clock = self._driver.raft, self._driver.clock

        def operation(image: MetadataImage) -> ControllerResult[BrokerRegistrationResponse]:
            registered = (request.broker_id, image.cluster.broker_epoch(request.broker_id))
            return brokers.register_broker(
                image,
                self._settings,
                request,
                new_broker_epoch=raft.log_end_offset,
                kraft_version=raft.kraft_version,
                has_valid_session=self._driver.sessions.has_valid_session(*registered, clock.monotonic_ms()),
                detects_clean_shutdown=context.api_version >= _CLEAN_SHUTDOWN_VERSION,
            )

        return self._write("registerBroker", operation)

    def process_broker_heartbeat(
        self, _context: ControllerRequestContext, request: BrokerHeartbeatRequest
    ) -> Completion[BrokerHeartbeatResponse]:
        """BrokerHeartbeat."""
        broker_id, offset = request.broker_id, request.current_metadata_offset
        following = BrokerControlState.FENCED

        def operation(image: MetadataImage) -> ControllerResult[BrokerHeartbeatResponse]:
            nonlocal following
            sessions = self._driver.sessions
            check_broker_epoch(image.cluster, broker_id, request.broker_epoch)
            sessions.track(broker_id, request.broker_epoch, self._driver.clock.monotonic_ms())
            registration_offset = self._driver.latest.registration_offsets[broker_id]
            current = sessions.state(broker_id)
            leaving = request.want_shut_down or current is BrokerControlState.CONTROLLED_SHUTDOWN
            leads = leaving and partitions.has_leaderships(image, broker_id)
            following = sessions.next_state(request, registration_offset, has_leaderships=leads)
            result = brokers.process_broker_heartbeat(
                image,
                self._settings,
                request,
                registration_offset=registration_offset,
                current=current,
                following=following,
            )
            sessions.touch(broker_id, fenced=following.fenced, metadata_offset=offset)
            return result

        def appended(last_offset: int) -> None:
            if following is BrokerControlState.CONTROLLED_SHUTDOWN:
                self._driver.sessions.begin_controlled_shutdown(broker_id, last_offset)

        return self._write("processBrokerHeartbeat", operation, appended)

    def unregister_broker(
        self, _context: ControllerRequestContext, request: UnregisterBrokerRequest
    ) -> Completion[UnregisterBrokerResponse]:
        """UnregisterBroker."""
        return self._write(
            "unregisterBroker",
            lambda image: brokers.unregister_broker(image, self._settings, request.broker_id).with_response(
                UnregisterBrokerResponse(error_message=None)
            ),
        )

    def register_controller(
        self, _context: ControllerRequestContext, request: ControllerRegistrationRequest
    ) -> Completion[ControllerRegistrationResponse]:
        """ControllerRegistration."""
        return self._write("registerController", lambda image: controllers.register_controller(image, request))
