"""Data directories: what lies where, and moving replicas between them."""

from ottla.common.error_code import ErrorCode
from ottla.common.topic_partition import TopicPartition
from ottla.common.uuid import Uuid
from ottla.log.manager import LogManager
from ottla.runtime.inline import run
from tests.log.log_machine import A, B, batch, offsets_in
from tests.replication.replica_machine import T0, Broker

T1 = TopicPartition("topic", 1)


def move(broker: Broker, path: str, topic_partition: TopicPartition = T0) -> int:
    (code,) = run(broker.replicas.log_dirs.alter_replica_log_dirs([(topic_partition, path)]))
    return code


def other(broker: Broker) -> str:
    return B if broker.log().data_directory == A else A


def read_all(broker: Broker) -> list[int]:
    offset, found = broker.log().log_start_offset, []
    while offset < broker.log().high_watermark:
        records = broker.read(offset=offset).records
        assert records is not None
        found += offsets_in(records.read())
        offset = found[-1] + 1
    return found


def test_every_directory_is_described_with_its_replicas() -> None:
    broker = Broker(A, B)
    broker.create(partitions=2)
    broker.append()
    size = broker.log().size_in_bytes
    described = {one.path: one for one in broker.replicas.log_dirs.describe(None, lambda _path: (1000, 10))}
    assert list(described) == [A, B]
    assert [len(one.replicas) for one in described.values()] == [1, 1]
    home = described[broker.log().data_directory]
    assert home.replicas == [(T0, size, 0, False)]
    assert (home.error_code, home.total_bytes, home.usable_bytes) == (0, 1000, 10)
    (wanted, nothing) = broker.replicas.log_dirs.describe({T1})
    assert len(wanted.replicas) + len(nothing.replicas) == 1
    broker.log_manager.handle_directory_failure(A, OSError("gone"))
    failed = broker.replicas.log_dirs.describe(None)[0]
    assert (failed.error_code, failed.replicas) == (ErrorCode.KAFKA_STORAGE_ERROR, [])


def test_a_replica_moves_with_its_records_and_offsets_and_is_served_throughout() -> None:
    broker = Broker(A, B)
    broker.create(configs={"segment.bytes": "1048576"})
    for _ in range(30):
        broker.append(records=batch(5, value_bytes=2000))
    broker.partition().delete_records_on_leader(7)
    target = other(broker)
    assert move(broker, target) == 0
    assert broker.log().data_directory == target
    assert broker.partition().future_log is None
    assert (broker.log().log_start_offset, broker.log().high_watermark, broker.log().log_end_offset) == (7, 150, 150)
    assert read_all(broker) == list(range(5, 150)), "the first batch comes whole"
    assert broker.append().base_offset == 150
    assert not broker.log_manager.future_logs
    again = broker.restart()
    assert again.log().data_directory == target
    assert again.log().log_end_offset == 151


def test_producers_and_epochs_move_too() -> None:
    broker = Broker(A, B)
    topic_id = broker.create()
    broker.append(records=batch(2, producer_id=4, sequence=0))
    broker.change(topic_id, leader=1)
    before = (broker.log().leader_epochs.entries, broker.partition().active_producers())
    move(broker, other(broker))
    assert (broker.log().leader_epochs.entries, broker.partition().active_producers()) == before
    repeated = broker.append(records=batch(2, producer_id=4, sequence=0))
    assert (repeated.error_code, repeated.base_offset) == (0, 0)


def test_what_is_appended_while_the_copy_is_flushed_is_not_lost() -> None:
    broker = Broker(A, B)
    broker.create()
    broker.append(count=3)
    replace = broker.log_manager.replace_current_with_future
    appended: list[int] = []

    async def replace_after_an_append(*args: object) -> bool:
        if not appended:
            appended.append(broker.append().base_offset)
        return await replace(*args)  # type: ignore[arg-type]

    broker.log_manager.replace_current_with_future = replace_after_an_append  # type: ignore[assignment,method-assign]
    target = other(broker)
    move(broker, target)
    assert appended == [3]
    assert broker.log().data_directory == target
    assert read_all(broker) == [0, 1, 2, 3]


def test_a_restart_goes_on_with_a_move() -> None:
    broker = Broker(A, B)
    broker.create()
    broker.append(count=3)
    target = other(broker)
    broker.log_manager.get_or_create_log(T0, is_new=False, is_future=True, directory=target)
    again = broker.restart(clean=False)
    assert again.log().data_directory == target
    assert not again.log_manager.future_logs


def test_moving_to_where_it_is_does_nothing() -> None:
    broker = Broker(A, B)
    broker.create()
    assert move(broker, broker.log().data_directory) == 0
    assert not broker.log_manager.future_logs


def test_each_reason_not_to_move_has_its_error() -> None:
    broker = Broker(A, B)
    broker.create()
    broker.create("elsewhere", replicas=(2,), leader=2)
    broker.create("t" * 240)
    assert move(broker, "/nowhere") == ErrorCode.LOG_DIR_NOT_FOUND
    assert move(broker, B, TopicPartition("elsewhere", 0)) == ErrorCode.REPLICA_NOT_AVAILABLE
    assert move(broker, B, TopicPartition("gone", 0)) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert move(broker, B, TopicPartition("t" * 240, 0)) == ErrorCode.INVALID_TOPIC_EXCEPTION
    target = other(broker)
    broker.log_manager.handle_directory_failure(target, OSError("gone"))
    assert move(broker, target) == ErrorCode.KAFKA_STORAGE_ERROR
    home = broker.log().data_directory
    broker.log_manager.handle_directory_failure(home, OSError("gone"))
    assert move(broker, home) == ErrorCode.KAFKA_STORAGE_ERROR


def test_a_cleaned_log_is_cleaned_again_after_its_move() -> None:
    broker = Broker(A, B)
    broker.create()
    manager: LogManager = broker.log_manager
    move(broker, other(broker))
    assert T0 not in manager.cleaner._states


class Controller:
    """Accepts every directory, and remembers."""

    def __init__(self) -> None:
        self.assigned: list[tuple[Uuid, int, Uuid]] = []

    async def assign(self, topic_id: Uuid, partition: int, directory_id: Uuid) -> None:
        self.assigned.append((topic_id, partition, directory_id))


def test_the_controller_is_told_where_replicas_lie() -> None:
    controller = Controller()
    broker = Broker(A, B, directory_assignments=controller)
    topic_id = broker.create()
    directories = broker.log_manager.directories
    home = directories[broker.log().data_directory].directory_id
    target = directories[other(broker)].directory_id
    assert controller.assigned == [(topic_id, 0, home)], "the metadata had it unassigned"
    move(broker, other(broker))
    assert controller.assigned[1:] == [(topic_id, 0, target)], "before the swap"
