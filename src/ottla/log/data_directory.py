"""One data directory of a broker: its lock, its identity, what lies in it, and whether its disk works."""

import logging

from ottla.common.error_words import in_words
from ottla.common.errors import KafkaStorageError
from ottla.common.uuid import Uuid
from ottla.log import names
from ottla.log.clean_shutdown import CleanShutdownFile
from ottla.log.log_dir import LogDirLock, make_log_dir
from ottla.log.meta_properties import (
    META_PROPERTIES_FILE,
    MetaProperties,
    read_meta_properties,
    write_meta_properties,
)
from ottla.runtime.port import Files, Runtime
from ottla.runtime.shortage import is_shortage

logger = logging.getLogger(__name__)

METADATA_TOPIC = "__cluster_metadata"
"""Its log lies in a data directory too, but belongs to raft."""
REMOTE_INDEX_CACHE_DIR = "remote-log-index-cache"
"""What Apache Kafka's tiered storage may have left: no partition's directory."""


def read_identity(files: Files, path: str, cluster_id: str | None, node_id: int | None) -> MetaProperties | None:
    """Whose the directory is, None if nobody's yet.

    KafkaStorageError if its ``meta.properties`` is damaged or names another cluster or node; None expects nothing.
    """
    properties = read_meta_properties(files, path)
    if properties is not None:
        file = f"{path}/{META_PROPERTIES_FILE}"
        if properties.cluster_id is None and properties.node_id is None:
            raise KafkaStorageError(f"{file} names neither a cluster nor a node: it is damaged, or was never finished")
        properties.verify(file, cluster_id=cluster_id, node_id=node_id)
    return properties


class DataDirectory:
    """See the module. ``failure`` is what took it offline, None while it works."""

    def __init__(self, runtime: Runtime, path: str) -> None:
        self.path = path
        self.failure: Exception | None = None
        self.directory_id: Uuid | None = None
        self.is_loaded = False
        """Whether all its logs were loaded: only then can a stop be a clean one."""
        self.clean_shutdown = CleanShutdownFile(runtime.files, path)
        self._runtime = runtime
        self._lock: LogDirLock | None = None

    @property
    def is_online(self) -> bool:
        """Whether its logs can be used."""
        return self.failure is None

    def open(self, cluster_id: str | None, node_id: int | None) -> None:
        """Make, lock and identify the directory.

        A disk error or a ``meta.properties`` that is damaged or belongs elsewhere takes this directory alone offline;
        a lock held by another node raises LogDirLockedError. Want of open files or memory is raised as it is.
        """
        try:
            make_log_dir(self._runtime.files, self.path)
            self._lock = LogDirLock.acquire(self._runtime.files, self.path)
            self._identify(cluster_id, node_id)
        except (OSError, KafkaStorageError) as error:
            if is_shortage(error):
                raise
            self.fail(error)

    def _identify(self, cluster_id: str | None, node_id: int | None) -> None:
        """Check the identity in ``meta.properties``; a directory without one gets it, one without an id gets an id."""
        files, now_ms = self._runtime.files, self._runtime.clock.now_ms()
        properties = read_identity(files, self.path, cluster_id, node_id)
        if properties is None:
            if cluster_id is None or node_id is None:
                return
            properties = MetaProperties(cluster_id, node_id)
        if properties.directory_id is None and properties.version == 1:
            properties = properties.with_directory_id(Uuid.random(self._runtime.rng))
            write_meta_properties(files, self.path, properties, now_ms)
        self.directory_id = properties.directory_id

    def fail(self, error: Exception) -> None:
        """Take the directory offline, and leave it to whoever repairs it."""
        if self.failure is None:
            self.failure = error
            logger.error("Log directory %s is offline: %s", self.path, in_words(error))
            self.close()

    def partition_directories(self) -> list[str]:
        """The directories of all partitions, deleted, future and stray ones included.

        KafkaStorageError for a directory that is no partition's: the path may be a mistake, and its contents are
        somebody else's.
        """
        files = self._runtime.files
        paths = [f"{self.path}/{name}" for name in files.list_dir(self.path) if name != REMOTE_INDEX_CACHE_DIR]
        return [
            path
            for path in paths
            if files.is_dir(path) and names.parse_topic_partition_dir(path).topic != METADATA_TOPIC
        ]

    def close(self) -> None:
        """Give up the lock; a disk that has failed may refuse even that."""
        lock, self._lock = self._lock, None
        if lock is not None:
            try:
                lock.release()
            except OSError as error:
                logger.warning("The lock of %s could not be removed: %s", self.path, in_words(error))
