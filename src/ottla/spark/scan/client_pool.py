"""Connections that outlive a task: Spark uses its Python workers again, and a micro-batch must not log in anew."""

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from ottla.clients.cluster.cluster_client import ClusterClient
from ottla.config.client_configs import ConsumerConfig
from ottla.runtime.loop_thread import LoopThread
from ottla.spark.freed_memory import keep_freed_memory
from ottla.spark.scan.fetch_settings import CONNECTION_DEFAULTS

IDLE_CLIENTS_MAX: Final = 4
IDLE_MAX_S: Final = 120.0
"""How long a client is kept that no task uses; Spark ends idle workers after a minute, unless told otherwise."""

Key = tuple[tuple[str, str], ...]


class PooledClient:
    """A started client, its configuration, and the loop that it lives on."""

    __slots__ = ("cluster", "config", "key", "loop", "users")

    def __init__(self, key: Key, loop: LoopThread) -> None:
        """KafkaTimeoutError, AuthenticationError and the like if no broker can be reached."""
        self.key = key
        self.loop = loop
        self.config = ConsumerConfig.parse({**CONNECTION_DEFAULTS, **dict(key)}, {})
        self.users = 0
        self.cluster = loop.run(self._start())

    async def _start(self) -> ClusterClient:
        cluster = ClusterClient(self.config.common, allow_auto_topic_creation=False)
        try:
            await cluster.start(timeout_ms=self.config.default_api_timeout_ms)
        except BaseException:
            await cluster.close()
            raise
        return cluster

    def close(self) -> None:
        """Close its connections, and do not wait."""
        self.loop.submit(self.cluster.close())


class ClientPool:
    """At most one client for the same properties; idle ones are few, and closed after a while.

    Threads and connections do not survive a fork: a child finds the pool empty.
    """

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._loop: LoopThread | None = None
        self._clients: dict[Key, PooledClient] = {}
        self._idle: dict[Key, threading.Timer] = {}
        """The least recently used first."""

    @contextmanager
    def client(self, properties: Mapping[str, str]) -> Iterator[PooledClient]:
        """A client with these properties, for as long as the context lasts."""
        if self._pid != os.getpid():
            self._forget()
        key = tuple(sorted(properties.items()))
        client = self._take(key)
        try:
            yield client
        finally:
            self._give_back(client)

    def _take(self, key: Key) -> PooledClient:
        with self._lock:
            if (timer := self._idle.pop(key, None)) is not None:
                timer.cancel()
            client = self._clients.get(key)
            if client is None:
                if self._loop is None:
                    keep_freed_memory()
                    self._loop = LoopThread("ottla-scan")
                client = self._clients[key] = PooledClient(key, self._loop)
            client.users += 1
            return client

    def _give_back(self, client: PooledClient) -> None:
        with self._lock:
            client.users -= 1
            if client.users:
                return
            timer = threading.Timer(IDLE_MAX_S, self._expire, (client,))
            timer.daemon = True
            timer.start()
            self._idle[client.key] = timer
            while len(self._idle) > IDLE_CLIENTS_MAX:
                self._drop(next(iter(self._idle)))

    def _expire(self, client: PooledClient) -> None:
        with self._lock:
            if self._clients.get(client.key) is client and not client.users:
                self._drop(client.key)

    def _drop(self, key: Key) -> None:
        self._idle.pop(key).cancel()
        self._clients.pop(key).close()

    def close(self) -> None:
        """Close all idle clients."""
        with self._lock:
            for key in list(self._idle):
                self._drop(key)


POOL: Final = ClientPool()
"""The process's."""
