"""Broker keys of tiered storage, which Ottla does not have; they are known so that Apache's files are understood."""

from functools import partial

from ottla.config.definition import ConfigKey, Importance
from ottla.config.topic_keys import TIERED_STORAGE
from ottla.config.units import LONG_MAX, MIB
from ottla.config.validators import NonEmptyString, at_least, between
from ottla.config.values import ConfigType

MEDIUM, LOW = Importance.MEDIUM, Importance.LOW
BOOLEAN, STRING, INT = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT
LONG, DOUBLE = ConfigType.LONG, ConfigType.DOUBLE

METADATA_MANAGER = "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager"

_key = partial(ConfigKey, inert=TIERED_STORAGE)

# fmt: off
TIERED_STORAGE_KEYS = (
    _key("remote.log.storage.system.enable", BOOLEAN, False, None, MEDIUM,
         "Whether tiered storage is on at all.",
         promises="that topics can be kept in remote storage"),
    _key("remote.log.storage.manager.class.name", STRING, None, NonEmptyString(), MEDIUM,
         "Class that stores segments remotely.",
         promises="that topics can be kept in remote storage"),
    _key("remote.log.storage.manager.class.path", STRING, None, None, MEDIUM,
         "Class path of remote.log.storage.manager.class.name."),
    _key("remote.log.storage.manager.impl.prefix", STRING, "rsm.config.", NonEmptyString(), MEDIUM,
         "Prefix of the keys that go to the remote storage manager."),
    _key("remote.log.metadata.manager.class.name", STRING, METADATA_MANAGER, NonEmptyString(), MEDIUM,
         "Class that keeps the metadata of remote segments."),
    _key("remote.log.metadata.manager.class.path", STRING, None, None, MEDIUM,
         "Class path of remote.log.metadata.manager.class.name."),
    _key("remote.log.metadata.manager.impl.prefix", STRING, "rlmm.config.", NonEmptyString(), MEDIUM,
         "Prefix of the keys that go to the remote log metadata manager."),
    _key("remote.log.metadata.manager.listener.name", STRING, None, NonEmptyString(), MEDIUM,
         "Listener that the remote log metadata manager connects to."),
    _key("remote.log.metadata.custom.metadata.max.bytes", INT, 128, at_least(0), LOW,
         "Largest custom metadata of a remote segment."),
    _key("remote.log.index.file.cache.total.size.bytes", LONG, 1024 * MIB, at_least(1), LOW,
         "Disk space for cached indexes of remote segments."),
    _key("remote.log.index.file.cache.ttl.ms", LONG, 900000, at_least(-1), LOW,
         "How long a cached index of a remote segment stays.", internal=True),
    _key("remote.log.manager.thread.pool.size", INT, 2, at_least(1), MEDIUM,
         "Threads that follow remote segments."),
    _key("remote.log.manager.follower.thread.pool.size", INT, 2, at_least(1), MEDIUM,
         "Threads that follow remote segments as followers."),
    _key("remote.log.manager.copier.thread.pool.size", INT, 10, at_least(1), MEDIUM,
         "Threads that copy segments to remote storage."),
    _key("remote.log.manager.expiration.thread.pool.size", INT, 10, at_least(1), MEDIUM,
         "Threads that delete expired remote segments."),
    _key("remote.log.manager.task.interval.ms", LONG, 30000, at_least(1), LOW,
         "Time between two looks for segments to copy or to delete."),
    _key("remote.log.manager.task.retry.backoff.ms", LONG, 500, at_least(1), LOW,
         "First pause after a failed remote operation.", internal=True),
    _key("remote.log.manager.task.retry.backoff.max.ms", LONG, 30000, at_least(1), LOW,
         "Longest pause after failed remote operations.", internal=True),
    _key("remote.log.manager.task.retry.jitter", DOUBLE, 0.2, between(0, 0.5), LOW,
         "Share of chance in the pause after a failed remote operation.", internal=True),
    _key("remote.log.reader.threads", INT, 10, at_least(1), MEDIUM,
         "Threads that read from remote storage."),
    _key("remote.log.reader.max.pending.tasks", INT, 100, at_least(1), MEDIUM,
         "Reads from remote storage that may wait."),
    _key("remote.log.manager.copy.max.bytes.per.second", LONG, LONG_MAX, at_least(1), MEDIUM,
         "Bytes a second that may be copied to remote storage."),
    _key("remote.log.manager.copy.quota.window.num", INT, 11, at_least(1), MEDIUM,
         "Samples kept for the copy quota."),
    _key("remote.log.manager.copy.quota.window.size.seconds", INT, 1, at_least(1), MEDIUM,
         "Time that one sample for the copy quota covers."),
    _key("remote.log.manager.fetch.max.bytes.per.second", LONG, LONG_MAX, at_least(1), MEDIUM,
         "Bytes a second that may be read from remote storage."),
    _key("remote.log.manager.fetch.quota.window.num", INT, 11, at_least(1), MEDIUM,
         "Samples kept for the read quota."),
    _key("remote.log.manager.fetch.quota.window.size.seconds", INT, 1, at_least(1), MEDIUM,
         "Time that one sample for the read quota covers."),
    _key("remote.fetch.max.wait.ms", INT, 500, at_least(1), MEDIUM,
         "How long a fetch waits for remote storage."),
    _key("remote.list.offsets.request.timeout.ms", LONG, 30000, at_least(1), MEDIUM,
         "How long a ListOffsets request waits for remote storage."),
)
# fmt: on
