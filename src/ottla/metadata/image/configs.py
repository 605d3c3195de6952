"""The dynamic configurations of topics, brokers, groups and client metrics."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple

from ottla.metadata.image.changes import applied, mark_missing
from ottla.metadata.records.settings import ConfigRecord


class ConfigResourceType(IntEnum):
    """What a configuration can belong to."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigResource(NamedTuple):
    """The owner of a configuration; the broker with the empty name is the default of all brokers."""

    type: int
    name: str


_NOTHING: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class ConfigsImage:
    """The configuration of each resource that has any."""

    resources: Mapping[ConfigResource, Mapping[str, str]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is configured."""
        return not self.resources

    def properties(self, resource_type: int, name: str) -> Mapping[str, str]:
        """What is set for a resource itself, without any defaults."""
        return self.resources.get(ConfigResource(resource_type, name), _NOTHING)

    def records(self) -> Iterator[ConfigRecord]:
        """One record a key."""
        for resource, properties in self.resources.items():
            for name, value in properties.items():
                yield ConfigRecord(resource_type=resource.type, resource_name=resource.name, name=name, value=value)


class ConfigsDelta:
    """Changes to configurations: by resource, the new value of a key or None where it was taken away.

    ``is_supported`` says which keys are kept: an old log may hold keys that no longer exist.
    """

    __slots__ = ("_is_supported", "changes", "image")

    def __init__(self, image: ConfigsImage, is_supported: Callable[[int, str], bool] | None = None) -> None:
        self.image = image
        self.changes: dict[ConfigResource, dict[str, str | None]] = {}
        self._is_supported = is_supported

    def replay(self, record: ConfigRecord) -> None:
        """Set or delete one key."""
        changes = self.changes.setdefault(ConfigResource(record.resource_type, record.resource_name), {})
        if self._is_supported is None or self._is_supported(record.resource_type, record.name):
            changes[record.name] = record.value

    def replay_remove_topic(self, topic_name: str) -> None:
        """A topic's configuration goes with it."""
        resource = ConfigResource(ConfigResourceType.TOPIC, topic_name)
        base = self.image.resources.get(resource)
        if base is not None:
            self.changes[resource] = dict.fromkeys(base)
        else:
            self.changes.pop(resource, None)

    def finish_snapshot(self) -> None:
        """What the snapshot did not mention is gone."""
        for resource, properties in self.image.resources.items():
            mark_missing(properties, self.changes.setdefault(resource, {}))

    def apply(self) -> ConfigsImage:
        """The image after the changes; a resource without a key is left out."""
        resources = dict(self.image.resources)
        for resource, changes in self.changes.items():
            properties = applied(resources.get(resource, _NOTHING), changes)
            if properties:
                resources[resource] = properties
            else:
                resources.pop(resource, None)
        return ConfigsImage(resources)
