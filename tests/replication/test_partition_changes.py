"""The metadata says which partitions there are, and the broker follows."""

import errno

from ottla.common.error_code import ErrorCode
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.metadata.records import PartitionRecord, RemoveTopicRecord, TopicRecord
from ottla.replication.partition_changes import RETRY_MS
from ottla.runtime.inline import run
from tests.log.log_machine import A, B
from tests.replication.replica_machine import NODE, T0, TOPIC, Broker

T1 = TopicPartition(TOPIC, 1)


def test_a_new_topic_has_logs_with_its_configuration_and_id() -> None:
    broker = Broker()
    topic_id = broker.create(partitions=2, configs={"retention.ms": "5"})
    assert [broker.log(one).config.retention_ms for one in (T0, T1)] == [5, 5]
    assert broker.log().topic_id == topic_id
    assert broker.replicas.partitions.by_topic_id(topic_id, 1) is broker.partition(T1)
    assert broker.partition().leader_epoch_start_offset == 0
    assert broker.log().leader_epochs.latest_epoch == 0


def test_a_partition_of_others_is_not_made() -> None:
    broker = Broker()
    broker.create(replicas=(2, 3), leader=2)
    assert T0 not in broker.replicas.partitions
    assert T0 not in broker.log_manager.logs


def test_a_deleted_topic_takes_its_logs_and_metrics_with_it() -> None:
    broker = Broker()
    topic_id = broker.create(partitions=2)
    broker.create("other")
    broker.append()
    partition = broker.partition()
    broker.delete(topic_id)
    assert list(broker.log_manager.logs) == [TopicPartition("other", 0)]
    assert broker.append().error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert partition.log is None
    assert broker.registry.get("kafka_server_brokertopicmetrics_bytesin_total", topic=TOPIC) is None
    assert broker.registry.get("kafka_server_brokertopicmetrics_bytesin_total", topic="other") is not None


def test_a_topic_made_again_in_one_delta_starts_empty() -> None:
    broker = Broker()
    first = broker.create()
    broker.append(count=5)
    second = Uuid.random(broker.machine.rng)
    broker.replay(
        RemoveTopicRecord(topic_id=first),
        TopicRecord(name=TOPIC, topic_id=second),
        PartitionRecord(
            partition_id=0,
            topic_id=second,
            replicas=(NODE,),
            isr=(NODE,),
            leader=NODE,
            leader_epoch=0,
            partition_epoch=0,
            directories=(Uuid.from_halves(0, 1),),
        ),
    )
    assert broker.partition().topic_id == second
    assert broker.log().log_end_offset == 0
    assert broker.append(topic_id=first).error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert broker.append(topic_id=second).error_code == 0


def test_a_new_leader_epoch_begins_at_the_end_and_is_on_the_disk() -> None:
    broker = Broker()
    topic_id = broker.create()
    broker.append(count=3)
    broker.change(topic_id, leader=NODE)
    assert (broker.partition().leader_epoch, broker.partition().leader_epoch_start_offset) == (1, 3)
    again = broker.restart(clean=False)
    assert again.log().leader_epochs.latest_epoch == 1


def test_an_older_registration_changes_nothing() -> None:
    broker = Broker()
    topic_id = broker.create(replicas=(NODE, 2))
    broker.change(topic_id, isr=(NODE,))
    partition = broker.partition()
    older = broker.image.topics.by_id[topic_id].partitions[0]._replace(partition_epoch=0, isr=(NODE, 2), leader=2)
    assert not partition.make_leader(older, broker.log(), 0)
    assert not partition.make_follower(older, broker.log())
    assert partition.is_leader
    assert partition.isr == {NODE}


def test_a_change_of_the_isr_moves_the_high_watermark_and_is_counted() -> None:
    broker = Broker()
    topic_id = broker.create(replicas=(NODE, 2))
    produced = broker.produce()
    assert produced.results is None
    broker.change(topic_id, isr=(NODE,))
    assert produced.one.error_code == 0
    metrics = broker.replicas.metrics
    assert (metrics.isr_shrinks.value, metrics.isr_expands.value) == (1, 0)
    broker.change(topic_id, isr=(NODE, 2))
    assert (metrics.isr_shrinks.value, metrics.isr_expands.value) == (1, 1)


def test_a_new_log_goes_where_the_metadata_wants_it() -> None:
    broker = Broker(A, B)
    wanted = broker.log_manager.directories[B].directory_id
    assert wanted is not None
    topic_id = Uuid.random(broker.machine.rng)
    broker.replay(
        TopicRecord(name=TOPIC, topic_id=topic_id),
        *(
            PartitionRecord(
                partition_id=index,
                topic_id=topic_id,
                replicas=(NODE,),
                isr=(NODE,),
                leader=NODE,
                leader_epoch=0,
                partition_epoch=0,
                directories=(wanted,),
            )
            for index in range(3)
        ),
    )
    assert {log.data_directory for log in broker.log_manager.logs.values()} == {B}


def test_a_failed_directory_takes_its_partitions_offline_and_no_others() -> None:
    broker = Broker(A, B)
    topic_id = broker.create(partitions=2)
    failed, fine = (T0, T1) if broker.log(T0).data_directory == A else (T1, T0)
    broker.log_manager.handle_directory_failure(A, OSError("gone"))
    assert broker.append(failed).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert broker.read(failed).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert broker.append(fine).error_code == 0
    broker.change(topic_id, failed.partition, leader=NODE)
    assert failed in broker.replicas.partitions.offline, "its log is not made again elsewhere"
    offline = broker.registry.get("kafka_server_replicamanager_offlinereplicacount")
    assert offline is not None
    assert offline.read() == 1  # type: ignore[union-attr]


def test_a_partition_without_files_to_open_is_led_as_soon_as_there_are_some() -> None:
    broker = Broker()
    broker.machine.files.fail_next("create", f"{A}/topic-0/*.index", times=3, number=errno.EMFILE)
    before_ms = broker.machine.clock.monotonic_ms()
    broker.create(partitions=2)
    assert broker.machine.clock.monotonic_ms() - before_ms == 3 * RETRY_MS
    assert [broker.append(one).error_code for one in (T0, T1)] == [0, 0]
    assert not broker.replicas.partitions.offline
    assert not broker.machine.failed_directories


def test_a_leader_that_could_not_note_its_epoch_does_so_later() -> None:
    broker = Broker()
    topic_id = broker.create()
    broker.machine.files.fail_next("open", "*leader-epoch-checkpoint.tmp", number=errno.EMFILE)
    broker.machine.files.fail_next("create", "*leader-epoch-checkpoint.tmp", number=errno.EMFILE)
    broker.change(topic_id, leader=NODE)
    assert broker.partition().is_leader
    assert broker.partition().leader_epoch == 1
    path = f"{broker.log().directory}/leader-epoch-checkpoint"
    assert broker.machine.files.read(path).splitlines()[2:] == [b"1 0"]


def test_a_topic_that_is_deleted_meanwhile_is_not_tried_again() -> None:
    broker = Broker()
    changes = broker.replicas._changes
    changes._is_retrying = True  # somebody else will, later
    broker.machine.files.fail_next("create", f"{A}/topic-0/*.index", number=errno.EMFILE)
    topic_id = broker.create()
    assert broker.append().error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    broker.delete(topic_id)
    run(changes._retry())
    assert T0 not in broker.replicas.partitions
    assert T0 not in broker.log_manager.logs


def test_the_gauges_count_partitions() -> None:
    broker = Broker()
    broker.create(partitions=2)
    broker.create("led", replicas=(NODE, 2, 3), isr=(NODE, 2), configs={"min.insync.replicas": "2"})
    broker.create("under", replicas=(NODE, 2, 3), isr=(NODE,), configs={"min.insync.replicas": "2"})
    broker.create("followed", replicas=(NODE, 2), leader=2)
    expected = {
        "partitioncount": 5,
        "leadercount": 4,
        "underreplicatedpartitions": 2,
        "underminisrpartitioncount": 1,
        "atminisrpartitioncount": 3,
        "offlinereplicacount": 0,
        "reassigningpartitions": 0,
        "produceridcount": 0,
        "partitionswithlatetransactionscount": 0,
    }
    read = {name: broker.registry.get(f"kafka_server_replicamanager_{name}") for name in expected}
    assert {name: gauge.read() for name, gauge in read.items() if gauge is not None} == expected  # type: ignore[union-attr]


def test_high_watermarks_survive_a_restart() -> None:
    broker = Broker()
    broker.register(2)
    broker.create(replicas=(NODE, 2))
    broker.produce(count=5, acks=1)
    broker.follower_fetch(2, 3)
    assert broker.log().high_watermark == 3
    run(broker.replicas.checkpoint_high_watermarks())
    run(broker.log_manager.flush([broker.log()]))
    again = broker.restart(clean=False)
    assert (again.log().high_watermark, again.log().log_end_offset) == (3, 5)


def test_a_log_that_the_metadata_does_not_have_here_is_put_aside() -> None:
    broker = Broker()
    topic_id = broker.create(partitions=2)
    broker.create("other")
    run(broker.log_manager.stop())
    again = Broker(machine=broker.machine)
    again.create(topic_id=topic_id)
    assert sorted(run(again.replicas.put_aside_strays())) == [TopicPartition("other", 0), T1]
    assert list(again.log_manager.logs) == [T0]
