"""The driver: activation, appends and commits, losing leadership, periodic tasks."""

import asyncio
from dataclasses import replace

import pytest

from ottla.common.error_code import ErrorCode
from ottla.common.errors import ApiError, RecordListTooLargeError
from ottla.common.uuid import Uuid
from ottla.metadata.bootstrap import BootstrapMetadata
from ottla.metadata.metadata_version import LATEST_PRODUCTION, MetadataVersion
from ottla.metadata.partition_registration import NO_LEADER
from ottla.metadata.records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    NoOpRecord,
    TopicRecord,
)
from ottla.metrics import Gauge, Histogram, Registry
from ottla.raft.batch import CommittedBatch
from ottla.raft.errors import NotLeaderError
from tests.controller.controller_world import (
    BOOTSTRAP,
    CONTEXT,
    SETTINGS,
    World,
    topic_request,
)


def test_the_first_controller_writes_the_bootstrap_records_in_a_transaction() -> None:
    world = World(replace(SETTINGS, static_config={"min.insync.replicas": "2"}))
    world.raft.lead(1)
    assert world.raft.records == [
        BeginTransactionRecord(name="Bootstrap records"),
        *BOOTSTRAP.records,
        ConfigRecord(resource_type=4, resource_name="", name="min.insync.replicas", value="2"),
        EndTransactionRecord(),
    ]
    assert world.controller.is_active
    assert world.controller.claim_epoch == 1
    assert world.controller.metadata_version is LATEST_PRODUCTION
    assert world.image.features.is_elr_enabled


def test_an_old_cluster_begins_without_a_transaction() -> None:
    bootstrap = BootstrapMetadata.from_versions(MetadataVersion.IBP_3_5_IV2, {}, "a test")
    world = World(bootstrap=bootstrap)
    world.raft.lead(1)
    assert world.raft.records == list(bootstrap.records)


def test_a_log_that_has_begun_needs_no_bootstrap() -> None:
    world = World.active()
    appended = len(world.raft.batches)
    world.raft.lose(None, 2)
    assert not world.controller.is_active
    world.raft.lead(3)
    assert world.controller.is_active
    assert len(world.raft.batches) == appended
    assert world.controller.metrics.new_active_controllers_count == 2


@pytest.mark.parametrize("finished", [False, True])
def test_a_transaction_that_another_controller_left_open_is_aborted(finished: bool) -> None:
    world = World()
    bootstrap = [BeginTransactionRecord(name="Bootstrap records"), *BOOTSTRAP.records]
    topic = TopicRecord(name="half made", topic_id=Uuid.from_halves(1, 1))
    records = (
        [*bootstrap, EndTransactionRecord(), BeginTransactionRecord(name="later"), topic] if finished else bootstrap
    )
    world.raft.batches.append(CommittedBatch(1, 1, 0, tuple(records), len(records), 1))
    world.raft.commit()
    world.raft.lead(2)
    new = world.raft.batches[1].records
    assert new[0] == AbortTransactionRecord(reason="Controller failover")
    assert (len(new) == 1) is finished
    assert world.image.features.metadata_version is LATEST_PRODUCTION
    assert not world.image.topics.by_name


def test_an_answer_waits_for_its_commit() -> None:
    world = World.active(1)
    world.raft.commits_at_once = False
    creating = world.controller.create_topics(CONTEXT, topic_request("t"))
    again = world.controller.create_topics(CONTEXT, topic_request("t"))
    assert not creating.is_done
    assert not again.is_done, "it saw a topic that might never be committed"
    assert "t" not in world.image.topics.by_name
    world.raft.commit()
    assert creating.result().topics[0].error_code == 0
    assert again.result().topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS
    assert "t" in world.image.topics.by_name


def test_an_answer_can_be_awaited() -> None:
    async def story() -> str:
        world = World.active(1)
        world.raft.commits_at_once = False
        creating = world.controller.create_topics(CONTEXT, topic_request("t"))
        asyncio.get_running_loop().call_soon(world.raft.commit)
        return (await creating).topics[0].name

    assert asyncio.run(story()) == "t"


def test_a_standby_refuses_and_names_the_controller() -> None:
    world = World()
    refused = world.controller.create_topics(CONTEXT, topic_request("t"))
    with pytest.raises(ApiError, match="No controller appears to be active") as error:
        refused.result()
    assert error.value.code == ErrorCode.NOT_CONTROLLER
    world.raft.lose(4, 1)
    with pytest.raises(ApiError, match="The active controller appears to be node 4"):
        world.controller.create_topics(CONTEXT, topic_request("t")).result()


def test_losing_leadership_goes_back_to_what_is_committed() -> None:
    world = World.active(1)
    world.controller.create_topics(CONTEXT, topic_request("kept")).result()
    world.raft.commits_at_once = False
    lost = world.controller.create_topics(CONTEXT, topic_request("lost"))
    world.raft.drop_uncommitted()
    world.raft.lose(4, 2)
    with pytest.raises(ApiError) as error:
        lost.result()
    assert error.value.code == ErrorCode.NOT_CONTROLLER
    world.raft.commits_at_once = True
    world.raft.lead(3)
    assert world.controller.create_topics(CONTEXT, topic_request("lost")).result().topics[0].error_code == 0
    assert set(world.image.topics.by_name) == {"kept", "lost"}


def test_what_the_old_leader_wrote_may_still_be_committed() -> None:
    world = World.active(1)
    world.raft.commits_at_once = False
    unknown = world.controller.create_topics(CONTEXT, topic_request("t"))
    world.raft.lose(None, 2)
    assert unknown.is_done
    world.raft.commit()
    assert "t" in world.image.topics.by_name
    world.raft.commits_at_once = True
    world.raft.lead(3)
    answer = world.controller.create_topics(CONTEXT, topic_request("t")).result().topics[0]
    assert answer.error_code == ErrorCode.TOPIC_ALREADY_EXISTS


def test_a_standby_and_a_new_leader_have_the_same_state_as_the_old_one() -> None:
    world = World.active(1, 2)
    world.controller.create_topics(CONTEXT, topic_request("t", 3, 2, {"retention.ms": "5"})).result()
    other = World()
    other.raft.batches = world.raft.batches
    other.raft.commit()
    assert other.image == replace(world.image, provenance=other.image.provenance)
    other.raft.lead(2)
    assert other.controller.create_topics(CONTEXT, topic_request("u", 1, 2)).result().topics[0].error_code == 0


def test_a_refused_append_changes_nothing() -> None:
    world = World.active(1)
    world.raft.refusal = RecordListTooLargeError("too large")
    with pytest.raises(RecordListTooLargeError):
        world.controller.create_topics(CONTEXT, topic_request("t")).result()
    assert world.controller.is_active
    world.raft.refusal = None
    assert world.controller.create_topics(CONTEXT, topic_request("t")).result().topics[0].error_code == 0


def test_an_append_that_finds_another_leader_renounces() -> None:
    world = World.active(1)
    world.raft.refusal = NotLeaderError("another leads")
    with pytest.raises(ApiError) as error:
        world.controller.create_topics(CONTEXT, topic_request("t")).result()
    assert error.value.code == ErrorCode.NOT_CONTROLLER
    assert not world.controller.is_active


def test_stopping_fails_what_waits() -> None:
    world = World.active(1)
    world.raft.commits_at_once = False
    waiting = world.controller.create_topics(CONTEXT, topic_request("t"))
    world.controller.stop()
    with pytest.raises(ApiError):
        waiting.result()


def test_signs_of_life_come_twice_a_second() -> None:
    world = World.active()
    world.pass_ms(2_100)
    assert world.raft.records.count(NoOpRecord()) == 4
    world.raft.lose(None, 2)
    world.pass_ms(2_000)
    assert world.raft.records.count(NoOpRecord()) == 4


def test_a_broker_that_falls_silent_is_fenced_and_its_partitions_have_no_leader() -> None:
    world = World.active(1)
    world.controller.create_topics(CONTEXT, topic_request("t")).result()
    world.pass_ms(9_000)
    assert not world.image.cluster.brokers[1].fenced
    world.pass_ms(1_200)
    broker = world.image.cluster.brokers[1]
    assert broker.fenced
    partition = world.partition("t")
    assert (partition.leader, partition.isr, partition.elr, partition.last_known_elr) == (NO_LEADER, (), (1,), (1,))
    assert dict(world.controller.metrics.gauges())["OfflinePartitionsCount"] == 1
    world.heartbeat(1, broker.epoch)
    partition = world.partition("t")
    assert (partition.leader, partition.isr, partition.elr, partition.last_known_elr) == (1, (1,), (), ())


def test_a_broker_that_beats_stays() -> None:
    world = World.active(1)
    epoch = world.image.cluster.brokers[1].epoch
    for _ in range(10):
        world.pass_ms(2_000)
        world.heartbeat(1, epoch)
    assert not world.image.cluster.brokers[1].fenced


def test_a_new_controller_gives_every_broker_a_full_session() -> None:
    world = World.active(1)
    world.pass_ms(8_000)
    world.raft.lose(None, 2)
    world.raft.lead(3)
    world.pass_ms(8_500)
    assert not world.image.cluster.brokers[1].fenced
    world.pass_ms(2_500)
    assert world.image.cluster.brokers[1].fenced


def test_periodic_elections_give_leadership_back() -> None:
    world = World.active(1, 2)
    world.controller.create_topics(CONTEXT, topic_request("t", 4, 2)).result()
    epoch = world.image.cluster.brokers[1].epoch
    world.heartbeat(1, epoch, want_fence=True)
    assert {partition.leader for partition in world.image.topics.by_name["t"].partitions.values()} == {2}
    assert dict(world.controller.metrics.gauges())["PreferredReplicaImbalanceCount"] == 2


def test_the_metrics_count_the_committed_state() -> None:
    world = World.active(1, 2)
    world.register(3)
    world.controller.create_topics(CONTEXT, topic_request("t", 3, 2)).result()
    gauges = dict(world.controller.metrics.gauges())
    end = world.raft.log_end_offset
    assert gauges["ActiveControllerCount"] == 1
    assert (gauges["ActiveBrokerCount"], gauges["FencedBrokerCount"]) == (2, 1)
    assert (gauges["GlobalTopicCount"], gauges["GlobalPartitionCount"]) == (1, 3)
    assert (gauges["OfflinePartitionsCount"], gauges["PreferredReplicaImbalanceCount"]) == (0, 0)
    assert (gauges["LastAppliedRecordOffset"], gauges["LastCommittedRecordOffset"]) == (end - 1, end - 1)
    assert gauges["LastAppliedRecordTimestamp"] == world.clock.now_ms()
    assert gauges["MetadataErrorCount"] == 0
    assert world.controller.metrics.event_queue_processing_time_ms.count == gauges["EventQueueOperationsStartedCount"]


def test_the_metrics_are_shown_under_apaches_names() -> None:
    world = World()
    registry = Registry()
    world.controller.metrics.register(registry)
    world.raft.lead(1)
    world.register(1)
    shown = {family.name: family for family in registry.collect(0)}
    active = shown["kafka_controller_kafkacontroller_activecontrollercount"].metrics[()]
    assert isinstance(active, Gauge)
    assert active.read() == 1
    processing = shown["kafka_controller_controllereventmanager_eventqueueprocessingtimems"].metrics[()]
    assert isinstance(processing, Histogram)
    assert processing.count == 1
    lag = shown["kafka_controller_kafkacontroller_lastappliedrecordlagms"].metrics[()]
    assert isinstance(lag, Gauge)
    assert lag.read() == 0
    world.raft.lose(None, 2)
    world.clock.advance_ms(70)
    assert lag.read() == 70


def test_a_result_that_is_not_atomic_is_cut_into_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ottla.controller.pending_log.MAX_RECORDS_PER_BATCH", 5)
    world = World.active(1, 2)
    for name in ("t", "u", "v"):
        world.controller.create_topics(CONTEXT, topic_request(name, 3, 2)).result()
    before = len(world.raft.batches)
    world.heartbeat(1, world.image.cluster.brokers[1].epoch, want_fence=True)
    new = world.raft.batches[before:]
    assert [len(batch.records) for batch in new] == [5, 5]
    assert isinstance(new[-1].records[-1], BrokerRegistrationChangeRecord)


def test_the_features_of_the_bootstrap_are_those_of_the_format() -> None:
    world = World.active()
    levels = {
        record.name: record.feature_level for record in BOOTSTRAP.records if isinstance(record, FeatureLevelRecord)
    }
    assert world.image.features.finalized_versions == {
        name: level for name, level in levels.items() if name != "metadata.version" and level
    }


def test_two_raft_epochs_in_a_row_claim_again() -> None:
    world = World.active(1)
    world.raft.lead(2)
    assert world.controller.claim_epoch == 2
    assert world.controller.create_topics(CONTEXT, topic_request("t")).result().topics[0].error_code == 0
