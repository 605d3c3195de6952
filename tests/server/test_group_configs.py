"""What is configured for a group reaches its coordinator, as the metadata has it now."""

import logging

import pytest

from ottla.group.consumer.context import ConsumerGroupConfig
from ottla.metadata.image.configs import ConfigResourceType
from ottla.metadata.image.metadata import MetadataImage
from ottla.metadata.image.metadata_delta import MetadataDelta
from ottla.metadata.records.settings import ConfigRecord
from ottla.server.group_configs import MetadataGroupConfigs


class World:
    def __init__(self) -> None:
        self.image = MetadataImage()
        self.configs = MetadataGroupConfigs(lambda: self.image)

    def set(self, group_id: str, **properties: str | None) -> None:
        delta = MetadataDelta(self.image)
        for name, value in properties.items():
            delta.replay(
                ConfigRecord(
                    resource_type=ConfigResourceType.GROUP,
                    resource_name=group_id,
                    name=name.replace("_", "."),
                    value=value,
                )
            )
        self.image = delta.apply(self.image.provenance)


def test_a_group_without_configuration_leaves_all_to_the_broker() -> None:
    assert World().configs("g") == ConsumerGroupConfig()


def test_what_is_set_counts_for_that_group_and_from_then_on() -> None:
    world = World()
    world.set("g", consumer_session_timeout_ms="50000", consumer_heartbeat_interval_ms="6000")
    assert world.configs("g") == ConsumerGroupConfig(50_000, 6_000, None)
    assert world.configs("g") is world.configs("g"), "parsed once"
    assert world.configs("h") == ConsumerGroupConfig()
    world.set("g", consumer_assignment_interval_ms="7", consumer_heartbeat_interval_ms=None)
    assert world.configs("g") == ConsumerGroupConfig(50_000, None, 7)
    world.set("g", consumer_assignment_interval_ms=None, consumer_session_timeout_ms=None)
    assert world.configs("g") == ConsumerGroupConfig()


def test_a_value_that_means_nothing_does_not_count(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.set("g", consumer_session_timeout_ms="long")
    with caplog.at_level(logging.ERROR):
        assert world.configs("g") == ConsumerGroupConfig()
    assert "consumer.session.timeout.ms" in caplog.text
