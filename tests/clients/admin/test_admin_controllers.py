"""An admin client that knows controllers only."""

import pytest

from ottla.clients.admin import AlterConfigOp, ConfigResource, ConfigResourceType, FeatureUpdate, NewTopic
from ottla.clients.errors import InvalidConfigError, UnsupportedVersionError
from ottla.clients.sync.admin import Admin
from tests.clients.admin.waiting import attempts
from tests.node import CLUSTER_ID, Node


def test_controllers_answer_for_the_cluster(kafka: Node) -> None:
    with Admin(bootstrap_controllers=kafka.bootstrap_controller) as admin:
        cluster = admin.describe_cluster()
        assert cluster.cluster_id == CLUSTER_ID
        assert [node.port for node in cluster.nodes] == [kafka.ports.controller]
        assert cluster.controller == cluster.nodes[0]
        assert admin.describe_metadata_quorum().leader_id == cluster.controller_id
        features = admin.describe_features()
        assert features.finalized["metadata.version"].highest == 30
        current = features.finalized["group.version"].highest
        assert admin.update_features({"group.version": FeatureUpdate(current)}) == {"group.version": None}
        assert admin.describe_api_versions(cluster.nodes[0].id).versions


def test_controllers_change_configs(kafka: Node) -> None:
    every_broker = ConfigResource(ConfigResourceType.BROKER, "")
    change = {every_broker: [AlterConfigOp("log.retention.ms", "7654321")]}
    with Admin(bootstrap_controllers=kafka.bootstrap_controller) as controllers:
        assert controllers.alter_configs(change) == {every_broker: None}
    with Admin(bootstrap_servers=kafka.bootstrap) as brokers:
        for _ in attempts("The change"):
            found = brokers.describe_configs([every_broker])[every_broker]
            if "log.retention.ms" in found and found["log.retention.ms"].value == "7654321":
                break


def test_controllers_have_no_groups(kafka: Node) -> None:
    with Admin(bootstrap_controllers=kafka.bootstrap_controller) as admin:
        with pytest.raises(UnsupportedVersionError):
            admin.list_groups(timeout_ms=5000)
        with pytest.raises(UnsupportedVersionError):
            admin.describe_consumer_groups(["g"], timeout_ms=5000)


def test_controllers_create_topics(kafka: Node, topic: str) -> None:
    with Admin(bootstrap_controllers=kafka.bootstrap_controller) as controllers:
        assert controllers.create_topics([NewTopic(topic, 1)])[topic].num_partitions == 1
    with Admin(bootstrap_servers=kafka.bootstrap) as brokers:
        for _ in attempts("The topic"):
            if topic in brokers.list_topics():
                break


def test_it_is_brokers_or_controllers(kafka: Node) -> None:
    with pytest.raises(InvalidConfigError):
        Admin(bootstrap_servers=kafka.bootstrap, bootstrap_controllers=kafka.bootstrap_controller)
