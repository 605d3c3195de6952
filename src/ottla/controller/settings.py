"""What the controller knows from its configuration, and what it knows about one request."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ottla.config.broker_keys import BROKER_CONFIG
from ottla.config.topic import LogConfig
from ottla.config.values import ConfigValue
from ottla.controller.policies import AlterConfigPolicy, CreateTopicPolicy, PartitionRoom
from ottla.metadata.image import MetadataImage


def _default_broker_values() -> Mapping[str, ConfigValue]:
    return {key.name: key.default for key in BROKER_CONFIG}


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    """The static part of the controller's world.

    ``static_config`` holds the broker properties that are set, as text; a topic's effective configuration begins
    with them. ``broker_values`` are all of them, typed, and ``topic_defaults`` what they give to a topic.
    ``quorum_node_ids`` are the voters that are known from the configuration.
    """

    node_id: int
    cluster_id: str
    num_partitions: int = 1
    default_replication_factor: int = 1
    delete_topic_enable: bool = True
    static_config: Mapping[str, str] = field(default_factory=dict)
    broker_values: Mapping[str, ConfigValue] = field(default_factory=_default_broker_values)
    topic_defaults: LogConfig = field(default_factory=LogConfig)
    quorum_node_ids: tuple[int, ...] = ()
    create_topic_policy: CreateTopicPolicy | None = None
    alter_config_policy: AlterConfigPolicy | None = None
    partition_room: PartitionRoom | None = None
    broker_session_timeout_ms: int = 9000
    metadata_max_idle_interval_ms: int = 500
    leader_imbalance_check_interval_ms: int | None = 300_000
    unclean_leader_election_interval_ms: int = 300_000


def _unlimited(permits: int) -> None:
    """No controller mutation quota."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerRequestContext:
    """Who asks, and how: what a decision may depend on beside the request itself.

    ``apply_partition_change_quota`` is called with the number of partitions that a change makes or removes; it raises
    THROTTLING_QUOTA_EXCEEDED to refuse. ``describable_topics`` are those whose configuration the principal may see
    (None: all).
    """

    api_version: int = 0
    forwarded: bool = False
    apply_partition_change_quota: Callable[[int], None] = _unlimited
    describable_topics: Collection[str] | None = None

    def may_describe(self, topic: str) -> bool:
        """Whether the response may show this topic's configuration."""
        return self.describable_topics is None or topic in self.describable_topics


class Situation(NamedTuple):
    """All that a decision rests on: the state of the cluster, the settings, and who asks."""

    image: MetadataImage
    settings: ControllerSettings
    context: ControllerRequestContext
