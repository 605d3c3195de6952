"""Any history of brokers, topics, failures and elections keeps the cluster's promises."""

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ottla.controller.state import ControllerState
from ottla.metadata.image import MetadataImage
from ottla.metadata.partition_registration import NO_LEADER
from ottla.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from ottla.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from ottla.protocol.messages.elect_leaders import ElectLeadersRequest
from ottla.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from ottla.protocol.messages.unregister_broker import UnregisterBrokerRequest
from tests.controller.controller_world import CONTEXT, World, registration, topic_request

BROKERS = st.integers(1, 4)
TOPICS = st.sampled_from(["a", "b", "c"])


class ControllerHistory(RuleBasedStateMachine):
    """Whatever happens: leaders are alive and in sync, nobody fenced is in an ISR, epochs only rise, and whoever
    replays the log has the same state.
    """

    @initialize(commits_at_once=st.booleans())
    def begin(self, commits_at_once: bool) -> None:
        self.world = World.active(1, 2, 3)
        self.epoch = 1
        self.incarnation = 100
        self.create("a", 3, 3, unclean=False)
        self.create("b", 3, 2, unclean=True)
        self.world.raft.commits_at_once = commits_at_once
        self.leader_epochs: dict[tuple[object, int], tuple[int, int]] = {}

    @property
    def latest(self) -> MetadataImage:
        return self.world.controller.listener.latest.image

    @rule(broker_id=BROKERS, clean=st.booleans())
    def register(self, broker_id: int, clean: bool) -> None:
        self.incarnation += 1
        previous = self.latest.cluster.broker_epoch(broker_id) if clean else -1
        self.world.raft.commit()
        request = registration(broker_id, incarnation=self.incarnation, previous_broker_epoch=previous)
        self.world.controller.register_broker(CONTEXT, request)

    @rule(broker_id=BROKERS, want_fence=st.booleans(), want_shut_down=st.booleans())
    def beat(self, broker_id: int, want_fence: bool, want_shut_down: bool) -> None:
        epoch = self.latest.cluster.broker_epoch(broker_id)
        self.world.beat(broker_id, epoch, want_fence=want_fence, want_shut_down=want_shut_down)

    @rule(broker_id=BROKERS)
    def catch_up(self, broker_id: int) -> None:
        self.world.beat(broker_id, self.latest.cluster.broker_epoch(broker_id))

    @rule(name=TOPICS, partitions=st.integers(1, 3), factor=st.integers(1, 3), unclean=st.booleans())
    def create(self, name: str, partitions: int, factor: int, unclean: bool) -> None:
        configs = {"unclean.leader.election.enable": "true"} if unclean else {}
        self.world.controller.create_topics(CONTEXT, topic_request(name, partitions, factor, configs))

    @rule(name=TOPICS)
    def delete(self, name: str) -> None:
        self.world.controller.delete_topics(CONTEXT, DeleteTopicsRequest(topics=[DeleteTopicState(name=name)]))

    @rule(name=TOPICS, count=st.integers(1, 5))
    def grow(self, name: str, count: int) -> None:
        topics = [CreatePartitionsTopic(name=name, count=count, assignments=None)]
        self.world.controller.create_partitions(CONTEXT, CreatePartitionsRequest(topics=topics))

    @rule(name=TOPICS, value=st.sampled_from(["1", "2", "3"]))
    def set_min_isr(self, name: str, value: str) -> None:
        change = AlterableConfig(name="min.insync.replicas", config_operation=0, value=value)
        resource = AlterConfigsResource(resource_type=2, resource_name=name, configs=[change])
        self.world.controller.incremental_alter_configs(CONTEXT, IncrementalAlterConfigsRequest(resources=[resource]))

    @rule(election_type=st.sampled_from([0, 1]))
    def elect(self, election_type: int) -> None:
        request = ElectLeadersRequest(election_type=election_type, topic_partitions=None)
        self.world.controller.elect_leaders(CONTEXT, request)

    @rule(broker_id=BROKERS)
    def unregister(self, broker_id: int) -> None:
        self.world.controller.unregister_broker(CONTEXT, UnregisterBrokerRequest(broker_id=broker_id))

    @rule(duration_ms=st.sampled_from([100, 5_000, 12_000]))
    def wait(self, duration_ms: int) -> None:
        self.world.pass_ms(duration_ms)

    @rule()
    def commit(self) -> None:
        self.world.raft.commit()

    @precondition(lambda self: self.world.raft.committed > 0)
    @rule(keeps=st.booleans())
    def fail_over(self, keeps: bool) -> None:
        raft = self.world.raft
        if not keeps:
            raft.drop_uncommitted()
        raft.lose(None, self.epoch + 1)
        raft.commit()
        self.leader_epochs.clear()
        self.epoch += 2
        raft.lead(self.epoch)

    @invariant()
    def partitions_are_sound(self) -> None:
        image = self.latest
        for topic in image.topics.by_name.values():
            assert sorted(topic.partitions) == list(range(len(topic.partitions)))
            for partition_id, partition in topic.partitions.items():
                assert set(partition.isr) <= set(partition.replicas)
                assert not set(partition.elr) & set(partition.isr)
                assert len(partition.directories) == len(partition.replicas)
                for broker_id in partition.isr:
                    broker = image.cluster.brokers[broker_id]
                    assert not broker.fenced
                if partition.leader != NO_LEADER:
                    assert partition.leader in partition.isr
                else:
                    assert not partition.isr, "with eligible leader replicas nobody is in sync without a leader"
                key = (topic.id, partition_id)
                epochs = (partition.leader_epoch, partition.partition_epoch)
                before = self.leader_epochs.get(key, (-1, -1))
                assert before[0] <= epochs[0]
                assert before[1] <= epochs[1]
                self.leader_epochs[key] = epochs

    @invariant()
    def the_log_is_the_state(self) -> None:
        state = ControllerState()
        for batch in self.world.raft.batches:
            state = state.replay(batch.records, batch.base_offset, batch.epoch, 0)
        latest = self.world.controller.listener.latest
        assert state.image.topics == latest.image.topics
        assert state.image.cluster == latest.image.cluster
        assert state.image.configs == latest.image.configs
        assert state.registration_offsets == latest.registration_offsets

    @invariant()
    def a_controller_stays_active(self) -> None:
        assert self.world.controller.is_active


ControllerHistory.TestCase.settings = hypothesis_settings(max_examples=60, stateful_step_count=30, deadline=None)
TestControllerHistory = ControllerHistory.TestCase
