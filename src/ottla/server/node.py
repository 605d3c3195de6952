"""A node: a broker and a controller in one process, started and stopped in order.

Start: data directories locked → ports bound → metadata loaded, quorum led → broker registered → logs loaded → unfenced
→ listeners open. Stop: the same backward, and a clean-shutdown mark where everything was closed. A fault that it cannot
live with ends it as a kill would, at any moment of its life: decision 0024.
"""

import asyncio
import logging
import resource
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from ottla.common.error_words import in_words
from ottla.common.errors import KafkaError, KafkaStorageError
from ottla.config.dynamic_config import DynamicConfig
from ottla.config.kafka_config import KafkaConfig
from ottla.log.data_directory import DataDirectory
from ottla.log.log_manager_metrics import register_log_manager
from ottla.log.log_metrics import LogMetrics
from ottla.log.manager import LogManager
from ottla.metadata.image.configs import ConfigResourceType
from ottla.metadata.loader_metrics import register_loader
from ottla.metrics.exposition import render
from ottla.metrics.registry import Registry
from ottla.network.reactor import Reactor
from ottla.network.reactor_metrics import register_reactor
from ottla.runtime.live import AsyncioRuntime
from ottla.runtime.open_files import OpenFiles
from ottla.runtime.port import Files
from ottla.server.authorizer import AllowAll
from ottla.server.broker_lifecycle import BrokerState
from ottla.server.broker_server import BrokerServer
from ottla.server.controller_server import ControllerServer
from ottla.server.disk_faults import fatal_disk_fault
from ottla.server.metrics_endpoint import MetricsEndpoint
from ottla.server.process_metrics import register_process
from ottla.server.quotas import Unlimited
from ottla.server.storage import check_roles, check_start

logger = logging.getLogger(__name__)


class Node:
    """See the module. One of them lives on an event loop; ``start`` and ``stop`` are each called once."""

    def __init__(
        self,
        config: KafkaConfig,
        *,
        on_fatal_fault: Callable[[str], None] | None = None,
        files: Files | None = None,
    ) -> None:
        """``on_fatal_fault`` ends the process, with a sentence that says why. Without it the node abandons itself and
        keeps the fault in ``fault``, for whoever has the process.

        ``files`` is the file system, unless it is the machine's own.
        """
        check_roles(config.kraft)
        self.config = config
        self.registry = Registry()
        self.fault: BaseException | None = None
        self._on_fatal_fault = on_fatal_fault
        self._runtime = AsyncioRuntime(files)
        self._controller: ControllerServer | None = None
        self._broker: BrokerServer | None = None
        self._metrics: MetricsEndpoint | None = None
        self._log_manager: LogManager | None = None
        self._metadata_directory: DataDirectory | None = None
        """That of the metadata log: one of the log manager's, or the node's own."""
        self._under_way: asyncio.Timeout | None = None
        """What bounds a start or a stop, while it goes on."""
        self._abandoning: asyncio.Task[None] | None = None
        self.cluster_id = ""

    # -- start --------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Return when clients are served. A start that fails, or takes too long, leaves nothing open."""
        try:
            await self._unless_faulty(self._start(), self.config.kraft.server_max_startup_time_ms / 1000)
        except BaseException:
            await self.stop()
            raise

    async def _unless_faulty(self, work: Coroutine[Any, Any, None], timeout_s: float | None = None) -> None:
        """Wait until it is done; raises the fault that ends it before."""
        try:
            async with asyncio.timeout(timeout_s) as self._under_way:
                await work
        except BaseException:
            if self.fault is not None:
                raise self.fault from None
            raise
        finally:
            self._under_way = None
        if self.fault is not None:  # it came with the end
            raise self.fault

    async def _start(self) -> None:
        config, runtime = self.config, self._runtime
        self.cluster_id = check_start(runtime, config)
        dynamic = DynamicConfig(config)
        open_files = OpenFiles(runtime.clock)
        open_files.require_for_start(segments=0)
        log_manager = LogManager(
            runtime,
            config.log,
            topic_overrides=self._topic_overrides,
            cluster_id=self.cluster_id,
            node_id=config.kraft.node_id,
            on_directory_failure=self._directory_failed,
            metrics=LogMetrics(self.registry),
            open_files=open_files,
        )
        log_manager.open()
        self._log_manager = log_manager
        metadata_directory = self._open_metadata_directory(log_manager)
        fault = self._disk_fault()
        if fault is not None:
            raise fault
        assert metadata_directory.directory_id is not None, "an identified directory has an id"
        reactor = Reactor(asyncio.get_running_loop(), runtime.clock)
        authorizer = AllowAll()
        controller = self._controller = ControllerServer(
            runtime,
            dynamic,
            cluster_id=self.cluster_id,
            metadata_directory_id=metadata_directory.directory_id,
            reactor=reactor,
            registry=self.registry,
            authorizer=authorizer,
            open_files=open_files,
            fatal_fault=self._fatal_fault,
            on_disk_failure=self._metadata_directory_failed,
        )
        broker = self._broker = BrokerServer(
            runtime,
            dynamic,
            log_manager,
            cluster_id=self.cluster_id,
            channel=controller.channel,
            kraft_version=lambda: controller.raft.kraft_version,
            reactor=reactor,
            registry=self.registry,
            authorizer=authorizer,
            quotas=Unlimited(),
            open_files=open_files,
            fatal_fault=self._fatal_fault,
        )
        register_process(self.registry)
        register_reactor(self.registry, lambda: reactor.planes)
        register_log_manager(self.registry, log_manager, runtime.clock.monotonic_ms)
        register_loader(self.registry, controller.loader, runtime.clock.now_ms)
        if config.server.metrics_listener is not None:
            # Before anything is loaded: somebody may want to see how far a recovery is.
            address = config.server.metrics_listener
            self._metrics = MetricsEndpoint(address.host, address.port, self.render_metrics)
            await self._metrics.start()
        await controller.start()
        await broker.start(controller.loader)

    def _open_metadata_directory(self, log_manager: LogManager) -> DataDirectory:
        """Lock and identify ``metadata.log.dir`` as well, if it lies outside ``log.dirs``."""
        config, path = self.config, self.config.metadata_log_dir
        if path in config.log.log_dirs:
            self._metadata_directory = log_manager.directories[path]
            return self._metadata_directory
        directory = self._metadata_directory = DataDirectory(self._runtime, path)
        directory.open(self.cluster_id, config.kraft.node_id)
        twin = next((one for one in log_manager.directories if one.directory_id == directory.directory_id), None)
        if twin is not None and directory.is_online:
            raise KafkaStorageError(
                f"metadata.log.dir={path} has the directory.id of {twin.path}: one of them is a copy of the other"
            )
        return directory

    def _topic_overrides(self, topic: str) -> dict[str, object]:
        assert self._broker is not None
        return dict(self._broker.metadata.image.configs.properties(ConfigResourceType.TOPIC, topic))

    # -- faults -------------------------------------------------------------------------------------------------------

    def _directory_failed(self, path: str) -> None:
        """One of ``log.dirs`` has."""
        self._end_without_disks()
        if self._broker is not None:
            self._broker.handle_directory_failure(path)

    def _metadata_directory_failed(self, path: str, error: OSError) -> None:
        assert self._log_manager is not None
        assert self._metadata_directory is not None
        if path in self.config.log.log_dirs:
            self._log_manager.handle_directory_failure(path, error)
        else:
            self._metadata_directory.fail(error)
            self._end_without_disks()

    def _end_without_disks(self) -> None:
        fault = self._disk_fault()
        if fault is not None:
            self._end(str(fault), fault)

    def _disk_fault(self) -> KafkaStorageError | None:
        assert self._log_manager is not None
        metadata = self._metadata_directory
        assert metadata is not None
        return fatal_disk_fault(self._log_manager.directories.failures, metadata.path, metadata.failure)

    def _fatal_fault(self, message: str, error: BaseException) -> None:
        self._end(f"{message}: {in_words(error)}", error)

    def _end(self, sentence: str, fault: BaseException) -> None:
        """The first fault ends the node; what else fails then does so because of it."""
        if self.fault is not None:
            return
        self.fault = fault
        is_expected = isinstance(fault, KafkaError | OSError)
        logger.critical("%s", sentence, exc_info=None if is_expected else fault)
        if self._on_fatal_fault is not None:
            self._on_fatal_fault(sentence)
        elif self._under_way is None:
            self._begin_to_abandon()
        elif not self._under_way.expired():
            self._under_way.reschedule(asyncio.get_running_loop().time())

    # -- looking ------------------------------------------------------------------------------------------------------

    @property
    def state(self) -> BrokerState:
        """Where the broker is in its life."""
        return self._broker.state if self._broker is not None else BrokerState.NOT_RUNNING

    @property
    def bootstrap_servers(self) -> str:
        """What clients connect to."""
        assert self._broker is not None, "the node is not started"
        return ",".join(f"{endpoint.host}:{endpoint.port}" for endpoint in self._broker.advertised_listeners())

    @property
    def controller_port(self) -> int:
        """The port of the first controller listener."""
        assert self._controller is not None, "the node is not started"
        return next(iter(self._controller.socket_server.acceptors.values())).port

    @property
    def metrics_port(self) -> int | None:
        """The port of the Prometheus endpoint, if there is one."""
        return self._metrics.port if self._metrics is not None else None

    def render_metrics(self) -> Iterator[bytes]:
        """All metrics in Prometheus' text format, in pieces of less than a millisecond."""
        return render(self.registry, self._runtime.clock.monotonic_ms())

    # -- stop ---------------------------------------------------------------------------------------------------------

    async def stop(self) -> None:
        """Controlled shutdown. Where a fault has come, or comes now, it is the end that ``abandon`` makes."""
        try:
            if self.fault is None:
                await self._unless_faulty(self._stop())
        finally:
            if self.fault is not None:
                await self.abandon()

    async def _stop(self) -> None:
        if self._broker is not None:
            await self._broker.stop()
        if self._controller is not None:
            await self._controller.stop()
        if self._log_manager is not None:
            # The last of all: it unlocks the directories, of which the metadata log's is one.
            await self._log_manager.stop(self._broker.lifecycle.broker_epoch if self._broker is not None else -1)
        if self._metadata_directory is not None:
            self._metadata_directory.close()
        if self._metrics is not None:
            await self._metrics.stop()
        await self._runtime.stop()

    async def abandon(self) -> None:
        """Close the ports and end what goes on, and leave the data as a crash would. More than once is harmless."""
        await self._begin_to_abandon()

    def _begin_to_abandon(self) -> "asyncio.Task[None]":
        if self._abandoning is None:
            self._abandoning = asyncio.get_running_loop().create_task(self._abandon())
        return self._abandoning

    async def _abandon(self) -> None:
        if self._metrics is not None:
            await self._metrics.stop()
        for server in (self._broker, self._controller):
            if server is not None:
                await server.halt()
        await self._runtime.stop()


def raise_open_files_limit() -> None:
    """Every segment keeps a file open: take as many as the system allows without being root."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (ValueError, OSError) as error:  # macOS names a limit that it does not grant
            logger.debug("The limit of open files stays at %d: %s", soft, error)
