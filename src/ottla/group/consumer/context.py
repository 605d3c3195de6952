"""What all operations on consumer groups share: settings, groups, topics and timers."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError
from ottla.config.sections import GroupCoordinatorConfig
from ottla.coordinator.timers import Timers
from ottla.group.consumer.background_tasks import BackgroundTasks
from ottla.group.consumer.group import ConsumerGroup
from ottla.group.consumer.topic_index import TopicIndex
from ottla.group.group_store import GroupStore
from ottla.group.metrics import GroupMetrics
from ottla.metadata.image.metadata import EMPTY_IMAGE, MetadataImage

if TYPE_CHECKING:
    from random import Random

if TYPE_CHECKING:
    from random import Random


class ConsumerGroupConfig(NamedTuple):
    """What is configured for one group; None is left to the broker."""

    session_timeout_ms: int | None = None
    heartbeat_interval_ms: int | None = None
    assignment_interval_ms: int | None = None


GroupConfigs = Callable[[str], ConsumerGroupConfig]
"""What is configured for a group, by its id."""


class RequestContext(NamedTuple):
    """Who sends a heartbeat or a join."""

    client_id: str = ""
    client_host: str = ""
    """As Java writes an address: ``/127.0.0.1``."""
    describable_topics: Callable[[Sequence[str]], Collection[str]] | None = None
    """Of some topics, those that the client may know of; None where it may know of all."""
    api_version: int = 0


class ConsumerGroupContext:
    """The surroundings of the groups of one shard."""

    __slots__ = (
        "_group_configs",
        "config",
        "groups",
        "image",
        "image_version_with_new_topics",
        "index",
        "metrics",
        "rng",
        "tasks",
        "timers",
    )

    def __init__(
        self,
        *,
        config: GroupCoordinatorConfig,
        timers: Timers,
        groups: GroupStore,
        rng: "Random",
        metrics: GroupMetrics,
        group_configs: GroupConfigs,
        tasks: BackgroundTasks,
    ) -> None:
        self.config = config
        self.timers = timers
        self.groups = groups
        self.rng = rng
        self.metrics = metrics
        self._group_configs = group_configs
        self.tasks = tasks
        self.index = TopicIndex()
        self.image: MetadataImage = EMPTY_IMAGE
        self.image_version_with_new_topics = -1
        """The version of the metadata that last brought topics, which regular expressions may match."""

    def consumer_group(self, group_id: str) -> ConsumerGroup:
        """The consumer group; GROUP_ID_NOT_FOUND if there is none, or one of another kind."""
        return self.groups.typed(group_id, ConsumerGroup, "a consumer")

    def metadata_hash(self, topics: Iterable[str]) -> int:
        """The hash of some topics as they are now."""
        return self.index.metadata_hash(topics, self.image)

    def session_timeout_ms(self, group_id: str) -> int:
        """How long a member may be silent."""
        config = self.config
        return _bounded(
            self._group_configs(group_id).session_timeout_ms,
            config.group_consumer_session_timeout_ms,
            config.group_consumer_min_session_timeout_ms,
            config.group_consumer_max_session_timeout_ms,
        )

    def heartbeat_interval_ms(self, group_id: str) -> int:
        """How often members are told to heartbeat."""
        config = self.config
        return _bounded(
            self._group_configs(group_id).heartbeat_interval_ms,
            config.group_consumer_heartbeat_interval_ms,
            config.group_consumer_min_heartbeat_interval_ms,
            config.group_consumer_max_heartbeat_interval_ms,
        )

    def assignment_interval_ms(self, group_id: str) -> int:
        """The least time between two target assignments of a group."""
        config = self.config
        return _bounded(
            self._group_configs(group_id).assignment_interval_ms,
            config.group_consumer_assignment_interval_ms,
            config.group_consumer_min_assignment_interval_ms,
            config.group_consumer_max_assignment_interval_ms,
        )


def not_found(message: str) -> ApiError:
    """There is no group of that id that could be used as a consumer group."""
    return ApiError(ErrorCode.GROUP_ID_NOT_FOUND, message)


def _bounded(own: int | None, default: int, lowest: int, highest: int) -> int:
    """A group's own setting counts within the broker's bounds, which may have been narrowed after it was made."""
    return default if own is None else min(max(own, lowest), highest)
