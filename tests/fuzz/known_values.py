"""Values that mean something to the node under test; with random ones no handler would get beyond its first check."""

from collections.abc import Mapping, Sequence
from typing import Any

from ottla.common.uuid import ZERO_UUID, Uuid
from tests.fuzz.known_coordinator_values import GROUPS, KNOWN_TO_COORDINATORS, TRANSACTIONAL_IDS_AND_ODD_ONES
from tests.node import CLUSTER_ID

HEALTHY_TOPIC = "healthy"
"""The healthy client's own: nothing may happen to it."""
HEALTHY_GROUP = "healthy-group"
KEPT_TOPIC = "kept"
"""Is there all the time, so that its id stays the same."""
VOLATILE_TOPICS = ("volatile-0", "volatile-1", "volatile-2")
"""Come and go."""
OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"
NEEDED_TOPICS = frozenset((HEALTHY_TOPIC, KEPT_TOPIC, OFFSETS_TOPIC, TRANSACTIONS_TOPIC))
"""No frame may delete them."""
NODE_ID = 1

_ODD_TOPICS = ("__cluster_metadata", OFFSETS_TOPIC, TRANSACTIONS_TOPIC, "absent", "", "..", "a" * 250, "a b", "a\nb")
_TOPICS = (*(KEPT_TOPIC,) * 10, *VOLATILE_TOPICS * 3, *_ODD_TOPICS)
_PARTITIONS = (0, 0, 0, 0, 1, 1, 2, -1, 99)
_BROKERS = (*(NODE_ID,) * 6, 2, 3, -1)
_EPOCHS = (-1, -1, -1, 0, 0, 1, 2, 7)
_WAITS_MS = (0, 1, 5, 20)
_BYTES = (0, 1, 100, 4096, 65536)
_CONFIGS = (
    "retention.ms",
    "cleanup.policy",
    "segment.bytes",
    "compression.type",
    "min.insync.replicas",
    "flush.messages",
    "message.timestamp.type",
    "unclean.leader.election.enable",
    "log.cleaner.threads",
    "follower.replication.throttled.rate",
    "follower.replication.throttled.replicas",
    "consumer.session.timeout.ms",
    "consumer.heartbeat.interval.ms",
    "no.such.key",
    "",
)
_CONFIG_VALUES = (
    "",
    "0",
    "1",
    "-1",
    "compact",
    "delete",
    "compact,delete",
    "zstd",
    "LogAppendTime",
    "1048576",
    "9223372036854775807",
    "9223372036854775808",
    "true",
    "*",
    "none",
)
_FEATURES = ("metadata.version", "kraft.version", "group.version", "transaction.version", "share.version", "no.such")


def known_values(kept_topic_id: Uuid, broker_epoch: int, log_dir: str) -> Mapping[str, Sequence[Any]]:
    """What :func:`tests.random_messages.random_message` draws from."""
    broker_epochs = (*(broker_epoch,) * 6, broker_epoch + 1, -1)
    return {
        "name": _TOPICS,
        "topic": _TOPICS,
        "topic_name": _TOPICS,
        "topic_names": _TOPICS,
        "topic_id": (*(kept_topic_id,) * 6, ZERO_UUID),
        "index": _PARTITIONS,
        "partition": _PARTITIONS,
        "partitions": _PARTITIONS,
        "partition_index": _PARTITIONS,
        "partition_indexes": _PARTITIONS,
        "num_partitions": (-1, -1, 1, 1, 3, 0),
        "count": (-1, 0, 1, 2, 4),
        "replication_factor": (-1, 1, 1, 1, 0, 2),
        "broker_ids": _BROKERS,
        "broker_id": _BROKERS,
        "controller_id": _BROKERS,
        "new_isr": _BROKERS,
        "replica_id": (*(-1,) * 6, -2, 1, 2),
        "broker_epoch": broker_epochs,
        "replica_epoch": broker_epochs,
        "previous_broker_epoch": broker_epochs,
        "leader_epoch": _EPOCHS,
        "current_leader_epoch": _EPOCHS,
        "partition_epoch": _EPOCHS,
        "last_fetched_epoch": _EPOCHS,
        "leader_recovery_state": (0, 1, 2),
        "fetch_offset": (0, 0, 1, 100, -1, 1 << 40),
        "offset": (-1, 0, 1, 1 << 40),
        "timestamp": (-1, -2, -1, -2, -3, -4, -5, -6, 0, 1_700_000_000_000),
        "max_wait_ms": _WAITS_MS,
        "min_bytes": (0, 0, 1, 1 << 30),
        "max_bytes": _BYTES,
        "partition_max_bytes": _BYTES,
        "timeout_ms": (*_WAITS_MS, -1, 1000),
        "session_id": (*(0,) * 6, 1),
        "session_epoch": (*(-1, 0) * 3, 1),
        "isolation_level": (0, 1, 2),
        "acks": (*(-1, 1) * 6, 0, 2),
        "ProduceRequest.transactional_id": (None, None, None, *TRANSACTIONAL_IDS_AND_ODD_ONES),
        "resource_type": (*(2, 4) * 4, 8, 16, 32, 32, 0, 127),
        "resource_types": (2, 4, 8, 16, 32, 0, 127),
        "resource_name": (*(KEPT_TOPIC, str(NODE_ID)) * 5, *VOLATILE_TOPICS, *GROUPS, "2", "metrics", "absent"),
        "configuration_keys": _CONFIGS,
        "CreatableTopicConfig.name": _CONFIGS,
        "AlterableConfig.name": _CONFIGS,
        "value": _CONFIG_VALUES,
        "config_operation": (0, 1, 2, 3, 4),
        "path": (log_dir, log_dir, "/nowhere", ""),
        "election_type": (0, 0, 1, 1, 2),
        "feature": _FEATURES,
        "Feature.name": _FEATURES,
        "max_version_level": (*range(-1, 4), *range(20, 31)),
        "upgrade_type": (1, 2, 3, 0),
        "endpoint_type": (1, 2, 3),
        "cluster_id": (*(CLUSTER_ID,) * 6, "another"),
        "Listener.name": ("PLAINTEXT", "CONTROLLER", ""),
        "host": ("localhost", ""),
        "security_protocol": (0, 1, 99),
        "min_supported_version": (0, 1),
        "max_supported_version": (0, 1, 29),
        "subscribed_topic_names": _TOPICS,
        **KNOWN_TO_COORDINATORS,
    }
