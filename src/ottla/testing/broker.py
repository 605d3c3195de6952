"""A broker inside the process of a test::

    with Broker(num_partitions=3) as broker:
        producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap_servers})

It is a whole node, controller included, on an event loop in a thread of its own: clients that block, in the same test,
get their answers. ``async with`` does the same without blocking the loop of the test.
"""

import asyncio
import os
from collections.abc import Mapping
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Final, Self

from ottla.common.errors import InvalidConfigError
from ottla.config.broker_keys import BROKER_CONFIG
from ottla.config.kafka_config import KafkaConfig
from ottla.runtime.live import AsyncioRuntime
from ottla.runtime.loop_thread import LoopThread
from ottla.server.node import Node
from ottla.server.storage import format_if_new
from ottla.testing.files import BrokerFiles

_HOST: Final = "127.0.0.1"
_DIRECTORY_KEYS: Final = ("log.dirs", "log.dir")
_DEFAULTS: Final[Mapping[str, str]] = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.bootstrap.servers": f"{_HOST}:9093",  # asked for, but a lone controller asks nobody
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "offsets.topic.num.partitions": "1",  # made when the first group comes, which then waits for its files
    "transaction.state.log.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",  # nobody else is about to join
    "transaction.state.log.min.isr": "1",
}


class Broker:
    """new → start → running → stop or kill → stopped → start → …; close, at the end, removes a temporary directory.

    As a context manager it is started and closed. Its address stays the same over restarts.

    A fault that a broker cannot live with, such as a disk that fails, ends it as ``kill`` would, but not the process;
    it is raised to whoever uses the broker after that, or stops it.
    """

    def __init__(
        self,
        properties: Mapping[str, str] | None = None,
        /,
        *,
        directory: str | os.PathLike[str] | None = None,
        **keywords: object,
    ) -> None:
        """Take the properties of a server.properties, by name or as keywords: ``num_partitions=3``.

        ``directory`` is where the data is kept, and stays; a broker without one has a temporary directory, for whose
        contents it never waits for the disk. InvalidConfigError for a keyword that is no property of a broker; what is
        wrong with a value is raised by ``start``.
        """
        self._properties = {**(properties or {}), **_from_keywords(keywords)}
        if directory is not None:
            self._properties["log.dirs"] = os.fspath(directory)
        self._temporary: TemporaryDirectory[str] | None = None
        self._port = 0
        self._files = BrokerFiles(is_durable=True)
        self._thread: LoopThread | None = None
        self._node: Node | None = None

    @property
    def bootstrap_servers(self) -> str:
        """What clients connect to: ``127.0.0.1:port``."""
        return self._running.bootstrap_servers

    @property
    def cluster_id(self) -> str:
        """The id of the cluster that this broker is."""
        return self._running.cluster_id

    @property
    def directory(self) -> str:
        """Where the data is."""
        return self._running.config.log.log_dirs[0]

    @property
    def _running(self) -> Node:
        if self._node is None:
            raise RuntimeError("the broker is not running")
        if self._node.fault is not None:
            raise self._node.fault
        return self._node

    # -- start and stop -----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Return when clients are served. A start that fails leaves nothing behind."""
        if self._node is not None:
            raise RuntimeError("the broker is running already")
        if not any(self._properties.get(key) for key in _DIRECTORY_KEYS):
            self._temporary = TemporaryDirectory(prefix="ottla-")
            self._properties["log.dirs"] = self._temporary.name
            self._files = BrokerFiles(is_durable=False)
        thread = LoopThread("ottla-broker")
        try:
            self._node = thread.run(self._start())
        except BaseException:
            thread.close()
            self._files.abandon()
            self._remove_temporary_directory()
            raise
        self._thread = thread

    async def _start(self) -> Node:
        listeners = f"PLAINTEXT://{_HOST}:{self._port},CONTROLLER://{_HOST}:0"
        BROKER_CONFIG.parse(self._properties)  # for what it says in the log: there is nothing to say of our defaults
        config = KafkaConfig.from_props({"listeners": listeners, **_DEFAULTS, **self._properties}, warn=False)
        runtime = AsyncioRuntime(self._files)
        try:
            await format_if_new(runtime, config)
        finally:
            runtime.close()
        node = Node(config, files=self._files)
        await node.start()
        self._port = int(node.bootstrap_servers.rpartition(":")[2])
        return node

    def stop(self) -> None:
        """Shut down as a broker should and keep the data; nothing to do if it is stopped. Raises a fault it had."""
        node, self._node = self._node, None
        thread, self._thread = self._thread, None
        if node is None or thread is None:
            return
        try:
            thread.run(node.stop())
            if node.fault is not None:
                raise node.fault
        finally:
            thread.close()
            self._files.abandon()

    def kill(self) -> None:
        """End as a process does that is killed: nothing is flushed, nobody is told, the data is as it was left."""
        node, self._node = self._node, None
        thread, self._thread = self._thread, None
        if node is None or thread is None:
            return
        try:
            thread.run(node.abandon())
        finally:
            thread.close()
            self._files.abandon()

    def restart(self) -> None:
        """Stop and start again, with the same data at the same address."""
        self.stop()
        self.start()

    def close(self) -> None:
        """Stop, and remove the temporary directory."""
        try:
            self.stop()
        finally:
            self._remove_temporary_directory()

    def _remove_temporary_directory(self) -> None:
        temporary, self._temporary = self._temporary, None
        if temporary is not None:
            del self._properties["log.dirs"]
            temporary.cleanup()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)


def _from_keywords(keywords: Mapping[str, object]) -> dict[str, str]:
    """Properties by their Python spelling. No broker key has an underscore; a misspelt one is not passed over here."""
    properties = {}
    for keyword, value in keywords.items():
        name = keyword.replace("_", ".")
        if name not in BROKER_CONFIG:
            raise InvalidConfigError(BROKER_CONFIG.describe_unknown(name))
        properties[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return properties
